//! A step from one version of the tables of a store to the next.

use sqlx::SqlStr;

use crate::{BesideWritersTexts, Dialect, SqlNames};

/// A step from one version of the tables of a store to the next, as a plugin lists it.
#[derive(Clone, Copy, Debug)]
pub struct Migration(Way);

#[derive(Clone, Copy, Debug)]
enum Way {
    InTransaction(&'static str),
    BesideWriters(&'static str),
    Index {
        name: &'static str,
        table: &'static str,
        columns: &'static str,
    },
}

impl Migration {
    /// Returns a step that runs in one transaction with those next to it, where definitions do not commit.
    ///
    /// The text has `{keys}` of names in it. Where definitions commit, it can be repeated: nothing undoes it if it breaks off.
    pub const fn in_transaction(sql: &'static str) -> Self {
        Self(Way::InTransaction(sql))
    }

    /// Returns a step of one statement that runs outside a transaction where the database has such statements, while others
    /// write.
    ///
    /// Whatever an interrupted run of it left, it can be run again, as `DROP INDEX CONCURRENTLY IF EXISTS`.
    pub const fn beside_writers(sql: &'static str) -> Self {
        Self(Way::BesideWriters(sql))
    }

    /// Returns a step that makes an index, beside writers where the database can do that; names are given by their keys.
    ///
    /// An index that is there already is not made again, and one that an interrupted run left broken is dropped first.
    pub const fn index(name: &'static str, table: &'static str, columns: &'static str) -> Self {
        Self(Way::Index {
            name,
            table,
            columns,
        })
    }

    pub(super) fn filled<D: Dialect>(self, names: &SqlNames) -> Step {
        match self.0 {
            Way::InTransaction(sql) => Step::in_transaction(names.fill(sql)),
            Way::BesideWriters(sql) => Step {
                beside_writers: D::INDEXES.beside_writers.is_some(),
                index: None,
                sql: names.fill(sql),
            },
            Way::Index {
                name,
                table,
                columns,
            } => {
                let key = |key: &str| format!("{{{key}}}");
                let [name, table] = [name, table].map(|of| names.fill(&key(of)));
                let names = names.clone().text("index", name.as_str());
                Step::index::<D>(&names.text("table", table.as_str()), columns)
            }
        }
    }
}

/// A step with names in it.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) sql: SqlStr,
    /// True if it runs outside a transaction.
    pub(super) beside_writers: bool,
    /// The index that it makes beside writers.
    pub(super) index: Option<IndexStatements>,
}

/// The statements that find what an interrupted run left of an index.
#[derive(Clone, Debug)]
pub(super) struct IndexStatements {
    pub(super) state: SqlStr,
    pub(super) drop: SqlStr,
}

impl Step {
    pub(super) fn in_transaction(sql: SqlStr) -> Self {
        Self {
            sql,
            beside_writers: false,
            index: None,
        }
    }

    /// Makes an index; `{index}` and `{table}` are among the names.
    pub(super) fn index<D: Dialect>(names: &SqlNames, columns: &str) -> Self {
        let statements = |texts: BesideWritersTexts| IndexStatements {
            state: names.fill(texts.index_state),
            drop: names.fill(texts.drop_index),
        };
        Self {
            sql: names.fill_around(D::INDEXES.create, columns),
            beside_writers: D::INDEXES.beside_writers.is_some(),
            index: D::INDEXES.beside_writers.map(statements),
        }
    }
}
