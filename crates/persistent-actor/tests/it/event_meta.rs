//! The data beside an event that an actor may know.

use std::sync::{Arc, Mutex};

use actix::{Actor, Handler, Message};
use actix_persistence_persistent_actor::{
    EventMeta, NoSnapshot, PersistError, PersistentActor, PersistentContext, Reply,
};
use actix_persistence_storage_api::PersistenceId;

use crate::tally::{Added, added};
use crate::world::{World, run};

type Seen = Arc<Mutex<Vec<EventMeta>>>;

struct Diary(Seen);

impl Actor for Diary {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Diary {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Diary", "1")
    }

    fn on_event(&mut self, _: &Added) {
        unreachable!("on_event_at calls it, and is implemented otherwise")
    }

    fn on_event_at(&mut self, _: &Added, meta: &EventMeta) {
        self.0.lock().unwrap().push(meta.clone());
    }
}

/// Persists this many events, one after the other and then all at once.
#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Enter(i64);

impl Handler<Enter> for Diary {
    type Result = Reply<Enter>;

    fn handle(&mut self, Enter(events): Enter, ctx: &mut Self::Context) -> Self::Result {
        for n in 1..=events {
            ctx.persist(added(n)).detach();
        }
        ctx.persist_all((1..=events).map(added)).reply(|_| Ok(()))
    }
}

#[test]
fn number_and_time_of_an_event_are_the_same_live_and_in_replay() {
    run(|| async {
        let world = World::new();
        let (live, again) = (Seen::default(), Seen::default());
        let seen = Arc::clone(&live);
        let diary = world.start(move || Diary(Arc::clone(&seen))).unwrap();
        diary.send(Enter(3)).await.unwrap().unwrap();
        let environment = Arc::clone(&world.environment);
        let replay = Diary(Arc::clone(&again));
        actix_persistence_persistent_actor::replay_actor(replay, environment)
            .await
            .unwrap();
        let live = live.lock().unwrap().clone();
        let numbers: Vec<_> = live.iter().map(|meta| meta.sequence_nr).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
        assert!(live.iter().all(|meta| !meta.replayed));
        let again = again.lock().unwrap().clone();
        assert!(again.iter().all(|meta| meta.replayed));
        let same = |metas: &[EventMeta]| -> Vec<_> {
            let what = |meta: &EventMeta| (meta.sequence_nr, meta.timestamp);
            metas.iter().map(what).collect()
        };
        assert_eq!(same(&live), same(&again));
    });
}
