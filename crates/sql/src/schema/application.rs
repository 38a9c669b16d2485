//! The steps of an application, which make its own tables.

use actix_persistence_storage_api::{SchemaChange, SchemaStep, SchemaSteps, StorageErrorKind};

use sqlx::SqlSafeStr;

use super::migration::Step;
use super::{Owner, StoreSchema};
use crate::names::of_application;
use crate::row::{get_integer, get_text};
use crate::session::{Kind, kind_of};
use crate::values::Values;
use crate::{
    ConnectionOf, Dialect, InvalidOption, Piece, Quoting, SqlError, SqlNames, SqlxDatabase,
    TableName, pieces,
};

/// The longest name of steps: the version table has it within 64 bytes.
const LONGEST_NAME: usize = 40;

/// The steps of an application by their name, with a sum over each.
#[derive(Debug)]
pub(super) struct Application {
    pub(super) name: String,
    /// The component of the version table.
    pub(super) component: String,
    /// The sums over the texts of the steps, as they are noted.
    sums: Vec<String>,
}

/// Stands in place of a version from the beginning of a step until the step is known to have ended.
const BEGUN: i64 = 0;

impl<D: Dialect> StoreSchema<D> {
    /// Makes the schema of the application's own tables.
    ///
    /// # Errors
    /// If a name or a step cannot be used.
    pub(crate) fn application(names: SqlNames, steps: &SchemaSteps) -> Result<Self, InvalidOption> {
        let name = steps.name();
        let mistake = |message: String| {
            InvalidOption::of_program(format!("the schema steps '{name}' {message}"))
        };
        check_name(name).map_err(mistake)?;
        if steps.steps().is_empty() {
            return Err(mistake("are none; add one".to_owned()));
        }
        let tables = steps.tables().iter().map(|table| {
            TableName::parse(table)
                .map_err(|message| mistake(format!("name a table '{table}', whose name {message}")))
        });
        let tables = tables.collect::<Result<Vec<_>, _>>()?;
        let filled = steps.steps().iter().enumerate().map(|(position, step)| {
            filled::<D>(&names, step)
                .map_err(|message| mistake(format!("have a step {} that {message}", position + 1)))
        });
        let filled = filled.collect::<Result<Vec<_>, _>>()?;
        let (filled, sums) = filled.into_iter().unzip();
        let application = Application {
            name: name.to_owned(),
            component: format!("application: {name}"),
            sums,
        };
        Ok(Self::of(
            Owner::Application(application),
            tables,
            filled,
            names,
        ))
    }
}

impl Application {
    /// Returns the key of a step in the version table.
    fn key(&self, version: usize) -> String {
        format!("{}/{version}", self.component)
    }

    /// Returns the number of steps that have run.
    ///
    /// # Errors
    /// If there are more than the program has, or others.
    pub(super) async fn applied<D: Dialect>(
        &self,
        schema: &StoreSchema<D>,
        connection: &mut ConnectionOf<D>,
    ) -> Result<usize, SqlError> {
        let mut applied = 0;
        for (version, sum) in self.notes(schema, connection).await? {
            if version == BEGUN {
                continue;
            }
            applied += 1;
            let name = &self.name;
            if version > self.sums.len() as i64 {
                return Err(SqlError::mismatch(format!(
                    "step {version} of the schema steps '{name}' has run in this database, and this program has {}; use a \
                     newer program",
                    self.sums.len()
                )));
            }
            if version != applied as i64 {
                return Err(SqlError::mismatch(format!(
                    "step {version} of the schema steps '{name}' has run in this database, and step {applied} before it has \
                     not; see who changed 'actix_persistence_schema', or restore a backup"
                )));
            }
            if sum != self.sums[applied - 1] {
                return Err(SqlError::mismatch(format!(
                    "step {version} of the schema steps '{name}' is not the one that has run in this database; let it be what \
                     it was, and add a step after the last one for what is to change"
                )));
            }
        }
        Ok(applied)
    }

