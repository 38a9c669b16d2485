//! A handler that is an actor.

use std::sync::Arc;

use actix::{Message, Recipient};
use actix_persistence_storage_api::ExtensionError;
use async_trait::async_trait;

use crate::AtLeastOnceHandler;

/// An event or a change that a projection hands to an actor, whose answer says that it is done with it.
#[derive(Debug)]
pub struct Project<T>(pub Arc<T>);

impl<T> Message for Project<T> {
    type Result = Result<(), ExtensionError>;
}

/// Asks an actor to handle each item, and waits for its answer.
pub(crate) struct ToActor<T: Send + Sync + 'static>(pub(crate) Recipient<Project<T>>);

#[async_trait]
impl<T: Clone + Send + Sync + 'static> AtLeastOnceHandler<T> for ToActor<T> {
    async fn handle(&self, item: &T) -> Result<(), ExtensionError> {
        let item = Arc::new(item.clone());
        // An actor that has stopped answers no more: the projection must be told so.
        self.0.send(Project(item)).await?
    }
}
