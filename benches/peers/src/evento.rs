//! evento, with its executor on SQLite.

use std::cell::RefCell;
use std::path::Path;

use bincode::{Decode, Encode};
use evento::migrator::{Migrate, Plan};
use evento::{AggregatorName, EventDetails, SaveBuilder, Sqlite};
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

use crate::databases::Databases;
use crate::library::{Library, note, tokio_run};

pub(crate) struct Evento {
    executor: Sqlite,
    pool: SqlitePool,
}

#[derive(AggregatorName, Encode, Decode)]
struct Noted {
    text: String,
}

#[derive(Clone, Copy, Debug, Default, Encode, Decode)]
struct Notebook {
    notes: u64,
}

#[evento::aggregator]
impl Notebook {
    async fn noted(&mut self, _: EventDetails<Noted>) -> anyhow::Result<()> {
        self.notes += 1;
        Ok(())
    }
}

/// An aggregate that stays in memory between two commands, so that no command loads it.
pub(crate) struct Entity {
    executor: Sqlite,
    name: String,
    notebook: RefCell<Option<Notebook>>,
}

impl Entity {
    /// Returns the aggregate, which is loaded by the first call.
    async fn notebook(&self) -> Notebook {
        let known = *self.notebook.borrow();
        if let Some(notebook) = known {
            return notebook;
        }
        let loaded = evento::load_optional::<Notebook, _>(&self.executor, &self.name).await;
        let notebook = loaded.unwrap().map_or_else(Notebook::default, |of| of.item);
        self.notebook.replace(Some(notebook));
        notebook
    }
}

impl Library for Evento {
    const NAME: &'static str = "evento";
    type Entity = Entity;

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio_run(work)
    }

    async fn open(databases: &Databases) -> Self {
        let file = databases.url(Self::NAME);
        let options = SqliteConnectOptions::new()
            .filename(Path::new(&file))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let pool = SqlitePool::connect_with(options).await.unwrap();
        let migrator = evento::sql_migrator::new::<sqlx::Sqlite>().unwrap();
        let mut connection = pool.acquire().await.unwrap();
        let migrated = migrator.run(&mut *connection, &Plan::apply_all()).await;
        migrated.unwrap();
        drop(connection);
        let executor = pool.clone().into();
        Self { executor, pool }
    }

    async fn close(self) {
        self.pool.close().await;
    }

    async fn before_recovery(&self) {
        // Each command stores a snapshot, from which a load would read no event.
        let removed = sqlx::query("DELETE FROM snapshot").execute(&self.pool);
        removed.await.unwrap();
    }

    async fn start(&self, name: &str) -> Entity {
        Entity {
            executor: self.executor.clone(),
            name: name.to_owned(),
            notebook: RefCell::default(),
        }
    }

    async fn note(entity: &Entity, events: usize) -> usize {
        let mut notebook = entity.notebook().await;
        if events > 0 {
            let version = notebook.notes.try_into().expect("at most 65,535 events");
            let mut save = SaveBuilder::new(Some(notebook), &entity.name).original_version(version);
            for _ in 0..events {
                save = save.data(&Noted { text: note() }).unwrap();
            }
            let save = save.metadata(&true).unwrap();
            save.commit(&entity.executor).await.unwrap();
            notebook.notes += events as u64;
            entity.notebook.replace(Some(notebook));
        }
        notebook.notes as usize
    }

    async fn stop(entity: Entity) {
        drop(entity);
    }
}
