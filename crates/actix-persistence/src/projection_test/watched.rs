//! A handler whose calls a test sees, and some of which fail.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_persistence_persistent_actor::Event;
use actix_persistence_projection::{AtLeastOnceHandler, ExactlyOnceHandler, GroupHandler};
use actix_persistence_query::EventEnvelope;
use actix_persistence_storage_api::{ExtensionError, Session};
use async_trait::async_trait;

use super::HandlerCall;

/// A handler whose calls are written down.
pub(super) struct Watched<H> {
    handler: H,
    calls: Calls,
    /// The numbers of the calls that fail, from 1.
    refused: BTreeSet<usize>,
}

/// The calls of a handler; clones share them.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<Mutex<Vec<HandlerCall>>>);

impl<H> Watched<H> {
    pub(super) fn new(handler: H, refused: BTreeSet<usize>) -> Self {
        Self {
            handler,
            calls: Calls::default(),
            refused,
        }
    }

    pub(super) fn calls(&self) -> Calls {
        self.calls.clone()
    }

    /// Writes down the end of a call, which fails if the handler has, or if the test says so.
    fn ends(&self, place: usize, end: Result<(), ExtensionError>) -> Result<(), ExtensionError> {
        let number = place + 1;
        let end = end.and_then(|()| match self.refused.contains(&number) {
            true => Err(format!("the test refuses call {number}").into()),
            false => Ok(()),
        });
        let error = end.as_ref().err().map(ToString::to_string);
        self.calls.lock()[place].error = error;
        end
    }
}

impl Calls {
    /// Returns the calls that were made by now.
    pub(super) fn made(&self) -> Vec<HandlerCall> {
        self.lock().clone()
    }

    /// Writes down the beginning of a call, and returns its place.
    fn begins<E>(&self, items: &[EventEnvelope<E>]) -> usize {
        let mut calls = self.lock();
        let events = items.iter();
        calls.push(HandlerCall {
            events: events
                .map(|item| (item.persistence_id.clone(), item.sequence_nr))
                .collect(),
            error: Some("the call has not come to its end".to_owned()),
        });
        calls.len() - 1
    }

    fn lock(&self) -> MutexGuard<'_, Vec<HandlerCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl<E: Event, H: ExactlyOnceHandler<EventEnvelope<E>>> ExactlyOnceHandler<EventEnvelope<E>>
    for Watched<H>
{
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &EventEnvelope<E>,
    ) -> Result<(), ExtensionError> {
        let place = self.calls.begins(std::slice::from_ref(item));
        self.ends(place, self.handler.handle(session, item).await)
    }
}

#[async_trait]
impl<E: Event, H: GroupHandler<EventEnvelope<E>>> GroupHandler<EventEnvelope<E>> for Watched<H> {
    async fn handle_group(
        &self,
        session: &mut dyn Session,
        items: &[EventEnvelope<E>],
    ) -> Result<(), ExtensionError> {
        let place = self.calls.begins(items);
        self.ends(place, self.handler.handle_group(session, items).await)
    }
}

#[async_trait]
impl<E: Event, H: AtLeastOnceHandler<EventEnvelope<E>>> AtLeastOnceHandler<EventEnvelope<E>>
    for Watched<H>
{
    async fn handle(&self, item: &EventEnvelope<E>) -> Result<(), ExtensionError> {
        let place = self.calls.begins(std::slice::from_ref(item));
        self.ends(place, self.handler.handle(item).await)
    }
}
