//! The actor, and the way past it.

use std::sync::mpsc;
use std::time::Duration;

use actix_persistence_storage_api::{Operation, PersistenceId, StorageError};
use futures_util::FutureExt;
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

    /// Waits for an answer; the limit makes a lost one a failure instead of a test that hangs.
    fn answer(&self, reply: Reply<Result<u32, StorageError>>) -> Result<u32, StorageError> {
        let limited = async { tokio::time::timeout(Duration::from_secs(60), reply).await };
        self.runtime.block_on(limited).expect("an answer")
    }
}

/// Returns a runtime that does nothing before it is driven.
fn idle_runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// Keeps a thread from doing anything else until it is dropped.
struct Busy {
    _release: mpsc::Sender<()>,
}

impl Busy {
    fn start(thread: &StoreThread) -> Self {
        let (begun, has_begun) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        thread.arbiter().spawn_fn(move || {
            begun.send(()).unwrap();
            let _ = released.recv();
        });
        has_begun.recv().unwrap();
        Self { _release: release }
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
fn a_panic_on_the_way_is_an_answer_and_none_of_the_senders() {
    let fixture = Fixture::new(&StoreThread::start("stores").unwrap());
    for round in 0..100 {
        let lost = fixture.send(round, true);
        let next = fixture.send(round, false);
        assert!(fixture.runtime.block_on(lost).unwrap_err().is_not_stored());
        assert_eq!(fixture.runtime.block_on(next).unwrap(), round);
    }
    assert_eq!(fixture.outstanding.count(), 0);
}

#[test]
fn an_initialised_store_is_reached_while_its_actor_is_busy() {
    let thread = StoreThread::start("stores").unwrap();
    let fixture = Fixture::new(&thread);
    let busy = Busy::start(&thread);
    assert_eq!(fixture.answer(fixture.send(1, false)).unwrap(), 1);
    drop(busy);
}

#[test]
fn no_request_passes_one_that_is_in_the_mailbox() {
    let thread = StoreThread::start("stores").unwrap();
    let fixture = Fixture::start(idle_runtime(), &thread);
    let busy = Busy::start(&thread);
    // They find the store not initialised; the runtime has not been driven yet.
    let early: Vec<_> = (0..3).map(|number| fixture.send(number, false)).collect();
    let ready = fixture.front.service().gate.ready();
    fixture.runtime.block_on(ready).unwrap();
    let late: Vec<_> = (3..6).map(|number| fixture.send(number, false)).collect();
    drop(busy);
    for (number, reply) in (0..).zip(early.into_iter().chain(late)) {
        assert_eq!(fixture.answer(reply).unwrap(), number);
    }
    let routed: Vec<_> = fixture.routed.try_iter().collect();
    assert_eq!(routed, (0..6).collect::<Vec<_>>());
}

/// Returns an initialised service whose busy actor has request 0 in its mailbox.
fn with_request_in_mailbox() -> (Fixture, Busy, Reply<Result<u32, StorageError>>) {
    let thread = StoreThread::start("stores").unwrap();
    let fixture = Fixture::start(idle_runtime(), &thread);
    let busy = Busy::start(&thread);
    let early = fixture.send(0, false);
    let ready = fixture.front.service().gate.ready();
    fixture.runtime.block_on(ready).unwrap();
    (fixture, busy, early)
}

#[test]
fn what_the_service_is_to_do_comes_after_the_requests_in_the_mailbox() {
    let (fixture, busy, early) = with_request_in_mailbox();
    fixture.front.act(|echo| echo.routed.send(1).unwrap());
    drop(busy);
    fixture.answer(early).unwrap();
    let limit = Duration::from_secs(60);
    assert_eq!(fixture.routed.recv_timeout(limit), Ok(0));
    assert_eq!(fixture.routed.recv_timeout(limit), Ok(1));
}

#[test]
fn no_request_passes_what_the_service_is_to_do_before() {
    let (fixture, busy, early) = with_request_in_mailbox();
    let (begun, has_begun) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    fixture.front.act(move |echo| {
        begun.send(()).unwrap();
        // The limit makes a call on the thread of the test a failure instead of a test that hangs.
        let _ = released.recv_timeout(Duration::from_secs(10));
        echo.routed.send(1).unwrap();
    });
    drop(busy);
    // The request is routed by now, and its ticket returned.
    has_begun.recv().unwrap();
    let late = fixture.send(2, false);
    drop(release);
    for reply in [early, late] {
        fixture.answer(reply).unwrap();
    }
    assert_eq!(fixture.routed.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn a_service_is_called_at_once_while_the_mailbox_is_empty() {
    let thread = StoreThread::start("stores").unwrap();
    let fixture = Fixture::new(&thread);
    let busy = Busy::start(&thread);
    fixture.front.act(|echo| echo.routed.send(1).unwrap());
    assert_eq!(fixture.routed.try_recv(), Ok(1));
    drop(busy);
}

#[test]
fn the_thread_of_the_actor_lives_as_long_as_the_front() {
    let fixture = Fixture::start(idle_runtime(), &StoreThread::start("stores").unwrap());
    let early = fixture.send(1, false);
    let ready = fixture.front.service().gate.ready();
    fixture.runtime.block_on(ready).unwrap();
    assert_eq!(fixture.answer(early).unwrap(), 1);
}

#[test]
fn a_runtime_that_ends_before_initialising_began_answers_all_the_same() {
    let thread = StoreThread::start("stores").unwrap();
    let fixture = Fixture::start(idle_runtime(), &thread);
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
fn a_request_is_refused_if_the_thread_ends_before_initialising() {
    let thread = StoreThread::start("stores").unwrap();
    let fixture = Fixture::start(idle_runtime(), &thread);
    thread
        .arbiter()
        .spawn_fn(|| actix_rt::System::current().stop());
    let refused = loop {
        // Until the stop has been seen, requests are held.
        match fixture.send(1, false).now_or_never() {
            Some(answer) => break answer,
            None => std::thread::yield_now(),
        }
    };
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Unavailable);
    assert!(error.is_not_stored());
}
