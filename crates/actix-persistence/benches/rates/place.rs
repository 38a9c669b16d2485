//! A database near or far away, and actors on it that have recovered.

use std::time::Duration;

use actix::dev::ToEnvelope;
use actix::{Actor, Addr, Handler};
use actix_persistence::{Builder, Persistence};

use crate::database::Database;
use crate::notebook::{PersistRow, persisted};
use crate::series::END;

/// The beginning of the name of a side that is measured far away.
pub(crate) const FAR: &str = "far-";
/// The time that bytes need from the application to a server that is far away, and back.
pub(crate) const ONE_WAY: Duration = Duration::from_micros(500);

pub(crate) struct Place<D, A: Actor> {
    pub(crate) database: D,
    pub(crate) persistence: Persistence,
    pub(crate) actors: Vec<Addr<A>>,
}

impl<D: Database, A> Place<D, A>
where
    A: Handler<PersistRow>,
    A::Context: ToEnvelope<A, PersistRow>,
{
    /// Opens stores of some kinds on a database, and starts actors.
    pub(crate) async fn make(
        database: D,
        kinds: &[&str],
        builder: Builder,
        start: impl FnOnce(&Persistence) -> Vec<Addr<A>>,
    ) -> Self {
        let persistence = database.open(kinds, builder).await;
        let actors = start(&persistence);
        // Every actor has recovered before the clock starts.
        persisted(&actors, Duration::ZERO).await;
        Self {
            database,
            persistence,
            actors,
        }
    }

    pub(crate) async fn close(self) {
        drop(self.actors);
        self.persistence.stop(END).await;
        self.database.close().await;
    }
}
