//! The actor that requests go through.

use std::sync::{Arc, PoisonError, RwLock};

use actix::dev::SendError;
use actix::{Actor, Addr, Context, Handler, Message, Supervised, Supervisor};
use actix_persistence_storage_api::StorageErrorKind;
use tokio::runtime::Handle;

use crate::initialization::initialize;
use crate::refusal::{Refusal, Refuse};
use crate::store_service::StoreService;
use crate::store_thread::StoreThread;

/// The capacity that actix takes for unbounded.
const UNBOUNDED: usize = 0;

/// The supervised actor in front of a [`StoreService`]; ends when dropped.
///
/// actix's supervisor does not survive a panic, so an actor that is gone is started again by the next request.
pub struct Front<S: StoreService> {
    service: Arc<S>,
    thread: StoreThread,
    shell: RwLock<Addr<Shell<S>>>,
}

impl<S: StoreService> Front<S> {
    /// Starts the actor on `thread` and begins to initialise the store on `runtime`.
    pub fn start(service: S, runtime: &Handle, thread: &StoreThread) -> Self {
        let service = Arc::new(service);
        let timeout = service.initialize_timeout();
        runtime.spawn(initialize(Arc::downgrade(&service), timeout));
        Self {
            shell: RwLock::new(Shell::start(&service, thread)),
            thread: thread.clone(),
            service,
        }
    }

    /// Returns the service that handles the requests.
    pub fn service(&self) -> &S {
        &self.service
    }

    /// Sends a request, never blocking; one that cannot be delivered is refused.
    pub fn send(&self, request: S::Request) {
        let Err(undelivered) = self.deliver(request) else {
            return;
        };
        self.restart();
        if let Err(undelivered) = self.deliver(undelivered) {
            // Only when the thread itself has ended.
            let message = format!("the actor of {} has ended", self.service.gate().name());
            undelivered.refuse(&Refusal::new(StorageErrorKind::Unavailable, message));
        }
    }

    /// Returns the request if the actor is gone.
    ///
    /// An actor that panics drops its mailbox with it: the slots answer.
    fn deliver(&self, request: S::Request) -> Result<(), S::Request> {
        let shell = self.shell.read().unwrap_or_else(PoisonError::into_inner);
        match shell.try_send(Deliver(request)) {
            Ok(()) => Ok(()),
            // The gate and the deadlines bound the number of requests; the mailbox does not.
            Err(SendError::Full(deliver)) => {
                shell.do_send(deliver);
                Ok(())
            }
            Err(SendError::Closed(Deliver(request))) => Err(request),
        }
    }

    fn restart(&self) {
        let mut shell = self.shell.write().unwrap_or_else(PoisonError::into_inner);
        // Another sender may have been faster.
        if !shell.connected() {
            tracing::error!(
                store = self.service.gate().name(),
                "store actor had panicked and is started again"
            );
            *shell = Shell::start(&self.service, &self.thread);
        }
    }
}

/// The actor itself; it has no state of its own, so that none is lost with it.
struct Shell<S: StoreService>(Arc<S>);

struct Deliver<R>(R);

impl<R: 'static> Message for Deliver<R> {
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

    fn handle(&mut self, Deliver(request): Deliver<S::Request>, _: &mut Context<Self>) {
        let service = &self.0;
        service
            .gate()
            .admit(request, |request| service.route(request));
    }
}

#[cfg(test)]
mod tests;
