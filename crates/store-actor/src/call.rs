//! Calls of a plugin: each its own task, never aborted, and never awaited for ever.

use std::future::Future;
use std::time::Duration;

use actix_persistence_storage_api::{Operation, StorageError, StorageErrorKind};
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};

use crate::outstanding::Outstanding;

/// Starts calls on the runtime that belongs to the stores.
///
/// A database call that is dropped half-way can poison its connection, so the caller that waits for a call does not own
/// it: it runs to its end, however long that takes.
#[derive(Clone, Debug)]
pub struct Caller {
    runtime: Handle,
    outstanding: Outstanding,
}

/// A call under way. Dropping it leaves the call running.
#[must_use = "the answer of the call would be lost"]
pub struct Call<T> {
    operation: Operation,
    task: JoinHandle<Result<T, StorageError>>,
}

/// The way in which waiting for a call ended.
pub enum CallEnd<T> {
    /// The call ended in time; a panic, or the end of the runtime, is an error of unknown effect.
    InTime(Result<T, StorageError>),
    /// The time is over and the call goes on.
    Late(LateCall<T>),
}

/// A call that is no longer waited for but may still have its effect.
pub struct LateCall<T> {
    call: Call<T>,
    limit: Duration,
}

impl Caller {
    /// Calls run on `runtime`, which needs its timer enabled, and count as outstanding until they end.
    pub fn new(runtime: Handle, outstanding: Outstanding) -> Self {
        Self {
            runtime,
            outstanding,
        }
    }

    /// Returns the runtime of the calls.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Starts a call to the store.
    pub fn start<T, F>(&self, operation: Operation, call: F) -> Call<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        let ticket = self.outstanding.enter();
        let task = self.runtime.spawn(async move {
            let _ticket = ticket;
            call.await
        });
        Call { operation, task }
    }
}

impl<T> Call<T> {
    /// Waits for the call, at most for `limit`.
    ///
    /// # Cancel safety
    /// The call goes on; its answer is lost.
    pub async fn within(mut self, limit: Duration) -> CallEnd<T> {
        match tokio::time::timeout(limit, &mut self.task).await {
            Ok(Ok(result)) => CallEnd::InTime(result),
            Ok(Err(error)) => CallEnd::InTime(Err(broken_off(self.operation, &error))),
            Err(_elapsed) => CallEnd::Late(LateCall { call: self, limit }),
        }
    }
}

impl<T> LateCall<T> {
    /// Returns the error for the askers: no answer in time, and for a write an unknown effect.
    pub fn error(&self) -> StorageError {
        StorageError::new(StorageErrorKind::Timeout, self.call.operation)
            .with_message(format!("no answer within {:?}", self.limit))
    }

    /// Waits on for the call, at most for `longer`.
    ///
    /// # Cancel safety
    /// The call goes on; its answer is lost.
    pub async fn within(self, longer: Duration) -> CallEnd<T> {
        self.call.within(longer).await
    }

    /// Waits until the call has ended, at most for another `grace`; returns whether it has.
    ///
    /// # Cancel safety
    /// The call goes on.
    pub async fn ended(mut self, grace: Duration) -> bool {
        tokio::time::timeout(grace, &mut self.call.task)
            .await
            .is_ok()
    }
}

fn broken_off(operation: Operation, error: &JoinError) -> StorageError {
    if error.is_panic() {
        StorageError::new(StorageErrorKind::Backend, operation).with_message("the plugin panicked")
    } else {
        StorageError::new(StorageErrorKind::Unavailable, operation)
            .with_message("the runtime of the stores has ended")
    }
}

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::Effect;
    use tokio::sync::oneshot;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn caller() -> (Caller, Outstanding) {
        let outstanding = Outstanding::new();
        (
            Caller::new(Handle::current(), outstanding.clone()),
            outstanding,
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_call_goes_on_and_stays_outstanding() {
        let (caller, outstanding) = caller();
        let (release, released) = oneshot::channel::<()>();
        let call = caller.start(Operation::WriteMessages, async {
            let _ = released.await;
            Ok(())
        });
        let CallEnd::Late(late) = call.within(SECOND).await else {
            panic!("the call cannot have ended");
        };
        assert_eq!(late.error().effect(), Some(Effect::Unknown));
        assert_eq!(outstanding.count(), 1);
        release.send(()).unwrap();
        assert!(late.ended(SECOND).await);
        assert_eq!(outstanding.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_grace_of_a_late_call_ends() {
        let (caller, _outstanding) = caller();
        let call = caller.start(Operation::ReplayMessages, std::future::pending());
        let CallEnd::<()>::Late(late) = call.within(SECOND).await else {
            panic!("the call cannot have ended");
        };
        assert!(!late.ended(SECOND).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_an_error_of_unknown_effect() {
        let (caller, _outstanding) = caller();
        let call = caller.start::<(), _>(Operation::WriteMessages, async { panic!("scripted") });
        let CallEnd::InTime(Err(error)) = call.within(SECOND).await else {
            panic!("the call must have failed");
        };
        assert_eq!(error.kind(), StorageErrorKind::Backend);
        assert_eq!(error.effect(), Some(Effect::Unknown));
    }
}
