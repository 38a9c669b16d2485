//! The tags of events: which ones, by which state, and what becomes of an event whose tags cannot be kept.

use actix::{Actor, Addr, Handler, Message};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    NoSnapshot, PersistError, PersistentActor, PersistentContext, RejectionCause, Reply,
};
use actix_persistence_storage_api::{
    EventRecord, Journal, JournalCapabilities, PageLimit, PersistenceId, ReplayRange,
};

use crate::scripted_journal::{Next, ScriptedJournal};
use crate::tally::{Added, Log, added, chain};
use crate::world::{World, run};

/// The number of an event whose tag is too long.
const LONG: i64 = 1_000;
/// The number of an event at whose tags the actor panics.
const PANIC: i64 = 2_000;

/// Tags each event with the sum before it, and even numbers with `even`; the number 0 with nothing.
struct Scale {
    sum: i64,
    log: Log,
}

impl Actor for Scale {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Scale {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        id()
    }

    fn on_event(&mut self, event: &Added) {
        self.sum += event.n;
    }

    fn tags(&self, event: &Added) -> Vec<String> {
        match event.n {
            0 => Vec::new(),
            LONG => vec!["x".repeat(256)],
            PANIC => panic!("no tags for this one"),
            n if n % 2 == 0 => vec!["even".to_owned(), format!("at {}", self.sum)],
            _ => vec![format!("at {}", self.sum)],
        }
    }

    fn on_persist_rejected(&mut self, cause: &RejectionCause, event: &Added, _: &mut Ctx) {
        let cause = chain(cause);
        self.log.add(format!("rejected {}: {cause}", event.n));
    }
}

type Ctx = PersistentContext<Scale>;
type Answer = Result<i64, PersistError>;

/// Runs code in the actor, and answers with the sum once everything persisted is handled.
#[derive(Message)]
#[rtype(result = "Answer")]
struct Turn(fn(&mut Scale, &mut Ctx));

impl Handler<Turn> for Scale {
    type Result = Reply<Turn>;

    fn handle(&mut self, Turn(code): Turn, ctx: &mut Ctx) -> Reply<Turn> {
        code(self, ctx);
        ctx.defer_async(|_, _| ()).reply(|scale| Ok(scale.sum))
    }
}

fn id() -> PersistenceId {
    PersistenceId::of("Scale", "1")
}

fn weigh(world: &World, log: &Log) -> Addr<Scale> {
    let log = log.clone();
    let empty = move || Scale {
        sum: 0,
        log: log.clone(),
    };
    world.start(empty).unwrap()
}

async fn stored(storage: &MemoryStorage) -> Vec<EventRecord> {
    let (journal, id) = (storage.journal(), id());
    let page = journal.replay_messages(&id, ReplayRange::ALL, PageLimit::DEFAULT);
    page.await.unwrap().events
}

/// Returns the sorted tags of each stored event.
async fn tags(world: &World) -> Vec<Vec<String>> {
    let of_event = |event: EventRecord| {
        let mut tags: Vec<_> = event.tags.iter().map(|tag| (**tag).to_owned()).collect();
        tags.sort();
        tags
    };
    let events = stored(&world.storage).await;
    events.into_iter().map(of_event).collect()
}

#[test]
fn an_event_has_the_tags_of_its_actor_and_those_of_its_call_each_once() {
    run(|| async {
        let world = World::new();
        let scale = weigh(&world, &Log::default());
        let turn = Turn(|_, ctx| {
            ctx.tagged(["red", "even", "red"])
                .persist(added(2))
                .detach();
            ctx.tagged(["red"]).persist(added(0)).detach();
            let both = ctx
                .tagged(["a".to_owned()])
                .persist_all([added(0), added(4)]);
            both.detach();
            ctx.tagged(["b"]).persist_async(added(0)).detach();
            let none: [&str; 0] = [];
            ctx.tagged(none)
                .persist_all_async([added(0), added(0)])
                .detach();
            ctx.tagged(["c"]).persist_all([]).detach();
        });
        scale.send(turn).await.unwrap().unwrap();
        let expected = [
            vec!["at 0", "even", "red"],
            vec!["red"],
            vec!["a"],
            vec!["a", "at 0", "even"],
            vec!["b"],
            vec![],
            vec![],
        ];
        assert_eq!(tags(&world).await, expected);
    });
}

#[test]
fn the_tags_of_an_event_see_the_state_on_which_it_was_decided() {
    run(|| async {
        let world = World::new();
        let scale = weigh(&world, &Log::default());
        let turn = Turn(|_, ctx| {
            // Two in one turn; then one in the handler of each of two that are stored together.
            ctx.persist(added(1)).detach();
            ctx.persist(added(3)).detach();
            ctx.persist_all([added(5), added(7)])
                .for_each_event(|_, event, ctx| ctx.persist(added(100 + event.n)).detach())
                .detach();
        });
        scale.send(turn).await.unwrap().unwrap();
        let expected = [["at 0"], ["at 0"], ["at 0"], ["at 0"], ["at 9"], ["at 16"]];
        assert_eq!(tags(&world).await, expected);
    });
}

