//! The stream of ids.

use std::collections::VecDeque;
use std::sync::Arc;

use actix_persistence_storage_api::{PersistenceId, PersistenceIdsQuery};

use crate::QueryError;
use crate::pages::Pages;

/// The place up to which ids were read.
pub(crate) struct Ids {
    pages: Arc<Pages>,
    query: PersistenceIdsQuery,
    read: VecDeque<PersistenceId>,
    ended: bool,
}

impl Ids {
    pub(crate) fn new(pages: Arc<Pages>, query: PersistenceIdsQuery) -> Self {
        Self {
            pages,
            query,
            read: VecDeque::new(),
            ended: false,
        }
    }

    pub(crate) async fn next(&mut self) -> Option<Result<PersistenceId, QueryError>> {
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
