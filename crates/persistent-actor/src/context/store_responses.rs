//! The answers of the stores that an actor waits for.

use std::task::{Context, Poll};

use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};

use crate::StoreResponse;

type Responses = FuturesOrdered<LocalBoxFuture<'static, StoreResponse>>;

/// The answers that are to come from the two stores, in the order of the requests to each, in which it answers.
///
/// While there are none it takes the room of a pointer.
#[derive(Default)]
pub(crate) struct StoreResponses(Option<Box<Queues>>);

#[derive(Default)]
struct Queues {
    journal: Responses,
    snapshot_store: Responses,
}

impl StoreResponses {
    pub(crate) fn of_journal(&mut self, response: impl Future<Output = StoreResponse> + 'static) {
        let queues = self.0.get_or_insert_default();
        queues.journal.push_back(response.boxed_local());
    }

    pub(crate) fn of_snapshot_store(
        &mut self,
        response: impl Future<Output = StoreResponse> + 'static,
    ) {
        let queues = self.0.get_or_insert_default();
        queues.snapshot_store.push_back(response.boxed_local());
    }

    /// Returns the number of missing answers.
    pub(crate) fn len(&self) -> usize {
        let queues = self.0.as_deref();
        queues.map_or(0, |queues| {
            queues.journal.len() + queues.snapshot_store.len()
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the next answer, if it is there.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Option<StoreResponse> {
        let queues = self.0.as_deref_mut()?;
        let answer = [&mut queues.journal, &mut queues.snapshot_store]
            .into_iter()
            .find_map(|responses| match responses.poll_next_unpin(cx) {
                Poll::Ready(response) => response,
                Poll::Pending => None,
            });
        if self.is_empty() {
            self.0 = None;
        }
        answer
    }

    /// Waits for all answers although no actor is left to receive them: a request is dropped with its asker before it
    /// has reached its store, and saves and deletes were promised to happen.
    pub(crate) async fn finish(self) {
        let Some(queues) = self.0 else {
            return;
        };
        let Queues {
            journal,
            snapshot_store,
        } = *queues;
        futures_util::join!(
            journal.for_each(|_| std::future::ready(())),
            snapshot_store.for_each(|_| std::future::ready(())),
        );
    }
}
