//! The health of a projection in this process, and of what it reads.

use std::time::Duration;

use actix_persistence_query::{EventQueryHealth, QueryError};

use crate::{Projection, ProjectionStatus};

/// The health of a projection in this process, and of what it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProjectionHealth {
    /// The state of the projection, as this process sees it.
    pub status: ProjectionStatus,
    /// The health of the live queries over the events that it reads; `None` for changes of durable states, whose stores do not
    /// tell.
    pub reading: Option<EventQueryHealth>,
}

impl ProjectionHealth {
    /// Returns the age of the bound: of the oldest transaction that holds readers back. Events that were confirmed since may
    /// not have reached the projection, however healthy it is.
    ///
    /// It is zero if no transaction does. It is `None` if that is not known: for changes of durable states, if the user of the
    /// database may not see transactions, and if the database does not tell the age of any that it shows.
    pub fn bound_age(&self) -> Option<Duration> {
        let holders = self.reading.as_ref()?.held_back_by.as_ref()?;
        let ages = holders.iter().filter_map(|holder| holder.age);
        match ages.max() {
            None if !holders.is_empty() => None,
            age => Some(age.unwrap_or_default()),
        }
    }
}

impl Projection {
    /// Returns the [status](Self::status), and asks the journal when its live queries last read and what holds readers back
    /// now.
    ///
    /// # Errors
    /// The errors of the journal, but for the refusal to show transactions.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn health(&self) -> Result<ProjectionHealth, QueryError> {
        let reading = self.places.health().await?;
        let status = self.status();
        Ok(ProjectionHealth { status, reading })
    }
}
