//! Limits the number of actors that recover at the same time.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use actix_persistence_storage_api::{Operation, StorageError, StorageErrorKind};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::AbortHandle;

use crate::pulse::Pulse;

/// The time for which an arbiter may stand still before the turns of its actors go on to others.
const STANDSTILL: Duration = Duration::from_secs(1);

/// The permits to recover, which are handed out in the order in which they were asked for; clones share them.
///
/// A turn belongs to the actor that waits for it, on the arbiter of that actor. While that arbiter is blocked, no actor
/// there can use the turn or return it; so an actor whose arbiter stands still for more than a second loses it to
/// the next, and asks [again](RecoveryPermit::is_lost) before it goes on.
#[derive(Clone, Debug)]
pub struct RecoveryPermits {
    operation: Operation,
    permits: Arc<Semaphore>,
    timeout: Duration,
    /// The runtime that looks after turns, whatever the arbiters do.
    runtime: Handle,
}

/// The turn to recover; the next actor gets it when this is dropped.
#[derive(Debug)]
#[must_use = "dropping the permit ends the turn"]
pub struct RecoveryPermit {
    lease: Arc<Lease>,
    _keeper: Keeper,
}

/// `None` once it was lost.
type Lease = Mutex<Option<OwnedSemaphorePermit>>;

impl RecoveryPermits {
    /// Returns `permits` permits, 0 counting as 1, each waited for at most `timeout`; an error names the operation they
    /// are for. They are looked after on `runtime`, with timer.
    pub fn new(operation: Operation, permits: usize, timeout: Duration, runtime: Handle) -> Self {
        let permits = permits.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            operation,
            permits: Arc::new(Semaphore::new(permits)),
            timeout,
            runtime,
        }
    }

    /// Waits for a turn.
    ///
    /// The future needs a tokio runtime with a timer where it is polled.
    ///
    /// # Errors
    /// [`StorageErrorKind::Timeout`] when none came in time.
    ///
    /// # Cancel safety
    /// A future that is dropped leaves the queue, and a permit it had just been given goes on.
    pub async fn acquire(self) -> Result<RecoveryPermit, StorageError> {
        let pulse = Pulse::of_this_thread();
        let mut turn = Box::pin(Arc::clone(&self.permits).acquire_owned());
        // The place in the queue is taken here, in the order of asking.
        let at_once = std::future::poll_fn(|cx| Poll::Ready(turn.as_mut().poll(cx))).await;
        // A caller that need not wait has its turn without a detour over another thread.
        if let Poll::Ready(permit) = at_once {
            let lease: Arc<Lease> = Arc::new(Mutex::new(permit.ok()));
            let kept = Arc::clone(&lease);
            let keeper = self.runtime.spawn(async move { keep(&kept, &pulse).await });
            return Ok(RecoveryPermit {
                lease,
                _keeper: Keeper(keeper.abort_handle()),
            });
        }
        let (sender, given) = oneshot::channel();
        let keeper = self.runtime.spawn(async move {
            let lease: Arc<Lease> = Arc::new(Mutex::new(turn.await.ok()));
            let kept = Arc::clone(&lease);
            if sender.send(lease).is_ok() {
                keep(&kept, &pulse).await;
            }
        });
        let keeper = Keeper(keeper.abort_handle());
        match tokio::time::timeout(self.timeout, given).await {
            Ok(Ok(lease)) => Ok(RecoveryPermit {
                lease,
                _keeper: keeper,
            }),
            Ok(Err(_)) => Err(
                StorageError::new(StorageErrorKind::Unavailable, self.operation)
                    .with_message("the stores have been closed"),
            ),
            Err(_) => Err(too_late(self.operation, self.timeout)),
        }
    }
}

/// Passes a turn on to the next actor when the arbiter of the one that has it stands still.
async fn keep(lease: &Arc<Lease>, pulse: &Pulse) {
    // Others of a long queue do not wait for what is known.
    if pulse.stands_still() {
        take(lease);
        return;
    }
    loop {
        let beats = pulse.beats();
        tokio::time::sleep(STANDSTILL).await;
        if Arc::strong_count(lease) == 1 {
            return;
        }
        if pulse.beats() == beats {
            pulse.miss(beats);
            tracing::warn!(
                "an arbiter is blocked, the turn of one of its actors to recover goes on to the next"
            );
            take(lease);
            return;
        }
    }
}

fn take(lease: &Lease) -> Option<OwnedSemaphorePermit> {
    // Only ever taken out, so a panic elsewhere leaves nothing half done.
    lease.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl RecoveryPermit {
    /// Returns whether the turn went on to another actor, because this one could not run: to be asked for again before
    /// more is asked of the store.
    pub fn is_lost(&self) -> bool {
        let lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        lease.is_none()
    }
}

impl Drop for RecoveryPermit {
    fn drop(&mut self) {
        take(&self.lease);
    }
}

/// Ends a task that is not waited for any more.
#[derive(Debug)]
struct Keeper(AbortHandle);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn too_late(operation: Operation, timeout: Duration) -> StorageError {
    let message = format!(
        "no turn to recover came within {timeout:?}; raise max-concurrent-recoveries or start fewer actors at once"
    );
    let error = StorageError::new(StorageErrorKind::Timeout, operation).with_message(message);
    if operation.writes() {
        error.not_stored()
    } else {
        error
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::runtime::Builder;

    use super::*;

    fn one_permit(runtime: Handle) -> RecoveryPermits {
        RecoveryPermits::new(Operation::TakeOver, 1, Duration::from_secs(20), runtime)
    }

    #[test]
    fn a_blocked_arbiter_loses_its_turns_to_others() {
        let stores = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let permits = one_permit(stores.handle().clone());
        let (blocked, is_blocked) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let theirs = permits.clone();
        let arbiter = std::thread::spawn(move || {
            let arbiter = Builder::new_current_thread().enable_all().build().unwrap();
            arbiter.block_on(async {
                let permit = theirs.clone().acquire().await.unwrap();
                // One that is blocked while it waits for its turn takes none either.
                let mut waiting = Box::pin(theirs.acquire());
                assert!(futures_util::poll!(&mut waiting).is_pending());
                blocked.send(()).unwrap();
                may_go_on.recv().unwrap();
                assert!(permit.is_lost());
            });
        });
        is_blocked.recv().unwrap();
        let other = Builder::new_current_thread().enable_all().build().unwrap();
        let permit = other.block_on(permits.acquire()).unwrap();
        go_on.send(()).unwrap();
        arbiter.join().unwrap();
        assert!(!permit.is_lost());
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_lasts_as_long_as_its_arbiter_lives() {
        let permits = one_permit(Handle::current());
        let permit = permits.clone().acquire().await.unwrap();
        let error = permits.clone().acquire().await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Timeout);
        assert!(!permit.is_lost());
        drop(permit);
        assert!(permits.acquire().await.is_ok());
    }
}
