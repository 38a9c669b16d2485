//! Places for stores on MySQL or MariaDB, for the kit and for the measurement of the journal.

use actix_persistence_mysql::MysqlPlugin;
use actix_persistence_sql_tests::{KitServer, StoreKind};
use actix_persistence_storage_api::{Origin, Plugin, Section, StateExtensions};
use async_trait::async_trait;

use crate::database::TestDatabase;

/// Tables of their own for each place, in one database.
pub(crate) struct Tables(pub(crate) TestDatabase);

impl Tables {
    fn section(&self, place: usize, url: String) -> Section {
        let prefix = prefix(place);
        let tables = [
            "event",
            "tag",
            "metadata",
            "snapshot",
            "state",
            "projection",
        ];
        let section = Section::new("tck", Origin::code())
            .with("url", url)
            .with("acquire-timeout", "60s")
            .with("connect-timeout", "60s")
            .with("statement-timeout", "60s")
            .with("lock-timeout", "30s");
        tables.iter().fold(section, |section, table| {
            section.with(&format!("{table}-table"), format!("{prefix}{table}"))
        })
    }
}

fn prefix(place: usize) -> String {
    format!("p{place}_")
}

#[async_trait]
impl KitServer for Tables {
    fn plugin(&self) -> Box<dyn Plugin> {
        Box::new(MysqlPlugin::new())
    }

    fn owner(&self, place: usize) -> Section {
        self.section(place, self.0.url())
            .with("auto-initialize", true)
    }

    fn application(&self, place: usize) -> Section {
        self.section(place, self.0.application_url())
    }

    async fn make(&self, place: usize, kind: StoreKind) {
        let (plugin, section) = (self.plugin(), self.owner(place));
        let made = match kind {
            StoreKind::Journal => plugin.journal(&section).unwrap().initialize().await,
            StoreKind::SnapshotStore => {
                let store = plugin.snapshot_store(&section).unwrap();
                store.initialize().await
            }
            StoreKind::StateStore => {
                let extensions = StateExtensions::default();
                let store = plugin.state_store(&section, &extensions).unwrap();
                store.initialize().await
            }
        };
        made.unwrap();
        self.0.grant(&prefix(place)).await;
    }
}
