//! Columns of the application beside the states of one entity type.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use actix_persistence_storage_api::{
    AdditionalColumn, ColumnValue, SqlValue, StateChange, StorageErrorKind,
};

use crate::column_type::ColumnType;
use crate::schema::{MoreColumn, has_column};
use crate::session::text_of;
use crate::{Dialect, InvalidOption, SqlError, SqlNames, StateStatements, TableName};

use super::state_table::StateTable;

/// The columns of an entity type, in the order in which they were given.
pub(super) struct Columns<D: Dialect> {
    columns: Vec<Column>,
    /// The database's names of the types of the columns; known after the first look at the table.
    types: OnceLock<Vec<Box<str>>>,
    /// The names of the table.
    names: SqlNames,
    /// The text that every change sets beside them.
    also_set: &'static str,
    /// The statements, by the use of each column.
    statements: Mutex<HashMap<Vec<Part>, Arc<StateStatements>>>,
    dialect: std::marker::PhantomData<fn() -> D>,
}

struct Column {
    name: TableName,
    /// The type with which the store may make it.
    sql_type: Option<ColumnType>,
    code: Arc<dyn AdditionalColumn>,
}

/// Stands for a type that is not known, for a person to replace.
const NO_TYPE: &str = "<type>";

/// The use of a column in a statement.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Kept,
    Cleared,
    /// Gets a value of this type.
    Set(&'static str),
}

/// The values of the columns in one change.
pub(super) struct Bound {
    /// The statements that do it.
    pub(super) statements: Arc<StateStatements>,
    /// The values of the additional columns, in order.
    pub(super) values: Vec<SqlValue>,
}

