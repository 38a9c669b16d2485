//! A declaration that cannot be is found when the actor is started, and everywhere else, too.

use actix::Actor;
use actix_persistence_persistent_actor::{
    Event, EventMeta, NoSnapshot, PersistentActor, PersistentContext, Snapshot, StartError,
    Upcasters, replay_actor, replay_events,
};
use actix_persistence_storage_api::{PersistenceId, ReplayRange};
use serde::{Deserialize, Serialize};

use crate::tally::chain;
use crate::world::{World, run};

/// Says nothing of its version 1.
#[derive(Debug, Serialize, Deserialize)]
struct Raised;

impl Event for Raised {
    const MANIFEST: &'static str = "test.raised";
    const VERSION: u32 = 2;

    fn upcasters() -> Upcasters<Self> {
        Upcasters::new()
    }
}

impl Snapshot for Raised {
    const MANIFEST: &'static str = "test.raised";
    const VERSION: u32 = 3;
}

#[derive(Debug, Serialize, Deserialize)]
struct Sound;

impl Event for Sound {
    const MANIFEST: &'static str = "test.sound";
    const VERSION: u32 = 1;
}

struct OfEvents;
struct OfSnapshots;

macro_rules! actors {
    ($($actor:ident: $event:ty, $snapshot:ty;)*) => {
        $(
            impl Actor for $actor {
                type Context = PersistentContext<Self>;
            }

            impl PersistentActor for $actor {
                type Event = $event;
                type Snapshot = $snapshot;

                fn persistence_id(&self) -> PersistenceId {
                    PersistenceId::of("Raised", "1")
                }

                fn on_event(&mut self, _: &$event) {}
            }
        )*
    };
}

actors! {
    OfEvents: Raised, NoSnapshot;
    OfSnapshots: Sound, Raised;
}

const PROBLEM: &str = "nothing reads version 1 of \"test.raised\"; declare a `chain`, say that it is `unchanged`, or say \
                       with `since` that no older ones are stored";

fn refused<A: PersistentActor>(world: &World, make: fn() -> A) -> String {
    let error = world.start(make).err().unwrap();
    assert!(matches!(error, StartError::Upcasters { .. }), "{error:?}");
    chain(&error)
}

#[test]
fn an_actor_whose_declaration_cannot_be_is_not_started() {
    run(|| async {
        let world = World::new();
        for (told, version) in [
            (refused(&world, || OfEvents), 2),
            (refused(&world, || OfSnapshots), 3),
        ] {
            let expected = format!(
                "the actor with the persistence id \"Raised|1\" cannot read what older programs have stored: \
                 the upcasters of \"test.raised\", version {version}, cannot be: {PROBLEM}"
            );
            assert_eq!(told, expected);
        }
        assert!(world.environment.live_ids.is_empty(), "the id is free");
    });
}

#[test]
fn a_reader_whose_declaration_cannot_be_fails_even_if_nothing_is_stored() {
    run(|| async {
        let world = World::new();
        let id = || PersistenceId::of("Raised", "1");
        let expected = format!(
            "could not recover \"Raised|1\" by its upcasters: \
             the upcasters of \"test.raised\", version 2, cannot be: {PROBLEM}"
        );
        let replayed = replay_actor(OfEvents, world.environment.clone()).await;
        assert_eq!(chain(&replayed.err().unwrap()), expected);
        let seen = |_: &mut (), _: &EventMeta, _: Raised| {};
        let read = replay_events(&world.environment, id(), ReplayRange::ALL, (), seen).await;
        assert_eq!(chain(&read.unwrap_err()), expected);
    });
}
