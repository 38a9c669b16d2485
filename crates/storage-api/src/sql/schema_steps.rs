//! The application's own tables in the database of a state store, step by step.

use std::sync::Arc;

use crate::Sql;

/// The steps that make the application's own tables in the database of a state store: those that its change handlers and
/// transactions use.
///
/// Step `n` makes version `n` of them. A store that makes its tables, as `auto-initialize` says, runs the steps that have
/// not run yet, each once, before its first change; otherwise a step that has not run is an error. Several processes may
/// start at once. A step that has run is never changed, left out or moved: what is new is a further step at the end.
///
/// ```
/// use actix_persistence_storage_api::{SchemaStep, SchemaSteps};
///
/// let steps = SchemaSteps::new(
///     "orders",
///     [
///         SchemaStep::new("CREATE TABLE customer_order (id BIGINT PRIMARY KEY, customer VARCHAR(50) NOT NULL)"),
///         SchemaStep::new("ALTER TABLE customer_order ADD COLUMN note TEXT")
///             .on("mysql", "ALTER TABLE customer_order ADD COLUMN note LONGTEXT"),
///         SchemaStep::index("order_by_customer", "customer_order", "customer"),
///     ],
/// );
/// let steps = steps.with_tables(["customer_order"]);
/// assert_eq!((steps.name(), steps.steps().len()), ("orders", 3));
/// ```
#[derive(Clone, Debug)]
pub struct SchemaSteps {
    name: Arc<str>,
    state_store: Option<Arc<str>>,
    tables: Vec<String>,
    steps: Vec<SchemaStep>,
}

impl SchemaSteps {
    /// Makes the steps with this name, which tells them from others in the same database: a small letter of ASCII, and up to 39
    /// more small letters, digits, `-` and `_`.
    pub fn new(name: &str, steps: impl IntoIterator<Item = SchemaStep>) -> Self {
        Self {
            name: name.into(),
            state_store: None,
            tables: Vec::new(),
            steps: steps.into_iter().collect(),
        }
    }

    /// Returns the same steps for the database of the state store with this plugin id, instead of that of the default one.
    #[must_use]
    pub fn in_state_store(mut self, plugin_id: &str) -> Self {
        self.state_store = Some(plugin_id.into());
        self
    }

    /// Returns the same steps with the names of the tables that are there after the last one.
    ///
    /// A table of these that is missing is an error at the start, as after an incomplete restore. The printed statements grant
    /// the application's role the use of these tables.
    #[must_use]
    pub fn with_tables<'t>(mut self, tables: impl IntoIterator<Item = &'t str>) -> Self {
        self.tables = tables.into_iter().map(str::to_owned).collect();
        self
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the plugin id of the state store; none for the default one.
    pub fn state_store(&self) -> Option<&str> {
        self.state_store.as_deref()
    }

    /// Returns the names of the tables that are there after the last step.
    pub fn tables(&self) -> &[String] {
        &self.tables
    }

    /// Returns the steps, in order.
    pub fn steps(&self) -> &[SchemaStep] {
        &self.steps
    }
}

/// A step from one version of the application's own tables to the next.
#[derive(Clone, Debug)]
pub struct SchemaStep {
    everywhere: SchemaChange,
    others: Vec<(&'static str, Sql)>,
}

/// The change that a step makes in one database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaChange {
    /// Runs a text of one or several statements, in a transaction with the note that they have run. On MySQL and MariaDB the
    /// text is one statement. One that defines tables commits there, before it is noted: if it was interrupted, the next start
    /// looks whether it has run.
    Sql(Sql),
    /// Makes an index, while others write: on PostgreSQL `CONCURRENTLY`, on MySQL and MariaDB with `LOCK = NONE`.
    Index {
        /// The name of the index, an identifier.
        name: String,
        /// The name of the table, an identifier.
        table: String,
        /// The columns, as they stand between parentheses.
        columns: Sql,
    },
}

impl SchemaStep {
    /// Makes a step of SQL that is the same on every database for which [`on`](Self::on) gives no other one.
    ///
    /// Tables whose schema it leaves out are those in the schema of the store, as in a [`Session`](crate::Session). What begins
    /// or ends a transaction, or changes the session, is refused.
    pub fn new(sql: impl Into<Sql>) -> Self {
        Self {
            everywhere: SchemaChange::Sql(sql.into()),
            others: Vec::new(),
        }
    }

    /// Makes a step that makes an index of a table, beside writers: however large the table is, nobody waits for it but who
    /// opens the store. The columns are what stands between the parentheses.
    ///
    /// An index of that name that the table has already is taken for it. An interrupted one goes on: what is left of it is
    /// dropped, and the index made again.
    pub fn index(name: &str, table: &str, columns: impl Into<Sql>) -> Self {
        Self {
            everywhere: SchemaChange::Index {
                name: name.to_owned(),
                table: table.to_owned(),
                columns: columns.into(),
            },
            others: Vec::new(),
        }
    }

    /// Returns the same step with other SQL on a database, by the name that [`Session::database`](crate::Session::database)
    /// returns: `sqlite`, `postgres` or `mysql`.
    #[must_use]
    pub fn on(mut self, database: &'static str, sql: impl Into<Sql>) -> Self {
        self.others.retain(|(other, _)| *other != database);
        self.others.push((database, sql.into()));
        self
    }

    /// Returns the change that it makes on a database.
    pub fn change(&self, database: &str) -> SchemaChange {
        let mut others = self.others.iter();
        match others.find(|(other, _)| *other == database) {
            Some((_, sql)) => SchemaChange::Sql(sql.clone()),
            None => self.everywhere.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_has_its_own_text_if_one_was_given() {
        let step = SchemaStep::index("i", "t", "a").on("mysql", "ANALYZE TABLE t");
        let step = step.on("mysql", "OPTIMIZE TABLE t");
        assert_eq!(
            step.change("mysql"),
            SchemaChange::Sql("OPTIMIZE TABLE t".into())
        );
        assert!(matches!(step.change("sqlite"), SchemaChange::Index { .. }));
    }
}
