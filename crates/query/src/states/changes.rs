//! The stream of changes.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use actix_persistence_persistent_actor::{Serializers, State};
use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::{ChangedState, Operation, StateChangesQuery, StateOffset};
use futures_util::Stream;

use crate::pages::Pages;
use crate::reading::{Page, Reading, Source, Then};
use crate::store::state_queries;
use crate::{Changed, QueryError};

/// Changes; after an error nothing comes any more. [`QueryError::DecodeState`] has the offset from which another query goes on.
pub struct ChangesStream<S> {
    changes: Reading<StateChanges>,
    serializers: Serializers,
    states: PhantomData<fn() -> S>,
}

impl<S> ChangesStream<S> {
    pub(crate) fn new(
        pages: Arc<Pages<StateHandle>>,
        serializers: Serializers,
        query: StateChangesQuery,
        is_live: bool,
    ) -> Self {
        let at = query.after.clone();
        Self {
            changes: Reading::new(pages, StateChanges { query, is_live }, at, is_live),
            serializers,
            states: PhantomData,
        }
    }

    /// Returns the offset from which another query goes on after all that this stream has given or passed over.
    pub fn offset(&self) -> &StateOffset {
        self.changes.offset()
    }
}

impl<S: State> Stream for ChangesStream<S> {
    type Item = Result<Changed<S>, QueryError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self {
            changes,
            serializers,
            ..
        } = &mut *self;
        let mut decoded = None;
        let record = changes.poll_record(cx, &mut |change| {
            decoded = Some(Changed::decode(change, serializers)?);
            Ok(true)
        });
        Poll::Ready(match ready!(record) {
            Some(Ok(_)) => decoded.map(Ok),
            Some(Err(error)) => Some(Err(error)),
            None => None,
        })
    }
}

/// Shows the offset only.
impl<S> fmt::Debug for ChangesStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangesStream")
            .field("offset", self.offset())
            .finish_non_exhaustive()
    }
}

/// The changes of a state store.
struct StateChanges {
    query: StateChangesQuery,
    is_live: bool,
}

impl Source for StateChanges {
    type Store = StateHandle;
    type Record = ChangedState;
    type Offset = StateOffset;

    async fn read(
        &mut self,
        pages: &Arc<Pages<StateHandle>>,
        limit: usize,
    ) -> Result<Page<Self>, QueryError> {
        let operation = Operation::StateChanges;
        self.query.limit = limit;
        let query = self.query.clone();
        let page = pages.call(operation, move |store| async move {
            state_queries(&*store, operation)?.changes(query).await
        });
        let page = page.await?;
        self.query.after.clone_from(&page.offset);
        Ok(Page {
            records: page.changes.into(),
            end: page.offset,
            then: match page.more {
                true => Then::ReadOn,
                false if self.is_live => Then::Wait,
                false => Then::End,
            },
        })
    }

    fn after(change: &ChangedState) -> StateOffset {
        change.offset.clone()
    }
}
