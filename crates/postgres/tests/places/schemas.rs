//! Places for stores on PostgreSQL, for the kit and for the measurement of the journal.

use actix_persistence_postgres::PostgresPlugin;
use actix_persistence_sql_tests::{KitServer, StoreKind};
use actix_persistence_storage_api::{Origin, Plugin, Section, StateExtensions};
use async_trait::async_trait;

use crate::database::{TestDatabase, execute};

/// A schema for each place, in one database.
pub(crate) struct Schemas(pub(crate) TestDatabase);

impl Schemas {
    /// More time than anybody needs: the machine of the tests may be busy with something else.
    fn section(&self, place: usize, url: String) -> Section {
        Section::new("tck", Origin::code())
            .with("url", url)
            .with("schema", format!("place_{place}"))
            .with("acquire-timeout", "60s")
            .with("connect-timeout", "60s")
            .with("statement-timeout", "60s")
            .with("lock-timeout", "30s")
    }
}

#[async_trait]
impl KitServer for Schemas {
    fn plugin(&self) -> Box<dyn Plugin> {
        Box::new(PostgresPlugin::new())
    }

    fn owner(&self, place: usize) -> Section {
        self.section(place, self.0.url())
            .with("auto-initialize", true)
    }

    fn application(&self, place: usize) -> Section {
        self.section(place, self.0.application_url())
    }

    /// Runs the statements that the plugin prints for the tables.
    async fn make(&self, place: usize, kind: StoreKind) {
        let (plugin, section) = (self.plugin(), self.owner(place));
        let roles = self.0.roles();
        let script = match kind {
            StoreKind::Journal => plugin.journal_schema(&section, Some(&roles)),
            StoreKind::SnapshotStore => plugin.snapshot_store_schema(&section, Some(&roles)),
            StoreKind::StateStore => {
                plugin.state_store_schema(&section, &StateExtensions::default(), Some(&roles))
            }
        };
        execute(&mut self.0.connect().await, script.unwrap().unwrap()).await;
    }
}
