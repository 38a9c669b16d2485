//! The actor, its end and its return.

use std::sync::mpsc;
use std::time::Duration;

use actix_persistence_storage_api::{Operation, PersistenceId, StorageError};
use tokio::runtime::Runtime;

use super::*;
use crate::{Ask, Call, Caller, Gate, Outstanding, Reply, Slot, StoreHealth};

/// Answers every question, except that it panics when asked to.
struct Echo {
    gate: Gate<Request>,
    health: Arc<StoreHealth>,
    caller: Caller,
    routed: mpsc::Sender<u32>,
}

struct Request {
    number: u32,
    panic: bool,
    slot: Slot<Ask<u32>>,
}

impl Refuse for Request {
    fn refuse(self, refusal: &Refusal) {
        self.slot.refuse(refusal);
    }
}

impl StoreService for Echo {
    type Request = Request;

    fn gate(&self) -> &Gate<Request> {
        &self.gate
    }

    fn health(&self) -> &Arc<StoreHealth> {
        &self.health
    }

    fn initialize(&self) -> Call<()> {
        self.caller.start(Operation::Initialize, async { Ok(()) })
    }

    fn initialize_timeout(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn route(&self, request: Request) {
        assert!(!request.panic, "scripted");
        self.routed.send(request.number).unwrap();
        request.slot.answer(Ok(request.number));
    }
}

struct Fixture {
    runtime: Runtime,
    outstanding: Outstanding,
    front: Front<Echo>,
    routed: mpsc::Receiver<u32>,
}

impl Fixture {
    /// Returns an initialised service.
    fn new(thread: &StoreThread) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let fixture = Self::start(runtime, thread);
        let ready = fixture.front.service().gate.ready();
        fixture.runtime.block_on(ready).unwrap();
        fixture
    }

    /// Starts a front whose store may not be initialised.
    fn start(runtime: Runtime, thread: &StoreThread) -> Self {
        let outstanding = Outstanding::new();
        let (sender, routed) = mpsc::channel();
        let echo = Echo {
            gate: Gate::new("test", 100),
            health: StoreHealth::new(
                "test",
                runtime.handle().clone(),
                Box::new(|| Box::pin(async { Ok(()) })),
            ),
            caller: Caller::new(runtime.handle().clone(), outstanding.clone()),
            routed: sender,
        };
        let front = Front::start(echo, runtime.handle(), thread);
        Self {
            runtime,
            outstanding,
            front,
            routed,
        }
    }

    fn send(&self, number: u32, panic: bool) -> Reply<Result<u32, StorageError>> {
        let ask = Ask::new(Operation::DeleteMessagesTo, PersistenceId::of("T", "1"));
        let (slot, reply) = Slot::new(ask, &self.outstanding);
        self.front.send(Request {
            number,
            panic,
            slot,
        });
        reply
    }
}

#[test]
fn delivers_in_order_however_many_wait() {
    let fixture = Fixture::new(&StoreThread::start("stores").unwrap());
    let replies: Vec<_> = (0..1_000)
        .map(|number| fixture.send(number, false))
        .collect();
    for (number, reply) in (0..).zip(replies) {
        assert_eq!(fixture.runtime.block_on(reply).unwrap(), number);
    }
    let routed: Vec<_> = fixture.routed.try_iter().collect();
    assert_eq!(routed, (0..1_000).collect::<Vec<_>>());
}

#[test]
fn an_actor_that_panicked_is_started_again_and_loses_no_reply() {
    let fixture = Fixture::new(&StoreThread::start("stores").unwrap());
    for round in 0..100 {
        let lost = fixture.send(round, true);
        let at_risk: Vec<_> = (0..3).map(|_| fixture.send(round, false)).collect();
        let error = fixture.runtime.block_on(lost).unwrap_err();
        assert!(error.is_not_stored());
        // These may have been in the mailbox of the actor that ended, or be the first of the next one.
        for reply in at_risk {
            let _ = fixture.runtime.block_on(reply);
        }
        fixture.runtime.block_on(fixture.outstanding.drained());
    }
    // The mailbox is closed soon after the panic; from then on requests get through again.
    let came_back = (0..).find(|&n| fixture.runtime.block_on(fixture.send(n, false)).is_ok());
    assert!(came_back.is_some());
}

#[test]
fn a_runtime_that_ends_before_initialising_began_answers_all_the_same() {
    let thread = StoreThread::start("stores").unwrap();
    // It is not driven, so that nothing spawned there is ever polled.
    let idle = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let fixture = Fixture::start(idle, &thread);
    let held = fixture.send(1, false);
    let Fixture {
        runtime,
        front,
        outstanding,
        ..
    } = fixture;
    drop(runtime);
    let waiter = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    // The limit makes a lost answer a failure instead of a test that hangs.
    let answer =
        waiter.block_on(async { tokio::time::timeout(Duration::from_secs(60), held).await });
    let error = answer.expect("an answer").unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Unavailable);
    assert!(error.is_not_stored());
    assert!(waiter.block_on(front.service().gate.ready()).is_err());
    waiter.block_on(outstanding.drained());
}

#[test]
fn a_request_is_refused_when_its_thread_has_ended() {
    let thread = StoreThread::start("stores").unwrap();
    let fixture = Fixture::new(&thread);
    thread
        .arbiter()
        .spawn_fn(|| actix_rt::System::current().stop());
    let error = loop {
        // Until the stop has been seen, requests are still served.
        match fixture.runtime.block_on(fixture.send(1, false)) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), StorageErrorKind::Unavailable);
    assert!(error.is_not_stored());
}
