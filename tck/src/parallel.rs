//! Running things at the same time.

use std::future::Future;

use tokio::task::JoinSet;

use crate::failure::Failure;

/// Runs the futures as tasks of their own and returns their results in the order of the futures.
///
/// The first failure ends all of them.
pub(crate) async fn in_parallel<F, T>(
    futures: impl IntoIterator<Item = F>,
) -> Result<Vec<T>, Failure>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Send + 'static,
{
    let mut tasks = JoinSet::new();
    for (place, future) in futures.into_iter().enumerate() {
        tasks.spawn(async move { future.await.map(|result| (place, result)) });
    }
    let mut results = Vec::with_capacity(tasks.len());
    while let Some(joined) = tasks.join_next().await {
        results.push(joined.map_err(Failure::of_task)??);
    }
    results.sort_by_key(|&(place, _)| place);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Starts the future and drops it after it was polled at most `polls` times; `Some` if it ended before.
///
/// That is what a caller does that loses patience; other tasks run between two polls.
pub(crate) async fn poll_and_drop<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = Box::pin(future);
    for _ in 0..polls {
        if let std::task::Poll::Ready(result) = futures_util::poll!(future.as_mut()) {
            return Some(result);
        }
        tokio::task::yield_now().await;
    }
    None
}
