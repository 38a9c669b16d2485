//! A table of states.

use std::sync::Arc;

use crate::schema::{MoreColumn, StoreSchema};
use crate::{Dialect, InvalidOption, SqlNames, StateStatements, TableName};

use super::columns::plain_statements;
use super::find::Conditions;

/// A table of states with what belongs to it: its statements, its versions, and what numbers its rows.
///
/// All of them have the same columns and the same versions, whatever their name.
#[derive(Debug)]
pub(super) struct StateTable<D: Dialect> {
    pub(super) name: TableName,
    pub(super) names: SqlNames,
    /// The statements that leave columns of the application as they are.
    pub(super) statements: Arc<StateStatements>,
    /// The statements that store several rows together, which do so, too.
    pub(super) queries: Arc<D::StateQueries>,
    pub(super) schema: Arc<StoreSchema<D>>,
    pub(super) conditions: Conditions,
}

impl<D: Dialect> StateTable<D> {
    /// Makes the statements and settings for the table of states with this name.
    ///
    /// # Errors
    /// If a setting cannot be used.
    pub(super) fn new(options: &D::Options, table: &TableName) -> Result<Self, InvalidOption> {
        let names = D::names(options)?
            .plain("state_index", &table.index("changed"))
            .table("state_table", table)
            .table("state_ordering_table", &table.index(ORDERING))
            .table("state_removed_table", &table.index(REMOVED));
        Ok(Self {
            statements: Arc::new(plain_statements::<D>(names.clone(), "")),
            queries: Arc::new(D::state_queries(&names)),
            schema: Arc::new(StoreSchema::state_table(names.clone(), table)),
            name: table.clone(),
            conditions: Conditions::default(),
            names,
        })
    }

    /// Returns the schema of the table with these columns of the application.
    pub(super) fn schema_with(&self, columns: Vec<MoreColumn>) -> StoreSchema<D> {
        StoreSchema::state_table(self.names.clone(), &self.name).with_columns(columns)
    }
}

/// The suffix of the table that numbers the rows of a table of states.
pub(crate) const ORDERING: &str = "ordering";
/// The suffix of the table that keeps the highest number of removed rows.
const REMOVED: &str = "removed";
