//! The part of a dialect that stores several states at once.

use std::fmt;

use actix_persistence_storage_api::{PersistenceId, Revision};

use super::{ConnectionOf, Driver};
use crate::{Opening, SqlError, SqlNames, StateRow};

/// The work of a state store that each database does in statements of its own.
pub trait StateDialect: Driver {
    /// The statements that store rows of one table together.
    type StateQueries: fmt::Debug + Send + Sync + 'static;

    /// The statements that store rows of one table together.
    fn state_queries(names: &SqlNames) -> Self::StateQueries;

    /// Stores each row if the revision before its own is the one of its id, and gives all that are stored their places in the
    /// order of commits.
    ///
    /// Returns the ids that lost, of which nothing is stored, with the revision that was found; it may be the expected one if
    /// others were in between. Where a [journal appends by one statement](crate::JournalDialect::ONE_STATEMENT) this is one, too;
    /// elsewhere it begins its transaction if that is due.
    ///
    /// # Errors
    /// If the database refuses a row, does not answer, or leaves a row as it is; then the caller must not commit.
    fn store_states(
        connection: &mut ConnectionOf<Self>,
        queries: &Self::StateQueries,
        rows: StateRows<'_>,
        opening: Opening,
    ) -> impl Future<Output = Result<Vec<(PersistenceId, Revision)>, SqlError>> + Send;
}

/// Rows of different ids of one table, without columns of the application.
///
/// They are locked in this order by everybody, so that two transactions never wait for each other: first those that replace
/// another one, then those that are the first of their ids.
#[derive(Debug)]
pub struct StateRows<'r> {
    /// The rows above revision 1, in the order of their ids.
    pub next: Vec<&'r StateRow>,
    /// The rows of revision 1, in the order of their ids.
    pub first: Vec<&'r StateRow>,
}

impl<'r> StateRows<'r> {
    /// Returns all rows, in their order.
    pub fn all(&self) -> impl ExactSizeIterator<Item = &'r StateRow> + Clone {
        let (next, first) = (&self.next, &self.first);
        (0..next.len() + first.len()).map(move |place| match next.get(place) {
            Some(row) => *row,
            None => first[place - next.len()],
        })
    }
}
