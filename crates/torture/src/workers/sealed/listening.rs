//! Follows what a process publishes, and the changes of states of all processes.

use std::future::poll_fn;

use actix_persistence::error::ErrorChain;
use actix_persistence::prelude::*;
use actix_persistence::query::{Changed, QueryError, StateOffset};
use futures_util::StreamExt;

use super::facts::{Form, Keep};
use super::held::ENTITY;
use super::keys::querying;
use super::trouble::is_of_lost_key;
use crate::workers::{count, fault};

/// Looks at each event that is published: it has the metadata of its command.
pub(super) async fn to_events<E: Form>(persistence: Persistence) {
    let mut events = persistence.events::<E>();
    while let Some(published) = events.next().await {
        let Ok(published) = published else {
            count("events missed");
            continue;
        };
        let (id, number) = (published.persistence_id, published.sequence_nr);
        if let Err(sentence) = published.event.seen().uid(&published.metadata) {
            fault(format!("event {number} of {id}, as published: {sentence}"));
        }
        count("events published");
    }
}

/// Looks at each change, which is all that decoding it does; it goes on whatever the keys and the database do.
pub(super) async fn to_changes(persistence: Persistence) {
    let queries = match persistence.state_queries(None) {
        Ok(queries) => queries,
        Err(error) => return fault(error.to_string()),
    };
    let from_start = || queries.changes_by_slices::<Keep>(ENTITY, 0..=1023, StateOffset::start());
    let mut changes = from_start();
    loop {
        let next = poll_fn(|cx| querying(|| changes.poll_next_unpin(cx)));
        let Some(change) = next.await else {
            break;
        };
        match change {
            Ok(Changed::Updated(updated)) if updated.state.0.is_none() => {
                count("changes without keys");
            }
            Ok(_) => count("changes"),
            Err(error @ QueryError::DecodeState { .. }) if is_of_lost_key(&error) => {
                count("changes without a lost key");
                changes = from_start();
            }
            Err(error) => fault(format!("a query failed: {}", ErrorChain(&error))),
        }
    }
}
