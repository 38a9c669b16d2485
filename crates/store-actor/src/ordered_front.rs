//! The actor in front of a store that serves the requests of one id one after the other.

mod dispatcher;
mod groups;
mod id_queues;
mod request;
mod store_calls;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{Operation, PersistenceId, StorageError};
use tokio::runtime::Handle;

use crate::ask::Ask;
use crate::call::Caller;
use crate::circuit_breaker::BreakerSettings;
use crate::deadline::deadline_after;
use crate::front::Front;
use crate::outstanding::Outstanding;
use crate::pace::Pace;
use crate::refusal::Refuse;
use crate::reply::Reply;
use crate::slot::Slot;
use crate::store_health::{Ping, StoreHealth};
use crate::store_service::StoreService;
use crate::store_thread::StoreThread;
use dispatcher::Dispatcher;
pub use groups::{GroupLimits, GroupResult, Groups};
use request::{Asked, Grouped, Job, Paced, Request};
use store_calls::StoreCalls;

/// The settings of an [`OrderedFront`].
#[derive(Clone, Debug)]
pub struct OrderedFrontSettings {
    /// The name of the store, for errors and logs, such as `snapshot store "files"`.
    pub store: String,
    /// The name of its reads, such as `loads`.
    pub reads: &'static str,
    /// The name of its changing calls, such as `saves`.
    pub writes: &'static str,
    /// The limits after which the store is not called any more, and the longest time of one call; reads and writes have
    /// a breaker each.
    pub circuit_breaker: BreakerSettings,
    /// The time for which requests are held while initialising keeps failing.
    pub initialize_timeout: Duration,
    /// The number of requests that are held until the store is initialised.
    pub max_held_requests: usize,
    /// The number of calls that run at the same time, each for another id; 0 counts as 1.
    pub max_concurrent_calls: usize,
}

/// Makes the call that initialises a store, once for each attempt.
pub type InitializeCall =
    Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), StorageError>> + Send>> + Send + Sync>;

/// Brings requests to a store: those of one id one after the other in the order of asking, different ids at the same time.
///
/// A call over its time-out is answered, but goes on. After a write no other request of the id starts until that has
/// ended, at most for another call time-out; it does not wait for a read, which changes nothing. Ends when dropped.
pub struct OrderedFront {
    front: Front<Dispatcher>,
    outstanding: Outstanding,
}

impl OrderedFront {
    /// Starts the actor on `thread` and begins to initialise the store; its calls run on `runtime`, with timer.
    pub fn start(
        settings: OrderedFrontSettings,
        initialize: InitializeCall,
        ping: Ping,
        runtime: &Handle,
        thread: &StoreThread,
    ) -> Self {
        let outstanding = Outstanding::new();
        let caller = Caller::new(runtime.clone(), outstanding.clone());
        let health = StoreHealth::new(&*settings.store, runtime.clone(), ping);
        let calls = StoreCalls::new(caller, health, &settings);
        let dispatcher = Dispatcher::new(calls, initialize, settings);
        let front = Front::start(dispatcher, runtime, thread);
        Self { front, outstanding }
    }

    /// Asks the store by `call`, which is polled when its turn has come, or dropped unpolled.
    ///
    /// A read may take `limit` in all, waiting included, and a call time-out at most; a write may wait for the same
    /// time for its turn. A request that has run out of time while it waited for another one of its id is answered when
    /// it would be its turn. A request with an invalid id is refused as
    /// [unsupported](actix_persistence_storage_api::StorageErrorKind::Unsupported).
    pub fn ask<T: Send + 'static>(
        &self,
        operation: Operation,
        persistence_id: PersistenceId,
        limit: Duration,
        call: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> Reply<Result<T, StorageError>> {
        self.send(Ask::new(operation, persistence_id), limit, |slot| {
            Box::new(Asked { slot, call })
        })
    }

