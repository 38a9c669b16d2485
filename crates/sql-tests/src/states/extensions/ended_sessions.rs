//! Change handlers whose session the server ends.

use std::sync::Arc;

use actix_persistence_storage_api::{StateExtensions, StorageErrorKind};
use tokio::sync::Semaphore;

use super::crowds::Held;
use super::with_handler;
use crate::OnServer;
use crate::states::{revision_of, state, store};

/// A server may end a session while a handler waits for something else: the error is that of the server, which counts for the
/// circuit breaker, and not one of the handler. For servers.
///
/// # Panics
/// If the handler is blamed, or if it is not certain that nothing is stored.
pub async fn a_session_that_ends_under_a_handler_is_trouble_of_the_server(tables: &dyn OnServer) {
    let [begun, may_end] = [(); 2].map(|()| Arc::new(Semaphore::new(0)));
    let states = tables
        .open_with_handlers(&with_handler(Held {
            begun: Arc::clone(&begun),
            may_end: Arc::clone(&may_end),
        }))
        .await;
    let write = tokio::spawn({
        let states = Arc::clone(&states);
        async move { states.upsert(state("a", 1)).await }
    });
    begun.acquire().await.expect("it is open").forget();
    tables.end_sessions().await;
    may_end.add_permits(2);
    let error = write.await.expect("no panic");
    let error = error.expect_err("its session is gone");
    assert_eq!(error.kind(), StorageErrorKind::Unavailable, "{error:?}");
    assert!(error.is_not_stored(), "{error:?}");
    // Other sessions of the first store may still be dying.
    let plain = tables.open_with_handlers(&StateExtensions::default()).await;
    assert_eq!(revision_of(&*plain, "a").await, 0);
    store(&*plain, state("a", 1)).await;
}