impl<D: Dialect> Columns<D> {
    /// The statements that change states set their columns, and this.
    ///
    /// # Errors
    /// If a name is not that of a column, there twice, or that of a column of the store.
    pub(super) fn new(
        columns: &[Arc<dyn AdditionalColumn>],
        table: &StateTable<D>,
        also_set: &'static str,
    ) -> Result<Self, InvalidOption> {
        let of_store = table.schema.own_columns();
        let mut named: Vec<Column> = Vec::with_capacity(columns.len());
        for code in columns {
            let text = code.column_name();
            let name = TableName::parse(text).map_err(|message| {
                let message = format!("have a column '{text}', whose name {message}");
                InvalidOption::new("additional-columns", message)
            })?;
            // Whatever the case: not every database distinguishes upper from lower case in names, and where it does, a
            // reader does not.
            if of_store.iter().any(|own| own.eq_ignore_ascii_case(text)) {
                let message = format!(
                    "have a column '{text}', which is one of the store's own; choose another name"
                );
                return Err(InvalidOption::new("additional-columns", message));
            }
            let is_twin = |other: &Column| other.name.as_str().eq_ignore_ascii_case(name.as_str());
            if named.iter().any(is_twin) {
                let message = format!("have two columns '{}'", name.as_str());
                return Err(InvalidOption::new("additional-columns", message));
            }
            let sql_type = code.sql_type(D::NAME).map(ColumnType::parse).transpose();
            let sql_type = sql_type.map_err(|message| {
                let message = format!("have a column '{text}', whose type {message}");
                InvalidOption::new("additional-columns", message)
            })?;
            named.push(Column {
                name,
                sql_type,
                code: Arc::clone(code),
            });
        }
        Ok(Self {
            columns: named,
            types: OnceLock::new(),
            names: table.names.clone(),
            also_set,
            statements: Mutex::default(),
            dialect: std::marker::PhantomData,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Records the columns that the table has, with their types.
    ///
    /// # Errors
    /// If it lacks any.
    pub(super) fn check(
        &self,
        table: &TableName,
        found: &[(String, String)],
    ) -> Result<(), SqlError> {
        let type_of = |column: &Column| {
            let name = column.name.as_str();
            let mut found = found.iter();
            found.find_map(|(other, type_name)| {
                other
                    .eq_ignore_ascii_case(name)
                    .then(|| type_name.as_str().into())
            })
        };
        let missing = self.columns.iter();
        let missing = missing.filter(|column| type_of(column).is_none());
        let missing: Vec<_> = missing.collect();
        if !missing.is_empty() {
            return Err(self.missing(table, &missing));
        }
        let types = self.columns.iter().filter_map(type_of).collect();
        // An application may look again: types that changed meanwhile need a new start.
        let _ = self.types.set(types);
        Ok(())
    }

    /// Returns the columns that are not among those found, and that the store may make.
    pub(super) fn to_be_made(&self, found: &[(String, String)]) -> Vec<MoreColumn> {
        let columns = self.columns.iter();
        let made = columns
            .filter(|column| column.sql_type.is_some() && !has_column(found, column.name.as_str()));
        let made = made.map(|column| MoreColumn {
            name: column.name.clone(),
            add: self.names.fill(&self.adds(column)),
        });
        made.collect()
    }

    /// Returns the statement that adds a column, without the name of the table.
    fn adds(&self, column: &Column) -> String {
        let name = self.names.quoted(&column.name);
        let sql_type = column.sql_type.as_ref().map_or(NO_TYPE, ColumnType::as_str);
        format!("ALTER TABLE {{state_table}} ADD COLUMN {name} {sql_type}")
    }

    /// Says what adds the columns: at the first start of an application the table was made a moment ago.
    fn missing(&self, table: &TableName, missing: &[&Column]) -> SqlError {
        let named = missing.iter();
        let named: Vec<_> = named
            .map(|column| format!("'{}'", column.name.as_str()))
            .collect();
        let statements = missing.iter();
        let statements: Vec<_> = statements
            .map(|column| format!("{};", self.names.fill(&self.adds(column)).as_str()))
            .collect();
        let (why, hint) = if missing.iter().all(|column| column.sql_type.is_some()) {
            (
                "which the store makes only with 'auto-initialize = true'",
                "",
            )
        } else {
            (
                "which the store cannot make because it does not know the type",
                " with the type of the values in the place of <type>",
            )
        };
        SqlError::mismatch(format!(
            "the table '{}' has no column {}, {why}; run {}{hint}, and start again, or take it out of the additional columns",
            table.as_str(),
            named.join(", "),
            statements.join(" "),
        ))
    }

    /// Asks every column what becomes of it.
    ///
    /// # Errors
    /// If one refuses or panics.
    pub(super) fn bind(&self, change: &StateChange<'_>) -> Result<Bound, SqlError> {
        let mut parts = Vec::with_capacity(self.columns.len());
        let mut values = Vec::new();
        let types = self.types.get().map_or(&[][..], Vec::as_slice);
        for (position, column) in self.columns.iter().enumerate() {
            parts.push(match column.value(change)? {
                ColumnValue::Keep => Part::Kept,
                ColumnValue::Set(SqlValue::Null) => Part::Cleared,
                ColumnValue::Set(value) => {
                    if let Some(type_name) = types.get(position) {
                        column.check::<D>(&value, type_name)?;
                    }
                    let part = Part::Set(value.type_name());
                    values.push(value);
                    part
                }
            });
        }
        let statements = self.statements(parts, &values)?;
        Ok(Bound { statements, values })
    }

    fn statements(
        &self,
        parts: Vec<Part>,
        values: &[SqlValue],
    ) -> Result<Arc<StateStatements>, SqlError> {
        let mut known = self
            .statements
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(statements) = known.get(&parts) {
            return Ok(Arc::clone(statements));
        }
        let types = self.types.get().ok_or_else(|| {
            SqlError::refused(StorageErrorKind::Unavailable, "it is not initialised yet")
        })?;
        let statements = Arc::new(self.make_statements(&parts, values, types));
        known.insert(parts, Arc::clone(&statements));
        Ok(statements)
    }

    fn make_statements(
        &self,
        parts: &[Part],
        values: &[SqlValue],
        types: &[Box<str>],
    ) -> StateStatements {
        let (mut columns, mut inserted) = (String::new(), String::new());
        let mut set = self.also_set.to_owned();
        let mut values = values.iter().enumerate();
        for ((column, part), type_name) in self.columns.iter().zip(parts).zip(types) {
            let [for_insert, for_update] = match part {
                Part::Kept => continue,
                Part::Cleared => ["NULL", "NULL"].map(str::to_owned),
                Part::Set(_) => {
                    let (position, value) = values.next().expect("every set column has a value");
                    [OF_INSERT, of_update::<D>()].map(|before| {
                        let placeholder = D::placeholder(before + position + 1);
                        D::cast(&placeholder, value, type_name)
                    })
                }
            };
            let name = self.names.quoted(&column.name);
            columns += &format!(", {name}");
            inserted += &format!(", {for_insert}");
            set += &format!(", {name} = {for_update}");
        }
        let count = parts
            .iter()
            .filter(|part| matches!(part, Part::Set(_)))
            .count();
        let names = self.names.clone();
        statements_with::<D>(names, [&columns, &inserted, &set], count)
    }
}

/// The number of values of the store before those of the columns.
const OF_INSERT: usize = 10;
const fn of_update<D: Dialect>() -> usize {
    if D::ID_FIRST { 9 } else { 8 }
}

/// Returns the statements of a table without columns of the application; those that replace a row set this, too.
pub(super) fn plain_statements<D: Dialect>(names: SqlNames, also_set: &str) -> StateStatements {
    statements_with::<D>(names, ["", "", also_set], 0)
}

fn statements_with<D: Dialect>(names: SqlNames, texts: [&str; 3], count: usize) -> StateStatements {
    let [columns, inserted, set] = texts;
    let after_columns = of_update::<D>() + count + 1;
    let (id_at, before_at) = match D::ID_FIRST {
        true => (1, after_columns),
        false => (after_columns, after_columns + 1),
    };
    let names = names
        .text("more_columns", columns)
        .text("more_values", inserted)
        .text("more_set", set)
        .text("id_at", &D::placeholder(id_at))
        .text("before_at", &D::placeholder(before_at));
    D::state_statements(&names)
}

impl Column {
    /// # Errors
    /// If the column would silently keep something else.
    fn check<D: Dialect>(&self, value: &SqlValue, type_name: &str) -> Result<(), SqlError> {
        if !D::changes(value, type_name) {
            return Ok(());
        }
        let message = format!(
            "the additional column '{}' is of the type {type_name}, which would keep something else than {}; give it a value of \
             that type",
            self.name.as_str(),
            value.type_name(),
        );
        Err(SqlError::refused(StorageErrorKind::Constraint, message))
    }

    fn value(&self, change: &StateChange<'_>) -> Result<ColumnValue, SqlError> {
        let what = || format!("the additional column '{}'", self.name.as_str());
        match catch_unwind(AssertUnwindSafe(|| self.code.bind(change))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(SqlError::Refused {
                kind: StorageErrorKind::Extension,
                message: format!("{} refused", what()),
                source: Some(error),
            }),
            Err(panic) => Err(SqlError::refused(
                StorageErrorKind::Extension,
                format!("{} panicked: {}", what(), text_of(&*panic)),
            )),
        }
    }
}
