//! An actor on actix's own context that does what it is told and writes down what happens.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorFuture, ActorFutureExt, Addr, AtomicResponse, Context, Handler, MailboxError,
    Message, Running, Supervised, System, WrapFuture,
};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

/// The events of a test, in order.
#[derive(Clone)]
pub(crate) struct Trace(Arc<watch::Sender<Vec<&'static str>>>);

impl Trace {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Vec::new())))
    }

    pub(crate) fn note(&self, what: &'static str) {
        self.0.send_modify(|noted| noted.push(what));
    }

    pub(crate) fn all(&self) -> Vec<&'static str> {
        self.0.borrow().clone()
    }

    /// Waits until this was noted; the test fails with `recheck` if it never is. Needs a stopped clock.
    pub(crate) async fn until(&self, what: &'static str, recheck: &str) {
        let mut noted = self.0.subscribe();
        let happened = noted.wait_for(|noted| noted.contains(&what));
        let in_time = timeout(Duration::from_secs(3_600), happened).await.is_ok();
        assert!(in_time, "{recheck}: {what:?} is not in {:?}", self.all());
    }

    /// A value that notes its own end.
    pub(crate) fn note_drop(&self, what: &'static str) -> impl Send + use<> {
        NoteDrop(self.clone(), what)
    }
}

struct NoteDrop(Trace, &'static str);

impl Drop for NoteDrop {
    fn drop(&mut self) {
        self.0.note(self.1);
    }
}

/// The reaction of the actor when it is asked whether it really stops.
pub(crate) type OnStopping = fn(&mut Probe, &mut Context<Probe>) -> Running;

pub(crate) struct Probe {
    pub(crate) trace: Trace,
    pub(crate) state: u32,
    pub(crate) on_stopping: OnStopping,
    restarting: bool,
}

impl Probe {
    pub(crate) fn new(trace: &Trace) -> Self {
        Self {
            trace: trace.clone(),
            state: 0,
            on_stopping: |_, _| Running::Stop,
            restarting: false,
        }
    }

    pub(crate) fn start_traced() -> (Addr<Self>, Trace) {
        let trace = Trace::new();
        (Self::new(&trace).start(), trace)
    }

    /// A future that is ready at once and notes when it was polled.
    pub(crate) fn noting(&self, what: &'static str) -> impl ActorFuture<Self, Output = ()> + use<> {
        let trace = self.trace.clone();
        async move { trace.note(what) }.into_actor(self)
    }

    /// The same, once the gate has opened.
    pub(crate) fn noting_after(
        &self,
        gate: oneshot::Receiver<()>,
        what: &'static str,
    ) -> impl ActorFuture<Self, Output = ()> + use<> {
        let trace = self.trace.clone();
        async move {
            gate.await.unwrap();
            trace.note(what);
        }
        .into_actor(self)
    }
}

impl Actor for Probe {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Context<Self>) {
        if self.restarting {
            self.trace.note("started again");
        }
    }

    fn stopping(&mut self, ctx: &mut Context<Self>) -> Running {
        self.trace.note(if std::thread::panicking() {
            "stopping in a panic"
        } else {
            "stopping"
        });
        (self.on_stopping)(self, ctx)
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        self.trace.note(if std::thread::panicking() {
            "stopped in a panic"
        } else {
            "stopped"
        });
    }
}

impl Supervised for Probe {
    fn restarting(&mut self, _: &mut Context<Self>) {
        self.restarting = true;
        self.trace.note("restarting");
    }
}

type Code = Box<dyn FnOnce(&mut Probe, &mut Context<Probe>) + Send>;

/// Makes the actor run code of the test.
pub(crate) struct Do(Code);

impl Do {
    pub(crate) fn new(code: impl FnOnce(&mut Probe, &mut Context<Probe>) + Send + 'static) -> Self {
        Self(Box::new(code))
    }

    pub(crate) fn nothing() -> Self {
        Self::new(|_, _| {})
    }

    pub(crate) fn note(what: &'static str) -> Self {
        Self::new(move |probe, _| probe.trace.note(what))
    }
}

impl Message for Do {
    type Result = ();
}

impl Handler<Do> for Probe {
    type Result = ();

    fn handle(&mut self, Do(code): Do, ctx: &mut Context<Self>) {
        code(self, ctx);
    }
}

/// Notes `begun`, and once the gate has opened `ended`, in an [`AtomicResponse`].
pub(crate) struct Atomic {
    pub(crate) begun: &'static str,
    pub(crate) gate: oneshot::Receiver<()>,
    pub(crate) ended: &'static str,
}

impl Message for Atomic {
    type Result = ();
}

impl Handler<Atomic> for Probe {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, atomic: Atomic, _: &mut Context<Self>) -> Self::Result {
        let begun = self.noting(atomic.begun);
        let ended = self.noting_after(atomic.gate, atomic.ended);
        AtomicResponse::new(Box::pin(begun.then(move |(), _, _| ended)))
    }
}

/// Lets the actor handle what it was sent before; returns whether it still lives.
pub(crate) async fn caught_up(probe: &Addr<Probe>) -> Result<(), MailboxError> {
    probe.send(Do::nothing()).await
}

/// Runs a test that waits for other threads, so that its clock must not be stopped.
pub(crate) fn run_with_threads<F: Future<Output = ()>>(test: impl FnOnce() -> F) {
    let test: Pin<&mut dyn Future<Output = ()>> = pin!(async { test().await });
    System::new().block_on(test);
}
