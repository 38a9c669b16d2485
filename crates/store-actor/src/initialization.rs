//! Tries to initialise a store until it works.

use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;

use actix_persistence_storage_api::{BackOff, Operation, StorageError, StorageErrorKind};

use crate::call::CallEnd;
use crate::store_service::{StoreService, route};

const SHORTEST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(2);

/// Attempts with growing delays in between until one works, then opens the gate.
///
/// Ends with the service, which it does not keep alive. Dropped at any moment, even unpolled, it answers every request.
pub(crate) fn initialize<S: StoreService>(
    service: Weak<S>,
    timeout: Duration,
) -> impl Future<Output = ()> + Send {
    // Made here, because an async body that is never polled makes nothing.
    let abandoned = Abandoned(service);
    async move {
        let Abandoned(service) = &abandoned;
        run(service, timeout).await;
    }
}

async fn run<S: StoreService>(service: &Weak<S>, timeout: Duration) {
    let impatience = async {
        tokio::time::sleep(timeout).await;
        if let Some(service) = service.upgrade() {
            service.gate().lose_patience(timeout);
        }
        std::future::pending().await
    };
    tokio::select! {
        // Every run of a simulation decides alike.
        biased;
        () = attempts(service, timeout) => {}
        () = impatience => {}
    }
}

async fn attempts<S: StoreService>(service: &Weak<S>, timeout: Duration) {
    let mut back_off = BackOff::new(SHORTEST_DELAY, LONGEST_DELAY, 0.2);
    loop {
        let Some(call) = service.upgrade().map(|service| service.initialize()) else {
            return;
        };
        let result = match call.within(timeout).await {
            CallEnd::InTime(result) => result,
            CallEnd::Late(late) => Err(late.error()),
        };
        let Some(service) = service.upgrade() else {
            return;
        };
        match result {
            Ok(()) => {
                service.gate().open(|request| route(&*service, request));
                return service.health().initialized();
            }
            Err(error) => failed(&service, error, back_off.attempts()),
        }
        drop(service);
        tokio::time::sleep(back_off.next_delay()).await;
    }
}

fn failed<S: StoreService>(service: &Arc<S>, error: StorageError, attempts: u32) {
    if error.kind().is_transient() {
        service.health().failed(&error);
    } else {
        let store = service.gate().name();
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        tracing::error!(store, attempts, %error, cause, "initializing failed");
    }
    service.gate().attempt_failed(error);
}

/// Answers every request when the runtime ends before the store is ready; does nothing to an open gate.
struct Abandoned<S: StoreService>(Weak<S>);

impl<S: StoreService> Drop for Abandoned<S> {
    fn drop(&mut self) {
        if let Some(service) = self.0.upgrade() {
            let error = StorageError::new(StorageErrorKind::Unavailable, Operation::Initialize)
                .with_message("the runtime of the stores has ended");
            service.gate().abandon(error);
        }
    }
}
