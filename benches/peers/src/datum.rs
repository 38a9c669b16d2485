//! datum-persistence, with its store on PostgreSQL and its group commit.

use std::sync::Arc;

use datum_persistence::{
    Effect, EventSourcedBehavior, EventSourcedHandle, EventSourcedRuntime, IdentityAdapter,
    PersistenceError, PersistenceId, PersistenceResult, PersistenceSerializer, PostgresPersistence,
    PostgresPersistenceConfig, SerializerCatalog, SerializerId,
};
use tokio::sync::oneshot;

use crate::databases::Databases;
use crate::library::{Library, note, tokio_run};

const MANIFEST: &str = "noted";

pub(crate) struct Datum(Arc<PostgresPersistence>);

pub(crate) struct Note {
    events: usize,
    reply_to: oneshot::Sender<usize>,
}

#[derive(Clone, Copy)]
struct Text;

impl PersistenceSerializer<String> for Text {
    fn serializer_id(&self) -> SerializerId {
        SerializerId::new(1_000)
    }

    fn manifest(&self, _: &String) -> String {
        MANIFEST.into()
    }

    fn serialize(&self, value: &String) -> PersistenceResult<Vec<u8>> {
        Ok(value.as_bytes().to_vec())
    }

    fn deserialize(&self, _: &str, payload: &[u8]) -> PersistenceResult<String> {
        let text = str::from_utf8(payload);
        let text = text.map_err(|error| PersistenceError::Serialization(error.to_string()));
        Ok(text?.to_owned())
    }
}

impl Library for Datum {
    const NAME: &'static str = "datum";
    type Entity = EventSourcedHandle<Note, String, usize>;

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio_run(work)
    }

    async fn open(databases: &Databases) -> Self {
        let url = databases.url(Self::NAME);
        let config = PostgresPersistenceConfig::new(url);
        Self(Arc::new(
            PostgresPersistence::connect(config).await.unwrap(),
        ))
    }

    async fn start(&self, name: &str) -> Self::Entity {
        EventSourcedBehavior::new(
            PersistenceId::new("notebook", name).unwrap(),
            0_usize,
            |_: &usize, Note { events, reply_to }: Note| {
                Effect::persist_all((0..events).map(|_| note())).then_run(move |notes: &usize| {
                    let _ = reply_to.send(*notes);
                })
            },
            |notes: &usize, _: &String| notes + 1,
        )
        .with_event_adapter(IdentityAdapter, SerializerCatalog::new(Text))
        .with_event_publishing(false)
        .spawn(EventSourcedRuntime::new(self.0.clone()))
        .await
        .unwrap()
    }

    async fn note(entity: &Self::Entity, events: usize) -> usize {
        let (reply_to, reply) = oneshot::channel();
        entity.tell(Note { events, reply_to }).unwrap();
        reply.await.unwrap()
    }

    async fn stop(entity: Self::Entity) {
        entity.stop();
    }
}
