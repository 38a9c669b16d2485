//! The tests of an application's actors: those of the page "Testing your actors".

// ANCHOR: imports
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::memory::{MemoryPlugin, MemoryStorage};
use actix_persistence::prelude::*;
use actix_persistence::storage_api::{Operation, StorageErrorKind};
use actix_persistence::{BackOffSettings, Config};
use actix_persistence_testkit::{Intercepted, InterceptedPlugin};
use serde::{Deserialize, Serialize};
// ANCHOR_END: imports

// ANCHOR: actor
#[derive(Debug, Serialize, Deserialize)]
enum Change {
    Placed,
    Lapsed,
}

impl Event for Change {
    const MANIFEST: &'static str = "order.change";
    const VERSION: u32 = 1;
}

/// An order that lapses if it is not paid within an hour.
#[derive(Default)]
struct Order {
    is_open: bool,
}

impl Actor for Order {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Order {
    type Event = Change;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Order", "1")
    }

    fn on_event(&mut self, change: &Change) {
        self.is_open = matches!(change, Change::Placed);
    }

    fn back_off(&self) -> Option<BackOffSettings> {
        let at_once = Duration::from_millis(1);
        Some(BackOffSettings::default().with_min(at_once))
    }
}
// ANCHOR_END: actor

#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Place;

impl Handler<Place> for Order {
    type Result = Reply<Place>;

    // ANCHOR: place
    fn handle(&mut self, _: Place, ctx: &mut Self::Context) -> Reply<Place> {
        ctx.run_later(Duration::from_secs(3_600), |_, ctx| {
            ctx.persist(Change::Lapsed).detach();
        });
        ctx.persist(Change::Placed).reply(|_| Ok(()))
    }
    // ANCHOR_END: place
}

#[derive(Message)]
#[rtype(result = "bool")]
struct IsOpen;

impl Handler<IsOpen> for Order {
    type Result = bool;

    fn handle(&mut self, _: IsOpen, _: &mut Self::Context) -> bool {
        self.is_open
    }
}

// ANCHOR: restart
#[actix::test]
async fn an_order_is_open_after_a_restart() {
    let storage = MemoryStorage::new();
    for is_first in [true, false] {
        let builder = Persistence::builder().journal("memory", Arc::new(storage.journal()));
        let persistence = builder.open().await.unwrap();
        let order = persistence.start(Order::default).unwrap();
        if is_first {
            order.send(Place).await.unwrap().unwrap();
        }
        assert!(order.send(IsOpen).await.unwrap());
        persistence.stop(Duration::from_secs(10)).await;
    }
}
// ANCHOR_END: restart

// ANCHOR: not_stored
#[actix::test]
async fn an_order_that_is_not_stored_is_not_open() {
    let journal = Intercepted::journal(MemoryStorage::new().journal());
    let writes = journal.on(Operation::WriteMessages).next(1);
    writes.fail(StorageErrorKind::Backend);
    let builder = Persistence::builder().journal("failing", Arc::new(journal));
    let persistence = builder.open().await.unwrap();
    let order = persistence.start(Order::default).unwrap();

    let answer = order.send(Place).await.unwrap();
    assert!(matches!(answer, Err(PersistError::NotStored(_))));
    assert!(!order.send(IsOpen).await.unwrap());
    // The customer tries again.
    order.send(Place).await.unwrap().unwrap();
    assert!(order.send(IsOpen).await.unwrap());
}
// ANCHOR_END: not_stored

// ANCHOR: unknown
#[actix::test]
async fn an_order_whose_reply_was_lost_is_open() {
    let journal = Intercepted::journal(MemoryStorage::new().journal());
    let writes = journal.on(Operation::WriteMessages).next(1);
    writes.store_but_fail(StorageErrorKind::Backend);
    let builder = Persistence::builder().journal("failing", Arc::new(journal));
    let persistence = builder.open().await.unwrap();
    let order = persistence.start(Order::default).unwrap();

    let answer = order.send(Place).await.unwrap();
    assert!(matches!(answer, Err(PersistError::Unknown(_))));
    assert!(order.send(IsOpen).await.unwrap());
}
// ANCHOR_END: unknown

// ANCHOR: held
#[actix::test]
async fn who_asks_while_an_order_is_being_stored_waits_for_it() {
    let journal = Intercepted::journal(MemoryStorage::new().journal());
    let writes = journal.on(Operation::WriteMessages).hold();
    let builder = Persistence::builder().journal("held", Arc::new(journal));
    let persistence = builder.open().await.unwrap();
    let order = persistence.start(Order::default).unwrap();

    let placed = actix::spawn(order.send(Place));
    let write = writes.next().await;
    assert_eq!(write.call().writes().len(), 1);
    let is_open = actix::spawn(order.send(IsOpen));
    write.pass();
    assert!(is_open.await.unwrap().unwrap());
    assert!(placed.await.unwrap().unwrap().is_ok());
}
// ANCHOR_END: held

// ANCHOR: plugin
#[actix::test]
async fn the_shop_does_not_open_without_its_journal() {
    let plugin = InterceptedPlugin::around(MemoryPlugin::new());
    let opening = plugin.journals().on(Operation::Initialize);
    let opening = opening.fail(StorageErrorKind::AccessDenied);
    let config = Config::new()
        .with("persistence.journal.plugin", "orders")
        .with("persistence.journal.orders.kind", "memory");
    let builder = Persistence::builder().plugin(plugin).config(config);
    assert!(builder.open().await.is_err());
    assert_eq!(opening.met(), 1, "waiting does not cure it");
}
// ANCHOR_END: plugin

// ANCHOR: clock
/// Moves the clock of the actors ahead, while the stores have nothing to do.
async fn jump(ahead: Duration) {
    tokio::time::pause();
    tokio::time::advance(ahead).await;
    tokio::time::resume();
}

#[actix::test]
async fn an_order_lapses_after_an_hour() {
    let persistence = Persistence::memory().await.unwrap();
    let order = persistence.start(Order::default).unwrap();
    order.send(Place).await.unwrap().unwrap();
    jump(Duration::from_secs(3_599)).await;
    assert!(order.send(IsOpen).await.unwrap());
    jump(Duration::from_secs(1)).await;
    while order.send(IsOpen).await.unwrap() {
        tokio::task::yield_now().await;
    }
}
// ANCHOR_END: clock
