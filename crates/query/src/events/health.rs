//! The health of the live queries of a journal.

use std::time::Duration;

use actix_persistence_storage_api::{BoundHolder, Operation, StorageError, StorageErrorKind};

use super::EventQuery;
use crate::QueryError;
use crate::store::event_queries;

/// The health of the live queries that share an [`EventTail`](crate::EventTail).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventQueryHealth {
    /// The time since one of them last read a page, even an empty one; `None` if none ever has. While any is polled it stays
    /// below the shortest `refresh-interval` and the time of a look, unless the database is in trouble.
    pub last_cycle: Option<Duration>,
    /// The transactions under way that hold readers back, the oldest first; `None` if the user of the database may not see them.
    pub held_back_by: Option<Vec<BoundHolder>>,
}

impl EventQueryHealth {
    /// Returns the age of the oldest transaction that holds readers back: what was confirmed since may be unread. Zero if there is
    /// none, or if the database does not tell.
    pub fn bound_age(&self) -> Duration {
        let holders = self.held_back_by.iter().flatten();
        let ages = holders.filter_map(|holder| holder.age);
        ages.max().unwrap_or_default()
    }
}

impl EventQuery {
    /// Returns the transactions under way that hold readers back, the oldest first.
    ///
    /// On PostgreSQL these are transactions that store events, or announced that they would, with the number of the process
    /// of the server and the name of the program; on MySQL and MariaDB those that hold a counter for which another writer
    /// waits, which needs the privilege `PROCESS`. On SQLite and in memory there are none.
    ///
    /// # Errors
    /// The errors of the journal.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn bound_holders(&self) -> Result<Vec<BoundHolder>, QueryError> {
        let operation = Operation::QueryEvents;
        let holders = self.pages().call(operation, move |journal| async move {
            event_queries(&*journal, operation)?.bound_holders().await
        });
        let holders: Result<_, StorageError> = holders.await;
        Ok(holders?)
    }

    /// Returns when the live queries that share the tail of this one last read, and what holds readers back now.
    ///
    /// # Errors
    /// The errors of the journal, but for the refusal to show transactions.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn health(&self) -> Result<EventQueryHealth, QueryError> {
        let held_back_by = match self.bound_holders().await {
            Ok(holders) => Some(holders),
            Err(QueryError::Store(error)) if error.kind() == StorageErrorKind::AccessDenied => None,
            Err(error) => return Err(error),
        };
        let last_read = self.tail().last_read();
        let last_cycle = last_read.map(|read| self.pages().now().duration_since(read));
        Ok(EventQueryHealth {
            last_cycle,
            held_back_by,
        })
    }
}