#[test]
fn events_that_wait_for_a_write_keep_the_tags_of_their_turn() {
    run(|| async {
        let (world, journal) = World::held();
        let scale = weigh(&world, &Log::default());
        let asynchronous = |n| -> fn(&mut Scale, &mut Ctx) {
            match n {
                1 => |_, ctx| ctx.persist_async(added(1)).detach(),
                _ => |_, ctx| ctx.persist_async(added(3)).detach(),
            }
        };
        // The second is made while the first is under way, and sent when that has changed the state.
        let first = scale.send(Turn(asynchronous(1)));
        let second = scale.send(Turn(asynchronous(3)));
        tokio::task::yield_now().await;
        journal.release(1);
        first.await.unwrap().unwrap();
        journal.release(1);
        assert_eq!(second.await.unwrap().unwrap(), 4);
        assert_eq!(tags(&world).await, [["at 0"], ["at 0"]]);
    });
}

#[test]
fn an_event_with_a_tag_that_no_journal_can_store_is_rejected_alone() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let scale = weigh(&world, &log);
        let turn = Turn(|_, ctx| {
            ctx.persist(added(1)).detach();
            ctx.persist(added(LONG)).detach();
            ctx.tagged(["nul\0"]).persist(added(3)).detach();
            ctx.tagged(["fit"]).persist(added(5)).detach();
        });
        assert_eq!(scale.send(turn).await.unwrap().unwrap(), 6);
        let rejected = log.take();
        assert_eq!(rejected.len(), 2, "{rejected:?}");
        assert!(rejected[0].starts_with("rejected 1000: "), "{rejected:?}");
        assert!(rejected[0].contains("a tag has 256 bytes"), "{rejected:?}");
        assert!(rejected[1].contains("a tag holds NUL"), "{rejected:?}");
        let numbers = stored(&world.storage).await;
        let numbers: Vec<_> = numbers.iter().map(|event| event.sequence_nr).collect();
        assert_eq!(numbers, [1, 2]);
        assert_eq!(tags(&world).await, [vec!["at 0"], vec!["at 0", "fit"]]);
    });
}

#[test]
fn tags_stay_with_their_events_when_those_are_numbered_again() {
    run(|| async {
        let (world, journal) = World::scripted();
        let scale = weigh(&world, &Log::default());
        journal.next(Next::RejectWritesOf(2));
        let turn = Turn(|_, ctx| {
            ctx.tagged(["gone"])
                .persist_all([added(1), added(3)])
                .detach();
            ctx.tagged(["second"]).persist(added(5)).detach();
            ctx.tagged(["third"]).persist(added(7)).detach();
        });
        scale.send(turn).await.unwrap().unwrap();
        assert_eq!(tags(&world).await, [["at 0", "second"], ["at 0", "third"]]);
    });
}

#[test]
fn a_journal_without_tags_rejects_tagged_events_and_stores_others() {
    run(|| async {
        let storage = MemoryStorage::new();
        let without = JournalCapabilities::default().with_atomic_batches();
        let journal = ScriptedJournal::with_capabilities(storage.journal(), without);
        let (world, log) = (World::on(storage, journal.clone(), |_| {}), Log::default());
        let scale = weigh(&world, &log);
        let turn = Turn(|_, ctx| {
            ctx.persist(added(1)).detach();
            ctx.tagged(["red"]).persist(added(0)).detach();
            ctx.persist_all([added(0), added(3)]).detach();
            ctx.persist(added(0)).detach();
        });
        assert_eq!(scale.send(turn).await.unwrap().unwrap(), 0);
        let rejected = log.take();
        let numbers: Vec<_> = rejected
            .iter()
            .map(|entry| entry.split(':').next().unwrap())
            .collect();
        assert_eq!(
            numbers,
            ["rejected 1", "rejected 0", "rejected 0", "rejected 3"]
        );
        let says = "this journal keeps no tags";
        assert!(
            rejected.iter().all(|entry| entry.contains(says)),
            "{rejected:?}"
        );
        assert_eq!(stored(&world.storage).await.len(), 1);
        assert_eq!(
            journal.calls(),
            [vec![1]],
            "the journal was not asked for the others"
        );
    });
}

#[test]
fn a_panic_in_the_tags_of_an_event_fails_the_actor_and_stores_nothing() {
    run(|| async {
        let world = World::new();
        let scale = weigh(&world, &Log::default());
        let turn = Turn(|_, ctx| {
            ctx.persist(added(1)).detach();
            ctx.persist(added(PANIC)).detach();
        });
        let answer = scale.send(turn).await.unwrap();
        assert!(
            matches!(answer, Err(PersistError::ActorFailed)),
            "{answer:?}"
        );
        let next = Turn(|_, ctx| ctx.persist(added(3)).detach());
        assert_eq!(scale.send(next).await.unwrap().unwrap(), 3);
        assert_eq!(tags(&world).await, [["at 0"]]);
    });
}
