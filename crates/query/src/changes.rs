//! The stream of changes.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;

use actix_persistence_persistent_actor::{Serializers, State};
use actix_persistence_storage_api::{
    ChangedState, StateChangesPage, StateChangesQuery, StorageError,
};

use crate::live::Live;
use crate::page_size::PageSize;
use crate::pages::Pages;
use crate::{Changed, QueryError};

/// The place up to which changes were read.
pub(crate) struct Changes<S> {
    pages: Arc<Pages>,
    serializers: Serializers,
    query: StateChangesQuery,
    page_size: PageSize,
    read: VecDeque<ChangedState>,
    /// The live part of a query that goes on after the last change.
    live: Option<Live>,
    /// True if another page is to be read before it ends, or waits.
    more: bool,
    ended: bool,
    states: PhantomData<fn() -> S>,
}

impl<S: State> Changes<S> {
    pub(crate) fn current(
        pages: Arc<Pages>,
        serializers: Serializers,
        query: StateChangesQuery,
    ) -> Self {
        Self {
            pages,
            serializers,
            page_size: PageSize::new(query.limit),
            query,
            read: VecDeque::new(),
            live: None,
            more: true,
            ended: false,
            states: PhantomData,
        }
    }

    pub(crate) fn live(
        pages: Arc<Pages>,
        serializers: Serializers,
        query: StateChangesQuery,
    ) -> Self {
        let live = Some(Live::new(&pages));
        Self {
            live,
            ..Self::current(pages, serializers, query)
        }
    }

    pub(crate) async fn next(&mut self) -> Option<Result<Changed<S>, QueryError>> {
        while !self.ended {
            if let Some(change) = self.read.front() {
                let decoded = Changed::decode(change, &self.serializers);
                if let (Err(error), Some(live)) = (&decoded, &mut self.live)
                    && error.is_transient()
                {
                    live.wait_after(error, &self.pages).await;
                    continue;
                }
                self.read.pop_front();
                self.ended = decoded.is_err();
                return Some(decoded);
            }
            if !self.more {
                let live = self.live.as_mut()?;
                live.wait(&self.pages).await;
                self.more = true;
            }
            if let Err(error) = self.read().await {
                self.ended = true;
                return Some(Err(error.into()));
            }
        }
        None
    }

    /// Reads the next page of changes.
    async fn read(&mut self) -> Result<(), StorageError> {
        let page = self.read_or_wait().await?;
        let StateChangesPage {
            changes,
            offset,
            more,
            ..
        } = page;
        if let Some(live) = &mut self.live {
            live.has_read(!changes.is_empty());
        }
        self.read = changes.into();
        self.query.after = offset;
        self.more = more;
        Ok(())
    }

    async fn read_or_wait(&mut self) -> Result<StateChangesPage, StorageError> {
        loop {
            if let Some(live) = &mut self.live {
                live.about_to_read();
            }
            self.query.limit = self.page_size.now();
            let page = self.pages.changes(self.query.clone()).await;
            match (page, &mut self.live) {
                (Ok(page), _) => {
                    self.page_size.grow();
                    return Ok(page);
                }
                // The same page would take as long again.
                (Err(error), live) if self.page_size.shrinks_after(&error) => {
                    if let Some(live) = live {
                        live.wait_after(&error, &self.pages).await;
                    }
                }
                (Err(error), Some(live)) if error.kind().is_transient() => {
                    live.wait_after(&error, &self.pages).await;
                }
                (Err(error), _) => return Err(error),
            }
        }
    }
}
