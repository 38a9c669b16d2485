//! The actor that holds requests until their store is initialised, and the way past it afterwards.

use std::sync::Arc;

use actix::dev::{SendError, ToEnvelope};
use actix::{Actor, Addr, Context, Handler, Message, Supervised, Supervisor};
use actix_persistence_storage_api::StorageErrorKind;
use tokio::runtime::Handle;

use crate::initialization::initialize;
use crate::outstanding::{Outstanding, Ticket};
use crate::refusal::{Refusal, Refuse};
use crate::store_service::{StoreService, route};
use crate::store_thread::StoreThread;

/// The capacity that actix takes for unbounded.
const UNBOUNDED: usize = 0;

/// The supervised actor in front of a [`StoreService`]; ends when dropped.
///
/// Once the store is initialised, requests pass the actor by: its thread would have to be woken for each of them.
pub struct Front<S: StoreService> {
    service: Arc<S>,
    shell: Addr<Shell<S>>,
    /// Keeps the thread on which the actor lives.
    _thread: StoreThread,
    /// Counts what is in the mailbox of the actor: nothing passes by what was sent before it.
    in_mailbox: Outstanding,
}

impl<S: StoreService> Front<S> {
    /// Starts the actor on `thread` and begins to initialise the store on `runtime`.
    pub fn start(service: S, runtime: &Handle, thread: &StoreThread) -> Self {
        let service = Arc::new(service);
        let timeout = service.initialize_timeout();
        runtime.spawn(initialize(Arc::downgrade(&service), timeout));
        Self {
            shell: Shell::start(&service, thread),
            _thread: thread.clone(),
            service,
            in_mailbox: Outstanding::new(),
        }
    }

    /// Returns the service that handles the requests.
    pub fn service(&self) -> &S {
        &self.service
    }

    /// Calls the service when the requests that have been sent by now are routed, or held until it is initialised; before any
    /// later one is. `act` must not panic.
    pub fn act(&self, act: impl FnOnce(&S) + Send + 'static) {
        if self.in_mailbox.count() == 0 {
            return act(&self.service);
        }
        let act = Act {
            act: Box::new(act),
            in_mailbox: self.in_mailbox.enter(),
        };
        if let Err(Act { act, .. }) = self.mail(act) {
            // What has been routed waits elsewhere.
            act(&self.service);
        }
    }

    /// Sends a request, never blocking; one that cannot be delivered is refused.
    ///
    /// Requests that are sent one after the other are routed in this order.
    pub fn send(&self, request: S::Request) {
        if self.service.gate().is_open() && self.in_mailbox.count() == 0 {
            return route(&*self.service, request);
        }
        let deliver = Deliver {
            request,
            in_mailbox: self.in_mailbox.enter(),
        };
        if let Err(Deliver { request, .. }) = self.mail(deliver) {
            let message = format!("the actor of {} has ended", self.service.gate().name());
            request.refuse(&Refusal::new(StorageErrorKind::Unavailable, message));
        }
    }

    /// Puts a message into the mailbox of the actor; returns it if the thread itself has ended.
    fn mail<M>(&self, message: M) -> Result<(), M>
    where
        M: Message<Result = ()> + Send + 'static,
        Shell<S>: Handler<M>,
        <Shell<S> as Actor>::Context: ToEnvelope<Shell<S>, M>,
    {
        match self.shell.try_send(message) {
            Ok(()) => Ok(()),
            // The gate and the deadlines bound the number of requests; the mailbox does not.
            Err(SendError::Full(message)) => {
                self.shell.do_send(message);
                Ok(())
            }
            Err(SendError::Closed(message)) => Err(message),
        }
    }
}

/// The actor itself; it has no state of its own, so that none is lost with it.
struct Shell<S: StoreService>(Arc<S>);

struct Deliver<R> {
    request: R,
    /// Returned once the request is routed, or held at the gate.
    in_mailbox: Ticket,
}

impl<R: 'static> Message for Deliver<R> {
    type Result = ();
}

/// A call of the service, after the requests that were sent before.
struct Act<S> {
    act: Box<dyn FnOnce(&S) + Send>,
    /// Returned once the call is made.
    in_mailbox: Ticket,
}

impl<S: 'static> Message for Act<S> {
    type Result = ();
}

impl<S: StoreService> Shell<S> {
    fn start(service: &Arc<S>, thread: &StoreThread) -> Addr<Self> {
        let service = service.clone();
        Supervisor::start_in_arbiter(&thread.arbiter(), |context: &mut Context<Self>| {
            context.set_mailbox_capacity(UNBOUNDED);
            Shell(service)
        })
    }
}

impl<S: StoreService> Actor for Shell<S> {
    type Context = Context<Self>;
}

impl<S: StoreService> Supervised for Shell<S> {}

impl<S: StoreService> Handler<Deliver<S::Request>> for Shell<S> {
    type Result = ();

    fn handle(&mut self, deliver: Deliver<S::Request>, _: &mut Context<Self>) {
        let Deliver {
            request,
            in_mailbox,
        } = deliver;
        let service = &self.0;
        service
            .gate()
            .admit(request, |request| route(&**service, request));
        drop(in_mailbox);
    }
}

impl<S: StoreService> Handler<Act<S>> for Shell<S> {
    type Result = ();

    fn handle(&mut self, Act { act, in_mailbox }: Act<S>, _: &mut Context<Self>) {
        act(&self.0);
        drop(in_mailbox);
    }
}

#[cfg(test)]
mod tests;