    /// Asks for a write as [`ask`](Self::ask) does, but brings so many bytes to the store, at this pace.
    ///
    /// The wait for the pace is part of the wait for the turn, but takes no place from other calls. It ends if another
    /// request of the id waits for this one, if the id is in a [hurry](Self::hurry), if everything at the pace is, and if the
    /// asker leaves: the write is made then, too.
    pub fn ask_at_pace<T: Send + 'static>(
        &self,
        pace: &Pace,
        bytes: usize,
        operation: Operation,
        persistence_id: PersistenceId,
        limit: Duration,
        call: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> Reply<Result<T, StorageError>> {
        let pace = pace.clone();
        self.send(Ask::new(operation, persistence_id), limit, |slot| {
            let asked = Asked { slot, call };
            let latest = pace.latest();
            Box::new(Paced {
                asked,
                pace,
                bytes,
                latest,
            })
        })
    }

    /// Lets the requests of an id go at once that have been asked [at a pace](Self::ask_at_pace), but for those that are
    /// held until the store is initialised.
    pub fn hurry(&self, persistence_id: PersistenceId) {
        self.front
            .act(move |dispatcher| dispatcher.hurry(&persistence_id));
    }

    /// Asks as [`ask`](Self::ask) does, but about no persistence id: the requests of one queue are served in order, and
    /// errors name no id.
    pub fn ask_in_queue<T: Send + 'static>(
        &self,
        operation: Operation,
        queue: PersistenceId,
        limit: Duration,
        call: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> Reply<Result<T, StorageError>> {
        self.send(Ask::in_queue(operation, queue), limit, |slot| {
            Box::new(Asked { slot, call })
        })
    }

    /// Asks the store for a change that may share a call with those of other ids, in the same order as
    /// [`ask`](Self::ask): everything that arrives while a call is under way is the next one.
    ///
    /// A call that certainly changed nothing, and may have failed because of one change, is made again in halves.
    pub fn ask_in_group<C: Clone + Send + 'static>(
        &self,
        groups: &Groups<C>,
        operation: Operation,
        persistence_id: PersistenceId,
        limit: Duration,
        change: C,
    ) -> Reply<Result<(), StorageError>> {
        let groups = groups.clone();
        self.send(Ask::new(operation, persistence_id), limit, |slot| {
            Box::new(Grouped {
                slot,
                change,
                groups,
            })
        })
    }

    fn send<T: Send + 'static>(
        &self,
        ask: Ask<T>,
        limit: Duration,
        job: impl FnOnce(Slot<Ask<T>>) -> Box<dyn Job>,
    ) -> Reply<Result<T, StorageError>> {
        let validity = ask.persistence_id().validate();
        let (slot, reply) = Slot::new(ask, &self.outstanding);
        match validity {
            Ok(()) => self.front.send(Request {
                deadline: deadline_after(limit),
                job: job(slot),
            }),
            Err(invalid) => slot.refuse(&invalid.into()),
        }
        reply
    }

    /// Returns the health of the store.
    pub fn health(&self) -> &Arc<StoreHealth> {
        self.front.service().health()
    }

    /// Waits until the store is initialised.
    ///
    /// # Errors
    /// If waiting cannot cure the cause, at once.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn ready(&self) -> Result<(), StorageError> {
        self.front.service().gate().ready().await
    }

    /// Waits for the end of the first attempt to initialise, at most for `initialize_timeout`: `true` if it worked,
    /// `false` if trying goes on.
    ///
    /// # Errors
    /// If waiting cannot cure the cause.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn first_attempt(&self) -> Result<bool, StorageError> {
        self.front.service().gate().first_attempt().await
    }

    /// Returns the error of the last attempt to initialise, or that the first one takes too long; `None` before that, and once one
    /// worked.
    pub fn trouble(&self) -> Option<StorageError> {
        self.front.service().gate().trouble()
    }

    /// Waits for a moment in which no request is queued and no call is in flight.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn drained(&self) {
        self.outstanding.drained().await;
    }
}
