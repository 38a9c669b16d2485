//! The streams of ids.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use actix_persistence_storage_api::{PersistenceId, PersistenceIdsQuery};

use futures_util::stream::unfold;
use futures_util::{Stream, StreamExt};

use crate::QueryError;
use crate::pages::Pages;
use crate::store::Queried;

/// Ids, until the last or an error.
pub type PersistenceIdsStream =
    Pin<Box<dyn Stream<Item = Result<PersistenceId, QueryError>> + Send>>;

/// The place up to which ids were read.
struct Ids<H> {
    pages: Arc<Pages<H>>,
    query: PersistenceIdsQuery,
    read: VecDeque<PersistenceId>,
    ended: bool,
}

impl<H: Queried> Pages<H> {
    /// Returns the query for all ids that are not deleted, in pages as they are set.
    pub(crate) fn ids_query(&self) -> PersistenceIdsQuery {
        PersistenceIdsQuery::new(self.settings.page_size)
    }

    /// Returns the ids that `query` selects; its limit 0 counts as 1.
    pub(crate) fn ids_stream(
        self: Arc<Self>,
        mut query: PersistenceIdsQuery,
    ) -> PersistenceIdsStream {
        query.limit = query.limit.max(1);
        let ids = Ids {
            pages: self,
            query,
            read: VecDeque::new(),
            ended: false,
        };
        let ids = unfold(ids, |mut ids| async move {
            ids.next().await.map(|id| (id, ids))
        });
        Box::pin(ids.fuse())
    }
}

impl<H: Queried> Ids<H> {
    async fn next(&mut self) -> Option<Result<PersistenceId, QueryError>> {
        if self.read.is_empty() && !self.ended {
            match self.pages.ids(self.query.clone()).await {
                Ok(ids) => {
                    self.ended = ids.len() < self.query.limit;
                    self.query.after = ids.last().cloned();
                    self.read = ids.into();
                }
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error.into()));
                }
            }
        }
        self.read.pop_front().map(Ok)
    }
}
