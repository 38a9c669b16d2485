//! The durable state of the benches, and the change handler that counts its changes.

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::storage_api::{ChangeHandler, ExtensionError, Session, StateChange};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::notebook::{PAYLOAD, PersistRow};

/// The table in which the change handler counts.
pub(crate) const COUNTS: &str = "
    CREATE TABLE counts (name VARCHAR(16) PRIMARY KEY, n BIGINT NOT NULL);
    INSERT INTO counts VALUES ('all', 0);";
pub(crate) const COUNT: &str = "UPDATE counts SET n = n + 1 WHERE name = 'all'";

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Page(String);

impl State for Page {
    const MANIFEST: &'static str = "bench.page";
    const VERSION: u32 = 1;
}

pub(crate) struct Paper {
    entity_type: &'static str,
    name: String,
}

impl Paper {
    /// Starts actors that are named after their numbers; each change of those of the type `Counted` is counted.
    pub(crate) fn start_many(
        persistence: &Persistence,
        entity_type: &'static str,
        count: usize,
    ) -> Vec<Addr<Self>> {
        let numbers = 0..count;
        numbers
            .map(|number| {
                let make = move || Self {
                    entity_type,
                    name: number.to_string(),
                };
                persistence.start(make).unwrap()
            })
            .collect()
    }
}

impl Actor for Paper {
    type Context = PersistentContext<Self>;
}

impl DurableState for Paper {
    type State = Page;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of(self.entity_type, &self.name)
    }

    fn on_state(&mut self, _: Option<&Page>) {}
}

impl Handler<PersistRow> for Paper {
    type Result = ();

    fn handle(&mut self, persist: PersistRow, ctx: &mut Self::Context) {
        persist.begin(ctx, || Page("x".repeat(PAYLOAD)));
    }
}

/// Counts every change.
pub(crate) struct Counting;

#[async_trait]
impl ChangeHandler for Counting {
    async fn process(
        &self,
        session: &mut dyn Session,
        _: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        session.execute(COUNT, []).await?;
        Ok(())
    }
}
