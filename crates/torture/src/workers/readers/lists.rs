//! Asks for the states that there are, by every query that returns them as they are now.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence::storage_api::PersistenceIdsQuery;
use actix_persistence::{
    Revision,
    query::{FindStates, FindStatesError, PersistenceIdsStream, QueryError},
};
use actix_persistence_history::{Answer, Done, Entry, Listed, Operation, Uid};
use anyhow::Context;
use fastrand::Rng;
use futures_util::StreamExt;
use tokio::time::sleep;

use super::{KEPT, NEW, Process};
use crate::workers::count;
use crate::workers::kept::KeptState;

/// The time between two lists: each costs as much as there is.
const PAUSE: Duration = Duration::from_millis(300);
/// The largest number of states that are asked for at once.
const LARGEST_PAGE: usize = 300;

/// Lists again and again, until the process is asked to end.
pub(super) async fn list(process: Arc<Process>, mut rng: Rng) -> anyhow::Result<()> {
    let queries = process.persistence.state_queries(None)?;
    while !process.is_told_to_end() {
        let limit = rng.usize(1..=LARGEST_PAGE);
        let entity_type = if rng.bool() { NEW } else { KEPT };
        let of_type = PersistenceIdsQuery::new(limit).of_entity_type(entity_type);
        let choice = rng.u8(..4);
        let (query, prefix) = match choice {
            0 => ("all ids", String::new()),
            1 => ("ids of a type", format!("{entity_type}|")),
            2 => ("ids with deleted ones", format!("{entity_type}|")),
            _ => ("states of a type", format!("{entity_type}|")),
        };
        let call = process.scribe.invoke(Operation::List {
            query: query.to_owned(),
            ids: None,
            prefix,
        });
        let listed = match choice {
            0 => ids(queries.current_persistence_ids()).await?,
            1 => ids(queries.current_persistence_ids_of(entity_type)).await?,
            2 => ids(queries.persistence_ids(of_type.with_tombstones())).await?,
            _ => {
                find(
                    &process,
                    FindStates::new(entity_type, "revision >= $1", [1_i64.into()], limit),
                )
                .await?
            }
        };
        let answer = match listed {
            Some(entries) => {
                count("lists");
                Answer::Ok(Done::Listed(Listed { entries }))
            }
            None => {
                count("reads begun again");
                Answer::Failed
            }
        };
        process.scribe.answer(call, answer);
        sleep(PAUSE).await;
    }
    Ok(())
}

/// Returns the ids; `None` after trouble of the database.
async fn ids(mut ids: PersistenceIdsStream) -> anyhow::Result<Option<Vec<Entry>>> {
    let mut entries = Vec::new();
    while let Some(id) = ids.next().await {
        match id {
            Ok(id) => entries.push(Entry {
                id: id.to_string(),
                number: 0,
                uid: None,
            }),
            Err(QueryError::Store(error)) if error.kind().is_transient() => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(entries))
}

/// Returns the states, page by page; `None` after trouble of the database.
async fn find(process: &Process, mut query: FindStates) -> anyhow::Result<Option<Vec<Entry>>> {
    let mut entries = Vec::new();
    loop {
        let found = process
            .persistence
            .find_states::<KeptState>(None, query.clone());
        let found = match found.await {
            Ok(found) => found,
            Err(FindStatesError::Storage(error)) if error.kind().is_transient() => {
                return Ok(None);
            }
            Err(error) => return Err(error).context("states cannot be found"),
        };
        let Some(last) = found.last() else {
            return Ok(Some(entries));
        };
        query = query.after(last.persistence_id.clone());
        entries.extend(found.into_iter().map(|found| {
            let number: Revision = found.revision;
            Entry {
                id: found.persistence_id.to_string(),
                number,
                uid: Some(Uid(found.state.uid)),
            }
        }));
    }
}
