//! tellus, with its store on PostgreSQL.

use std::convert::Infallible;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tellus::{
    ActorContext, ActorSystem, Effect, EventSourced, Incoming, Nothing, Persistence, PersistenceId,
    ReplyTo, SchemaVersion, Untimed, Versioned,
};
use tellus_persistence_postgres::PostgresStore;
use tellus_persistence_postgres::sqlx::PgPool;

use crate::databases::Databases;
use crate::library::{Library, note, tokio_run};

const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Tellus(PostgresStore);

struct Notebook(String);

#[derive(Debug)]
pub(crate) enum Command {
    Note(usize, ReplyTo<usize>),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Noted(String);

impl Versioned for Noted {
    const MANIFEST: &'static str = "noted";
    const VERSION: SchemaVersion = SchemaVersion::new(1);
}

impl EventSourced for Notebook {
    type Command = Command;
    type Timers = Untimed;
    type Event = Noted;
    type State = usize;
    type Snapshot = Nothing;
    type Error = Infallible;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::new("notebook", &self.0).expect("the segments are valid")
    }

    fn init(&self) -> Result<usize, Infallible> {
        Ok(0)
    }

    fn init_from_snapshot(&self, snapshot: Nothing) -> Result<usize, Infallible> {
        match snapshot {}
    }

    fn handle(
        &self,
        _: &ActorContext<Command>,
        incoming: Incoming<Command>,
        _: &usize,
    ) -> Result<Effect<Self>, Infallible> {
        match incoming {
            Incoming::Message(Command::Note(events, reply_to)) => {
                let events = (0..events).map(|_| Noted(note()));
                Ok(Effect::persist_all(events).then(move |notes| reply_to.reply(*notes)))
            }
            Incoming::Terminated(_) => Ok(Effect::none()),
        }
    }

    fn apply(&self, notes: usize, _: Noted) -> usize {
        notes + 1
    }
}

impl Library for Tellus {
    const NAME: &'static str = "tellus";
    type Entity = ActorSystem<Command>;

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio_run(work)
    }

    async fn open(databases: &Databases) -> Self {
        let url = databases.url(Self::NAME);
        let store = PostgresStore::new(PgPool::connect(&url).await.unwrap());
        store.migrate().await.unwrap();
        Self(store)
    }

    async fn start(&self, name: &str) -> ActorSystem<Command> {
        let persistence = Persistence::new(self.0.clone());
        ActorSystem::event_sourced(Notebook(name.to_owned()), persistence)
    }

    async fn note(entity: &ActorSystem<Command>, events: usize) -> usize {
        let ask = |reply_to| Command::Note(events, reply_to);
        entity.root().ask(LIMIT, ask).await.unwrap()
    }

    async fn stop(entity: ActorSystem<Command>) {
        entity.stop();
        entity.terminated().await.unwrap();
    }
}