    /// Fails with what has not run.
    pub(super) fn refused(&self, applied: usize) -> SqlError {
        let (first, last) = (applied + 1, self.sums.len());
        let steps = match first == last {
            true => format!("step {last} of the schema steps '{}' has", self.name),
            false => format!(
                "the steps {first} to {last} of the schema steps '{}' have",
                self.name
            ),
        };
        SqlError::mismatch(format!(
            "{steps} not run in this database; set 'auto-initialize = true' once, or run what the command 'schema' of a \
             program with these steps prints"
        ))
    }

    /// Runs a step in the transaction, and notes it there.
    ///
    /// On a database whose definitions commit, a note before it says that it begins. If the process ends before the note that it
    /// has run, the next start runs it again, and takes what is there already for its work. Rows that a step changes are stored
    /// with its note or not at all.
    pub(super) async fn run<D: Dialect>(
        &self,
        schema: &StoreSchema<D>,
        connection: &mut ConnectionOf<D>,
        version: usize,
    ) -> Result<(), SqlError> {
        let sql = schema.steps[version - 1].sql.clone();
        if D::DEFINITIONS_COMMIT {
            // A definition of the step before has ended the transaction.
            D::Database::run(connection, D::COMMIT.into_sql_str()).await?;
            D::Database::run(connection, D::BEGIN.into_sql_str()).await?;
        }
        let was_begun =
            D::DEFINITIONS_COMMIT && self.was_begun(schema, connection, version).await?;
        if D::DEFINITIONS_COMMIT && !was_begun {
            self.note(schema, connection, version, BEGUN).await?;
        }
        let Err(error) = D::Database::run(connection, sql)
            .await
            .map_err(SqlError::from)
        else {
            return self.note_run(schema, connection, version).await;
        };
        if was_begun && error.reported().is_some_and(D::is_made_already) {
            tracing::info!(
                steps = self.name,
                version,
                "a step had run when it was interrupted"
            );
            return self.note_run(schema, connection, version).await;
        }
        if D::DEFINITIONS_COMMIT && !was_begun && error.reported().is_some() {
            // It has not run, and what is there already is not its work. If the session has ended, it may have run.
            let _ = self.forget(schema, connection, version).await;
        }
        Err(self.failed::<D>(version, error))
    }

    /// Returns the error of a step.
    pub(super) fn failed<D: Dialect>(&self, version: usize, error: SqlError) -> SqlError {
        let step = format!("step {version} of the schema steps '{}' failed", self.name);
        match error {
            SqlError::Driver(sqlx::Error::Database(error)) => {
                let class = D::error_class(&*error);
                let may_pass = class.kind != StorageErrorKind::Backend && class.kind.is_transient();
                let (kind, message) = match class.kind {
                    kind if may_pass || kind == StorageErrorKind::AccessDenied => {
                        (kind, format!("{step}: {}", class.message))
                    }
                    _ => (StorageErrorKind::SchemaMismatch, step),
                };
                SqlError::Refused {
                    kind,
                    message,
                    source: Some(D::source(error)),
                }
            }
            error => error.about(format_args!("{step}")),
        }
    }

    /// Notes that a step has run.
    pub(super) async fn note_run<D: Dialect>(
        &self,
        schema: &StoreSchema<D>,
        connection: &mut ConnectionOf<D>,
        version: usize,
    ) -> Result<(), SqlError> {
        self.note(schema, connection, version, version as i64).await
    }

    /// Returns the values of a note that a step has run, for a person.
    pub(super) fn noted_by_hand(&self, version: usize) -> String {
        let (key, sum) = (self.key(version), &self.sums[version - 1]);
        format!("('{key}', '{sum}', '{}', {version})", self.component)
    }

    /// Returns whether this step was begun, with the text that it has now: only a step that has not run can be.
    async fn was_begun<D: Dialect>(
        &self,
        schema: &StoreSchema<D>,
        connection: &mut ConnectionOf<D>,
        version: usize,
    ) -> Result<bool, SqlError> {
        let begun = (BEGUN, self.sums[version - 1].clone());
        Ok(self.notes(schema, connection).await?.contains(&begun))
    }

