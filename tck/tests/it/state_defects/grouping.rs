//! Defects of changes that come together.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_storage_api::{StateStore, StateWrite, StorageError};
use async_trait::async_trait;
use tokio::task::yield_now;

use crate::broken_state_store::{StateDefect, force};

type Outcomes = Result<Vec<Result<(), StorageError>>, StorageError>;

/// Defines a defect of groups.
macro_rules! defect {
    ($(#[$doc:meta])* $name:ident, ($inner:ident, $changes:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl StateDefect for $name {
            async fn write_group(&self, $inner: &MemoryStateStore, $changes: Vec<StateWrite>) -> Outcomes $body
        }
    };
}

defect! {
    /// Says nothing of what was refused.
    TellsOnlyWinners,
    (inner, changes) {
        let outcomes = inner.write_group(changes).await?;
        Ok(outcomes.into_iter().filter(Result::is_ok).collect())
    }
}

defect! {
    /// Ends at the first change that is refused.
    EndsAtALoser,
    (inner, changes) {
        let mut outcomes = Vec::new();
        for change in changes {
            let outcome = change.make_in(inner).await;
            let has_lost = outcome.is_err();
            outcomes.push(outcome);
            if has_lost {
                break;
            }
        }
        Ok(outcomes)
    }
}

defect! {
    /// Sorts by id, and forgets which outcome is whose.
    MixesOutcomes,
    (inner, changes) {
        let mut changes = changes;
        changes.sort_by(|one, other| one.persistence_id().cmp(other.persistence_id()));
        changes.reverse();
        inner.write_group(changes).await
    }
}

defect! {
    /// Writes a group in two halves: first the revisions, then the states.
    WritesGroupsInHalves,
    (inner, changes) {
        let mut halves = Vec::new();
        for change in &changes {
            if let StateWrite::Upsert(update) = change {
                let mut half = update.clone();
                half.payload.bytes.truncate(update.payload.len() / 2);
                halves.push(StateWrite::Upsert(half));
            }
        }
        let outcomes = inner.write_group(halves).await?;
        for _ in 0..20 {
            yield_now().await;
        }
        for (change, outcome) in changes.into_iter().zip(&outcomes) {
            match change {
                StateWrite::Upsert(update) if outcome.is_ok() => force(inner, update).await?,
                _ => {}
            }
        }
        Ok(outcomes)
    }
}

defect! {
    /// One multi-row statement that takes each id once: of several changes only the last one is made.
    TakesEachIdOnce,
    (inner, changes) {
        let mut seen = HashSet::new();
        let number = changes.len();
        let last: Vec<_> = changes
            .into_iter()
            .rev()
            .filter(|change| seen.insert(change.persistence_id().clone()))
            .collect();
        for change in last.into_iter().rev() {
            match change {
                StateWrite::Upsert(update) => force(inner, update).await?,
                delete => delete.make_in(inner).await?,
            }
        }
        Ok((0..number).map(|_| Ok(())).collect())
    }
}

/// Confirms a group that it makes with the next one.
#[derive(Clone, Default)]
pub(crate) struct ConfirmsBeforeItStores {
    late: Arc<Mutex<Vec<StateWrite>>>,
}

#[async_trait]
impl StateDefect for ConfirmsBeforeItStores {
    async fn write_group(&self, inner: &MemoryStateStore, changes: Vec<StateWrite>) -> Outcomes {
        let number = changes.len();
        let late = std::mem::replace(&mut *self.late.lock().unwrap(), changes);
        inner.write_group(late).await?;
        Ok((0..number).map(|_| Ok(())).collect())
    }
}
