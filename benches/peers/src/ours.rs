//! This library.

use std::time::Duration;

use actix::prelude::*;
use actix_persistence::Config;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

use crate::databases::Databases;
use crate::library::{Library, note};

pub(crate) struct Ours(Persistence);

#[derive(Serialize, Deserialize)]
pub(crate) struct Noted(String);

impl Event for Noted {
    const MANIFEST: &'static str = "bench.noted";
    const VERSION: u32 = 1;
}

pub(crate) struct Notebook {
    name: String,
    notes: usize,
}

impl Actor for Notebook {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Notebook {
    type Event = Noted;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Notebook", &self.name)
    }

    fn on_event(&mut self, _: &Noted) {
        self.notes += 1;
    }
}

#[derive(Message)]
#[rtype(result = "Result<usize, PersistError>")]
struct Note(usize);

impl Handler<Note> for Notebook {
    type Result = Reply<Note>;

    fn handle(&mut self, Note(events): Note, ctx: &mut Self::Context) -> Reply<Note> {
        let events = (0..events).map(|_| Noted(note()));
        ctx.persist_all(events).reply(|notebook| Ok(notebook.notes))
    }
}

impl Library for Ours {
    const NAME: &'static str = "ours";
    type Entity = Addr<Notebook>;

    fn run<T>(work: impl Future<Output = T>) -> T {
        System::new().block_on(work)
    }

    async fn open(databases: &Databases) -> Self {
        let url = databases.url(Self::NAME);
        let section = "persistence.journal";
        let config = Config::new()
            .with(&format!("{section}.peers.kind"), databases.backend())
            .with(&format!("{section}.peers.url"), url)
            .with(&format!("{section}.peers.auto-initialize"), true)
            .with(&format!("{section}.plugin"), "peers");
        Self(Persistence::open(config).await.unwrap())
    }

    async fn close(self) {
        let report = self.0.stop(Duration::from_secs(60)).await;
        assert!(report.is_complete(), "{report:?}");
    }

    async fn start(&self, name: &str) -> Addr<Notebook> {
        let name = name.to_owned();
        let make = move || Notebook {
            name: name.clone(),
            notes: 0,
        };
        self.0.start_when_stopped(make).await.unwrap()
    }

    async fn note(entity: &Addr<Notebook>, events: usize) -> usize {
        entity.send(Note(events)).await.unwrap().unwrap()
    }

    async fn stop(entity: Addr<Notebook>) {
        drop(entity);
    }
}
