//! The ways in which items reach the handler.

use std::collections::HashMap;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use actix_persistence_storage_api::{ExtensionError, Session, SessionWork};
use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};

use crate::source::Source;
use crate::tenure::Tenure;
use crate::{AtLeastOnceHandler, ExactlyOnceHandler, GroupHandler};

/// The way in which items reach the handler.
pub(crate) enum Delivery<S: Source> {
    /// In the transaction that stores the progress.
    InTransaction(Arc<dyn GroupHandler<S::Item>>),
    /// Before the progress is stored, so many ids at the same time.
    Before(Arc<dyn AtLeastOnceHandler<S::Item>>, usize),
}

/// The reason why items were not handled.
#[derive(Debug)]
pub(crate) enum NotHandled {
    /// It was told to stop.
    Stopped,
    /// The handler said no.
    Refused(ExtensionError),
}

/// Hands the items of a group over one by one.
pub(crate) struct OneByOne<H>(pub(crate) H);

#[async_trait]
impl<T: Send + Sync, H: ExactlyOnceHandler<T>> GroupHandler<T> for OneByOne<H> {
    async fn handle_group(
        &self,
        session: &mut dyn Session,
        items: &[T],
    ) -> Result<(), ExtensionError> {
        for item in items {
            self.0.handle(session, item).await?;
        }
        Ok(())
    }
}

impl<S: Source> Delivery<S> {
    /// Returns the work of the transaction for the items of these ranges, none of which is empty; none if they are handled before
    /// it.
    pub(crate) fn work(
        &self,
        items: &Arc<[S::Item]>,
        ranges: &[Range<usize>],
    ) -> Option<SessionWork> {
        let Delivery::InTransaction(handler) = self else {
            return None;
        };
        if ranges.is_empty() {
            return None;
        }
        let (handler, items, ranges) = (Arc::clone(handler), Arc::clone(items), ranges.to_vec());
        Some(SessionWork::new(move |session| {
            Box::pin(async move {
                for range in ranges {
                    handler.handle_group(session, &items[range]).await?;
                }
                Ok(())
            })
        }))
    }

    /// Handles the items before the transaction, if that is the way: those of one id in order, those of several at the same
    /// time.
    ///
    /// Once it is told to stop, no further item is handed over, and those that are under way end. None is handed over while the
    /// lease is over either: another process may have the share.
    pub(crate) async fn before(
        &self,
        items: Vec<&S::Item>,
        tenure: &Tenure,
    ) -> Result<(), NotHandled> {
        let Delivery::Before(handler, concurrency) = self else {
            return Ok(());
        };
        let mut of_ids: Vec<Vec<&S::Item>> = Vec::new();
        let mut places = HashMap::new();
        for item in items {
            let place = *places
                .entry(S::persistence_id(item))
                .or_insert(of_ids.len());
            match of_ids.get_mut(place) {
                Some(of_id) => of_id.push(item),
                None => of_ids.push(vec![item]),
            }
        }
        let handled: Vec<BoxFuture<'_, _>> = of_ids
            .into_iter()
            .map(|items| handle_all(&**handler, items, tenure.clone()).boxed())
            .collect();
        // All of them end before the first error is reported: a repetition must not run beside what is left of this one.
        let ends: Vec<Result<(), NotHandled>> = stream::iter(handled)
            .buffer_unordered((*concurrency).max(1))
            .collect()
            .await;
        ends.into_iter().collect()
    }
}

/// Handles the items of one id, in order.
async fn handle_all<T: Send + Sync + 'static>(
    handler: &dyn AtLeastOnceHandler<T>,
    items: Vec<&T>,
    mut tenure: Tenure,
) -> Result<(), NotHandled> {
    for item in items {
        if !tenure.lasts().await {
            return Err(NotHandled::Stopped);
        }
        let handled = handle(handler, item).await;
        handled.map_err(NotHandled::Refused)?;
    }
    Ok(())
}

/// Handles one item; a panic becomes an error.
async fn handle<T: Send + Sync + 'static>(
    handler: &dyn AtLeastOnceHandler<T>,
    item: &T,
) -> Result<(), ExtensionError> {
    match AssertUnwindSafe(handler.handle(item)).catch_unwind().await {
        Ok(result) => result,
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "it did not say why".to_owned());
            Err(format!("the handler panicked: {text}").into())
        }
    }
}
