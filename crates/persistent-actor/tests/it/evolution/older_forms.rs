//! A program that stores an older form on purpose, until all processes read today's.

use actix::{Actor, Handler, Message};
use actix_persistence_persistent_actor::{
    Chain, Event, NoSnapshot, PersistError, PersistentActor, PersistentContext, RejectionCause,
    Reply, Upcasters,
};
use actix_persistence_storage_api::{EventRecord, Journal, PageLimit, PersistenceId, ReplayRange};
use serde::{Deserialize, Serialize};

use crate::history::end;
use crate::tally::{Log, chain};
use crate::world::{World, run};

/// The form of version 1, which the programs before know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Named1(String);

/// The form of version 2, with a space between first and last name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Named {
    first: String,
    last: String,
}

impl From<Named1> for Named {
    fn from(Named1(whole): Named1) -> Self {
        let (first, last) = whole.split_once(' ').unwrap_or((&whole, ""));
        let (first, last) = (first.to_owned(), last.to_owned());
        Self { first, last }
    }
}

impl TryFrom<&Named> for Named1 {
    type Error = &'static str;

    fn try_from(Named { first, last }: &Named) -> Result<Self, Self::Error> {
        if first.contains(' ') {
            return Err("two first names");
        }
        Ok(Self(format!("{first} {last}")))
    }
}

const MANIFEST: &str = "test.named";

impl Event for Named1 {
    const MANIFEST: &'static str = MANIFEST;
    const VERSION: u32 = 1;
}

impl Event for Named {
    const MANIFEST: &'static str = MANIFEST;
    const VERSION: u32 = 2;

    fn upcasters() -> Upcasters<Self> {
        Upcasters::new()
            .chain(Chain::of::<Named1>(1))
            .writes::<Named1>(1)
    }
}

/// An actor that remembers the events of its type.
struct Register<E>(Log, Vec<E>);

impl<E: Event + Clone + Unpin> Actor for Register<E> {
    type Context = PersistentContext<Self>;
}

impl<E: Event + Clone + Unpin> PersistentActor for Register<E> {
    type Event = E;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Register", "1")
    }

    fn on_event(&mut self, event: &E) {
        self.1.push(event.clone());
    }

    fn on_persist_rejected(&mut self, cause: &RejectionCause, _: &E, _: &mut Self::Context) {
        self.0.add(chain(cause));
    }
}

/// Registers an event, if there is one, and answers with all.
#[derive(Message)]
#[rtype(result = "Result<Vec<E>, PersistError>")]
struct Enrol<E: Event>(Option<E>);

impl<E: Event + Clone + Unpin> Handler<Enrol<E>> for Register<E> {
    type Result = Reply<Enrol<E>>;

    fn handle(&mut self, Enrol(event): Enrol<E>, ctx: &mut Self::Context) -> Self::Result {
        ctx.persist_all(event)
            .reply(|register| Ok(register.1.clone()))
    }
}

async fn enrol<E: Event + Clone + Unpin>(
    world: &World,
    log: &Log,
    event: Option<E>,
) -> Result<Vec<E>, PersistError> {
    let shared = log.clone();
    let register = world
        .start(move || Register(shared.clone(), Vec::new()))
        .unwrap();
    let answer = register.send(Enrol(event)).await.unwrap();
    end(world, register).await;
    answer
}

async fn stored(world: &World) -> Vec<EventRecord> {
    let (journal, id) = (world.storage.journal(), PersistenceId::of("Register", "1"));
    let page = journal.replay_messages(&id, ReplayRange::ALL, PageLimit::DEFAULT);
    page.await.unwrap().events
}

fn named(first: &str, last: &str) -> Named {
    let (first, last) = (first.to_owned(), last.to_owned());
    Named { first, last }
}

#[test]
fn programs_of_both_versions_read_what_the_newer_one_stores() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let old = Named1("Ada Lovelace".to_owned());
        enrol(&world, &log, Some(old.clone())).await.unwrap();
        let (ada, grace) = (named("Ada", "Lovelace"), named("Grace", "Hopper"));
        let answer = enrol(&world, &log, Some(grace.clone())).await.unwrap();
        assert_eq!(answer, [ada.clone(), grace.clone()], "live");
        assert_eq!(
            enrol::<Named>(&world, &log, None).await.unwrap(),
            [ada, grace],
            "again"
        );
        let older = enrol(&world, &log, None::<Named1>).await.unwrap();
        assert_eq!(older, [old, Named1("Grace Hopper".to_owned())]);

        let manifests: Vec<_> = stored(&world)
            .await
            .iter()
            .map(|event| format!("{} {}", event.payload.manifest, event.adapter_manifest))
            .collect();
        assert_eq!(manifests, ["test.named:v1 ", "test.named:v1 test.named:v2"]);
    });
}

#[test]
fn an_event_that_the_older_version_cannot_express_is_rejected() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let error = enrol(&world, &log, Some(named("Anna Maria", "Doe")))
            .await
            .unwrap_err();
        assert!(matches!(error, PersistError::Rejected(_)), "{error}");
        let expected = "it cannot be stored as test.named:v1: two first names";
        assert_eq!(log.take(), [expected]);
        assert_eq!(enrol(&world, &log, None::<Named>).await.unwrap(), []);
        assert!(stored(&world).await.is_empty());
    });
}
