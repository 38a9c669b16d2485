//! Streams of an actor: their start, each item and their end are turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::{Actor, ActorContext, AsyncContext, Handler, Message, StreamHandler};
use actix_persistence_persistent_actor::{NoSnapshot, PersistentActor, PersistentContext};
use actix_persistence_storage_api::PersistenceId;
use futures_util::{StreamExt, stream};

use crate::tally::{Added, Get, Log, Run, Tally, added};
use crate::world::{World, run};

const MINUTE: Duration = Duration::from_secs(60);

/// Persists whenever its stream says something.
struct Listener {
    log: Log,
    persists: bool,
}

impl Listener {
    fn hear(&mut self, what: String, n: i64, ctx: &mut PersistentContext<Self>) {
        self.log.add(what);
        if self.persists {
            drop(ctx.persist(added(n)).then(|listener, event, _| {
                listener.log.add(format!("handler {}", event.n));
            }));
        }
    }
}

impl Actor for Listener {
    type Context = PersistentContext<Self>;

    fn stopped(&mut self, _: &mut Self::Context) {
        self.log.add("stopped");
    }
}

impl PersistentActor for Listener {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Listener", "1")
    }

    fn on_event(&mut self, _: &Added) {}
}

impl StreamHandler<i64> for Listener {
    fn started(&mut self, ctx: &mut Self::Context) {
        self.hear("started".to_owned(), 0, ctx);
    }

    fn handle(&mut self, item: i64, ctx: &mut Self::Context) {
        self.hear(format!("item {item}"), item, ctx);
    }

    fn finished(&mut self, ctx: &mut Self::Context) {
        self.hear("finished".to_owned(), 99, ctx);
        ctx.stop();
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Listen(Vec<i64>);

impl Handler<Listen> for Listener {
    type Result = ();

    fn handle(&mut self, listen: Listen, ctx: &mut Self::Context) {
        ctx.add_stream(stream::iter(listen.0));
    }
}

async fn listen(persists: bool, items: Vec<i64>) -> Vec<String> {
    let (world, log) = (World::new(), Log::default());
    let shared = log.clone();
    let listener = world.start(move || Listener {
        log: shared.clone(),
        persists,
    });
    listener.unwrap().send(Listen(items)).await.unwrap();
    tokio::time::sleep(MINUTE).await;
    log.take()
}

#[test]
fn the_start_the_items_and_the_end_of_a_stream_are_handled_in_order() {
    run(|| async {
        let expected = [
            "started",
            "handler 0",
            "item 1",
            "handler 1",
            "item 2",
            "handler 2",
            "finished",
            "handler 99",
            "stopped",
        ];
        assert_eq!(listen(true, vec![1, 2]).await, expected);
        let expected = ["started", "handler 0", "finished", "handler 99", "stopped"];
        assert_eq!(listen(true, Vec::new()).await, expected);
        let expected = ["started", "item 1", "item 2", "finished", "stopped"];
        assert_eq!(listen(false, vec![1, 2]).await, expected);
    });
}

#[test]
fn a_stream_that_always_has_another_item_leaves_the_arbiter_to_others() {
    /// It ends all the same, so that a test whose arbiter it takes away fails and does not hang.
    const ITEMS: usize = 100_000;

    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let handled = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&handled);
        let turn = Run::new(move |_, ctx| {
            let items = stream::iter(0..ITEMS).map(move |_| {
                let counted = Arc::clone(&counted);
                Run::new(move |_, _| {
                    counted.fetch_add(1, Ordering::Relaxed);
                })
            });
            ctx.add_message_stream(items);
        });
        tally.send(turn).await.unwrap();
        // Neither a task of the arbiter nor a message waits for the end of the stream, nor does a stop.
        tokio::task::yield_now().await;
        assert_eq!(tally.send(Get).await.unwrap(), 0);
        world.environment.live_ids.drain().finished().await;
        let handled = handled.load(Ordering::Relaxed);
        assert!(
            (1..ITEMS).contains(&handled),
            "{handled} items were handled"
        );
    });
}
