//! Work on files, away from the threads that run futures.

use actix_persistence_storage_api::{Operation, StorageError, StorageErrorKind};
use tokio::task::spawn_blocking;

use crate::failure::Failure;

// ANCHOR: blocking
/// Runs the work on a thread where it may block.
///
/// Work that has begun goes on to its end, whatever becomes of the future: a caller that loses patience never leaves
/// half a change on the disk.
pub(crate) async fn blocking<T: Send + 'static>(
    operation: Operation,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, StorageError> {
    match spawn_blocking(work).await {
        Ok(result) => result.map_err(|failure| failure.of(operation)),
        // It panicked, or the runtime ended before it began; the effect stays unknown.
        Err(error) => Err(StorageError::new(StorageErrorKind::Backend, operation)
            .with_message("the work on the files did not end well")
            .with_source(error)),
    }
}
// ANCHOR_END: blocking

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::Effect;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_a_failure_of_unknown_effect() {
        let work = || -> Result<(), Failure> { panic!("a bug") };
        let error = blocking(Operation::WriteMessages, work).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Backend);
        assert_eq!(error.effect(), Some(Effect::Unknown));
    }

    #[tokio::test]
    async fn work_goes_on_when_its_future_is_dropped() {
        let (begun, was_begun) = tokio::sync::oneshot::channel();
        let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
        let (end, ended) = tokio::sync::oneshot::channel();
        let work = blocking(Operation::WriteMessages, move || {
            begun.send(()).unwrap();
            may_go_on.recv().unwrap();
            end.send(()).unwrap();
            Ok(())
        });
        let mut work = Box::pin(work);
        tokio::select! {
            _ = &mut work => unreachable!("it waits"),
            begun = was_begun => begun.unwrap(),
        }
        drop(work);
        go_on.send(()).unwrap();
        ended.await.unwrap();
    }
}
