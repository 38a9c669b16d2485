//! The answers of the stores that an actor waits for.

use std::task::{Context, Poll};

use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};

use crate::StoreResponse;

type Responses = FuturesOrdered<LocalBoxFuture<'static, StoreResponse>>;

/// The answers that are to come from the two stores, in the order of the requests to each, in which it answers.
#[derive(Default)]
pub(crate) struct StoreResponses {
    journal: Responses,
    snapshot_store: Responses,
}

impl StoreResponses {
    pub(crate) fn of_journal(&mut self, response: impl Future<Output = StoreResponse> + 'static) {
        self.journal.push_back(response.boxed_local());
    }

    pub(crate) fn of_snapshot_store(
        &mut self,
        response: impl Future<Output = StoreResponse> + 'static,
    ) {
        self.snapshot_store.push_back(response.boxed_local());
    }

    /// Returns the number of missing answers.
    pub(crate) fn len(&self) -> usize {
        self.journal.len() + self.snapshot_store.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the next answer, if it is there.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Option<StoreResponse> {
        [&mut self.journal, &mut self.snapshot_store]
            .into_iter()
            .find_map(|responses| match responses.poll_next_unpin(cx) {
                Poll::Ready(response) => response,
                Poll::Pending => None,
            })
    }

    /// Waits for all answers although no actor is left to receive them: a request is dropped with its asker before it
    /// has reached its store, and saves and deletes were promised to happen.
    pub(crate) async fn finish(self) {
        futures_util::join!(
            self.journal.for_each(|_| std::future::ready(())),
            self.snapshot_store.for_each(|_| std::future::ready(())),
        );
    }
}