    /// Returns versions and sums, in order.
    async fn notes<D: Dialect>(
        &self,
        schema: &StoreSchema<D>,
        connection: &mut ConnectionOf<D>,
    ) -> Result<Vec<(i64, String)>, SqlError> {
        if !schema.has_versions(connection).await? {
            return Ok(Vec::new());
        }
        let mut values = Values::<D>::with_capacity(1);
        values.text(&self.component);
        let sql = schema.versions.select_steps.clone();
        let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
        rows.iter()
            .map(|row| Ok((get_integer::<D>(row, 0)?, get_text::<D>(row, 1)?)))
            .collect()
    }

    async fn note<D: Dialect>(
        &self,
        schema: &StoreSchema<D>,
        connection: &mut ConnectionOf<D>,
        version: usize,
        noted: i64,
    ) -> Result<(), SqlError> {
        let (key, sum) = (self.key(version), &self.sums[version - 1]);
        schema
            .set_version(connection, &key, sum, &self.component, noted)
            .await
    }

    async fn forget<D: Dialect>(
        &self,
        schema: &StoreSchema<D>,
        connection: &mut ConnectionOf<D>,
        version: usize,
    ) -> Result<(), SqlError> {
        let mut values = Values::<D>::with_capacity(1);
        values.text(&self.key(version));
        let sql = schema.versions.forget.clone();
        D::Database::execute(connection, sql, values.into_arguments()).await?;
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let begins_well = name.starts_with(|first: char| first.is_ascii_lowercase());
    let is_of_name =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if begins_well && name.chars().all(is_of_name) && name.len() <= LONGEST_NAME {
        return Ok(());
    }
    Err(format!(
        "have a name that must be a small letter and up to {} more small letters, digits, '-' and '_' of ASCII",
        LONGEST_NAME - 1
    ))
}

/// Returns the statement of a step, and the sum over what the application has written of it; the message of a mistake
/// continues "a step that ..".
fn filled<D: Dialect>(names: &SqlNames, step: &SchemaStep) -> Result<(Step, String), String> {
    match step.change(D::NAME) {
        SchemaChange::Index {
            name,
            table,
            columns,
        } => {
            let parse = |what: &str, text: &str| {
                let parsed = TableName::parse(text);
                parsed.map_err(|message| format!("has {what} '{text}', whose name {message}"))
            };
            let (index, of) = (parse("an index", &name)?, parse("a table", &table)?);
            if columns.as_str().trim().is_empty() {
                return Err(format!("makes the index '{name}' of no column"));
            }
            let names = names.clone().plain("index", &index).table("table", &of);
            let sum = sum_of(&format!("index {name} {table} {}", columns.as_str()));
            Ok((Step::index::<D>(&names, columns.as_str()), sum))
        }
        SchemaChange::Sql(sql) => {
            let text = sql.as_str();
            check_text::<D>(text)?;
            let statement = of_application(text.to_owned());
            Ok((Step::in_transaction(statement), sum_of(text)))
        }
        _ => Err("is of a kind that this plugin does not know".to_owned()),
    }
}

fn check_text<D: Dialect>(sql: &str) -> Result<(), String> {
    let number = number_of_statements(sql, D::QUOTING);
    if number == 0 {
        return Err(format!("has no statement on {}", D::NAME));
    }
    for statement in statements_to_check(sql, D::QUOTING) {
        let what = match kind_of(&statement, D::QUOTING, D::DEFINITIONS_COMMIT) {
            Kind::OfTransactions => "begins or ends a transaction, or locks tables",
            Kind::OfSessions => "changes the session",
            Kind::Streams => "sends or takes data",
            Kind::Rows | Kind::Commits | Kind::Other => continue,
        };
        return Err(format!("has a statement on {} that {what}", D::NAME));
    }
    if D::DEFINITIONS_COMMIT && number > 1 && !is_of_statements(sql) {
        return Err(format!(
            "has {number} statements on {}, where those that define tables commit; let each be a step of its own",
            D::NAME
        ));
    }
    Ok(())
}

/// Returns the statements of a text, each to be checked by itself; the whole text where it is divided later, or is one
/// statement that consists of others.
fn statements_to_check(sql: &str, quoting: Quoting) -> Vec<String> {
    // On PostgreSQL the body is quoted unless it is atomic.
    let is_one = || quoting == Quoting::Mysql || sql.to_ascii_uppercase().contains("ATOMIC");
    if quoting == Quoting::Sqlite || (is_of_statements(sql) && is_one()) {
        return vec![sql.to_owned()];
    }
    let mut statements = vec![String::new()];
    for piece in pieces(sql, quoting) {
        match piece {
            Piece::Other(";") => statements.push(String::new()),
            Piece::Quoted(text) | Piece::Other(text) => {
                let last = statements.last_mut().expect("there is always one");
                last.push_str(text);
            }
            Piece::Placeholder(_) => {}
        }
    }
    statements
}

/// Returns the number of statements, as far as they are told by semicolons.
fn number_of_statements(sql: &str, quoting: Quoting) -> usize {
    let (mut number, mut is_in_statement) = (0, false);
    for piece in pieces(sql, quoting) {
        match piece {
            Piece::Other(";") => is_in_statement = false,
            Piece::Other(text) if text.chars().all(char::is_whitespace) => {}
            Piece::Quoted(text)
                if ["--", "/*", "#"]
                    .iter()
                    .any(|begin| text.starts_with(begin)) => {}
            _ if is_in_statement => {}
            _ => {
                is_in_statement = true;
                number += 1;
            }
        }
    }
    number
}

/// Returns whether one statement may consist of others, as that which creates a trigger: it creates nothing else before.
fn is_of_statements(sql: &str) -> bool {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = sql
        .split(|c| !is_of_word(c))
        .filter(|word| !word.is_empty());
    let mut words = words.map(str::to_ascii_uppercase);
    let is_object = |word: &String| OF_STATEMENTS.contains(&&**word) || OTHERS.contains(&&**word);
    words.next().is_some_and(|first| first == "CREATE")
        && words
            .find(is_object)
            .is_some_and(|object| OF_STATEMENTS.contains(&&*object))
}

/// The objects whose definitions consist of statements.
const OF_STATEMENTS: [&str; 4] = ["TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"];
/// The other objects that may be created; a name like one of the first comes after them.
const OTHERS: [&str; 14] = [
    "TABLE",
    "INDEX",
    "VIEW",
    "DATABASE",
    "SCHEMA",
    "SEQUENCE",
    "SERVER",
    "USER",
    "ROLE",
    "TYPE",
    "DOMAIN",
    "EXTENSION",
    "STATISTICS",
    "PACKAGE",
];

/// Returns the sum over a text, whatever white space stands between its words: line ends differ between systems.
fn sum_of(text: &str) -> String {
    let mut sum = crc32fast::Hasher::new();
    for word in text.split_whitespace() {
        sum.update(word.as_bytes());
        sum.update(b" ");
    }
    format!("crc32 {:08x}", sum.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_counted_without_comments_and_quotes() {
        for (sql, number) in [
            ("", 0),
            (" ; -- a; b\n/* c; */ ;", 0),
            ("INSERT INTO t VALUES (';')", 1),
            ("SELECT 1; SELECT 2;", 2),
        ] {
            assert_eq!(number_of_statements(sql, Quoting::Mysql), number, "{sql}");
        }
        assert!(is_of_statements(
            "CREATE DEFINER = a TRIGGER b BEFORE INSERT ON c BEGIN SELECT 1; END"
        ));
        for several in [
            "CREATE TABLE a (b INT); SELECT 1",
            "CREATE TABLE order_event (id BIGINT); CREATE TABLE order_line (id BIGINT)",
            "CREATE TABLE event (id BIGINT); CREATE TABLE line (id BIGINT)",
        ] {
            assert!(!is_of_statements(several), "{several}");
        }
    }

    #[test]
    fn names_are_plain() {
        for good in ["a", "orders", "my-orders_2", &"x".repeat(40)] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "Orders",
            "1",
            "-a",
            "a b",
            "a'",
            "a/1",
            "ä",
            &"x".repeat(41),
        ] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn white_space_is_not_a_part_of_a_step() {
        assert_eq!(
            sum_of("CREATE TABLE t\r\n (a INT)\n"),
            sum_of("CREATE TABLE t (a INT)")
        );
        assert_ne!(
            sum_of("CREATE TABLE t (a INT)"),
            sum_of("CREATE TABLE ta (INT)")
        );
    }
}
