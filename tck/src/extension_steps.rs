//! The steps of which the cases for extensions of state stores are made.

use std::sync::{Arc, Mutex, PoisonError};

use actix_persistence_storage_api::{
    AdditionalColumn, ChangeHandler, ChangeKind, ColumnValue, EntityExtensions, ExtensionError,
    FindStates, PersistenceId, Session, SessionWork, Sql, SqlRow, SqlStates, SqlValue, StateChange,
    StateExtensions, StateStore, StorageError, StorageErrorKind, WriterId,
};
use async_trait::async_trait;

use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::state_steps::refused;
use crate::subject::Subject;

/// A table of states of its own for the entity type of a case, with a column, and a table of counts beside it.
pub(crate) struct Site {
    subject: Subject<dyn StateStore>,
    /// The form in which a store gets it.
    table: String,
    /// The name of the table of states, as statements name it.
    pub(crate) states: String,
    /// The name of the table of counts, as statements name it.
    pub(crate) counts: String,
    /// The name of a table that is not there yet.
    pub(crate) values: String,
}

/// A text that SQL could take for its own.
pub(crate) const ENTITY_TYPE: &str = "Po%t_'\"\\";

/// The only row of the table of counts.
const COUNT: &str = "all";

impl Site {
    /// Makes the tables.
    pub(crate) async fn make(subject: Subject<dyn StateStore>) -> Result<Self, Failure> {
        let table = format!("tck_{}", WriterId::random().to_string().replace('-', ""));
        let counts = format!("{table}_counts");
        let site = Self {
            states: table.clone(),
            counts,
            values: format!("{table}_values"),
            table,
            subject,
        };
        let store = site.open(|_| {}).await?;
        for sql in [
            format!("ALTER TABLE {} ADD COLUMN title TEXT", site.states),
            format!(
                "ALTER TABLE {} ADD COLUMN stars INTEGER DEFAULT 3",
                site.states
            ),
            format!(
                "CREATE TABLE {} (name VARCHAR(100) PRIMARY KEY, n BIGINT NOT NULL)",
                site.counts
            ),
            format!(
                "INSERT INTO {} (name, n) VALUES ('{COUNT}', 0)",
                site.counts
            ),
        ] {
            run(&*store, sql).await?;
        }
        Ok(site)
    }

    /// Opens a store with this for the entity type; its table is that of the site.
    pub(crate) async fn open(
        &self,
        extend: impl FnOnce(&mut EntityExtensions),
    ) -> Result<Arc<dyn StateStore>, Failure> {
        let store = self.open_uninitialised(extend).await?;
        store.initialize().await?;
        Ok(store)
    }

    /// Opens a store, but does not initialise it.
    pub(crate) async fn open_uninitialised(
        &self,
        extend: impl FnOnce(&mut EntityExtensions),
    ) -> Result<Arc<dyn StateStore>, Failure> {
        let mut extensions = StateExtensions::default();
        let entity_type = extensions.entity_type(ENTITY_TYPE);
        entity_type.table = Some(self.table.clone());
        extend(entity_type);
        self.subject.open_with(extensions).await
    }

    /// Opens a store with this handler.
    pub(crate) async fn open_handled(
        &self,
        handler: impl ChangeHandler + 'static,
    ) -> Result<Arc<dyn StateStore>, Failure> {
        self.open(|extensions| extensions.change_handler = Some(Arc::new(handler)))
            .await
    }

    /// A handler that counts what this returns for each change.
    pub(crate) fn counting(&self, by: fn(&StateChange<'_>) -> i64) -> Counting {
        Counting {
            counts: self.counts.clone(),
            by,
        }
    }

    pub(crate) async fn count(&self, store: &dyn StateStore) -> Result<i64, Failure> {
        let sql = format!("SELECT n FROM {} WHERE name = '{COUNT}'", self.counts);
        let rows = select(store, sql, Vec::new()).await?;
        expect_eq("rows", rows.len(), 1)?;
        Ok(rows[0].get::<i64>("n")?)
    }

    pub(crate) async fn expect_count(&self, store: &dyn StateStore, expected: i64) -> CaseResult {
        expect_eq("count", self.count(store).await?, expected)
    }

    /// Expects these values in the columns of the row of an id.
    pub(crate) async fn expect_columns(
        &self,
        store: &dyn StateStore,
        id: &PersistenceId,
        title: Option<&str>,
        stars: Option<i64>,
    ) -> CaseResult {
        let sql = format!(
            "SELECT title, stars FROM {} WHERE persistence_id = $1",
            self.states
        );
        let rows = select(store, sql, vec![id.as_str().into()]).await?;
        expect_eq("rows", rows.len(), 1)?;
        let found: Option<String> = rows[0].get("title")?;
        expect_eq("title", found.as_deref(), title)?;
        expect_eq("stars", rows[0].get::<Option<i64>>("stars")?, stars)
    }
}

/// Returns an id of the entity type.
pub(crate) fn post(id: impl std::fmt::Display) -> PersistenceId {
    PersistenceId::of(ENTITY_TYPE, &id.to_string())
}

/// Returns the contract of a store that declares `sql_session`.
pub(crate) fn sql(store: &dyn StateStore) -> Result<&dyn SqlStates, Failure> {
    store.sql().ok_or_else(|| {
        Failure::new("expected SQL over the states, as the capability sql_session says")
    })
}

/// Runs a statement in a transaction of its own.
pub(crate) async fn run(store: &dyn StateStore, text: String) -> CaseResult {
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            session.execute(Sql::assert_safe(text), []).await?;
            Ok(())
        })
    });
    sql(store)?.transact(work).await?;
    Ok(())
}

/// Runs a statement for its rows.
pub(crate) async fn select(
    store: &dyn StateStore,
    text: String,
    values: Vec<SqlValue>,
) -> Result<Vec<SqlRow>, Failure> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let out = Arc::clone(&found);
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            let rows = session.select(Sql::assert_safe(text), values).await?;
            *out.lock().unwrap_or_else(PoisonError::into_inner) = rows;
            Ok(())
        })
    });
    sql(store)?.transact(work).await?;
    let found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(found)
}

/// The ids of the states for which a condition holds.
pub(crate) async fn found(
    store: &dyn StateStore,
    condition: &'static str,
    values: Vec<SqlValue>,
) -> Result<Vec<PersistenceId>, Failure> {
    let query = FindStates::new(ENTITY_TYPE, condition, values, 100);
    let states = sql(store)?.find(query).await?;
    Ok(states
        .into_iter()
        .map(|state| state.persistence_id)
        .collect())
}

/// Expects that code of the application was the reason, and that certainly nothing was stored; returns the error.
pub(crate) fn expect_extension_refused(
    result: Result<(), StorageError>,
) -> Result<StorageError, Failure> {
    let error = refused(result)?;
    expect_eq("kind", error.kind(), StorageErrorKind::Extension)?;
    Ok(error)
}

/// Statements that end transactions on every database.
pub(crate) const ENDINGS: &[&[&str]] = &[
    &["COMMIT"],
    &["ROLLBACK"],
    &["/* so that nobody sees it */ ROLLBACK"],
    &["ROLLBACK", "BEGIN"],
    &["COMMIT", "BEGIN"],
];

/// Runs statements, and succeeds or fails then.
pub(crate) async fn end(
    session: &mut dyn Session,
    statements: &'static [&'static str],
    fails: bool,
) -> Result<(), ExtensionError> {
    for statement in statements {
        session.execute(*statement, []).await?;
    }
    match fails {
        true => Err("not today".into()),
        false => Ok(()),
    }
}

/// Expects that an answer says what is stored: everything, nothing, or that it is unknown.
pub(crate) fn expect_truth(
    answer: &Result<(), StorageError>,
    is_all_stored: bool,
    is_nothing_stored: bool,
) -> CaseResult {
    match answer {
        Ok(()) => expect(is_all_stored, "what is acknowledged to be stored"),
        Err(error) if error.is_not_stored() => {
            expect(is_nothing_stored, "what is refused not to be stored")
        }
        Err(_) => Ok(()),
    }
}

/// Returns the text of a state.
pub(crate) fn title_of(change: &StateChange<'_>) -> Option<String> {
    let payload = change.payload()?;
    String::from_utf8(payload.bytes.to_vec()).ok()
}

/// A column with this name and these values.
pub(crate) struct Column<F>(pub(crate) &'static str, pub(crate) F);

impl<F> AdditionalColumn for Column<F>
where
    F: Fn(&StateChange<'_>) -> Result<ColumnValue, ExtensionError> + Send + Sync,
{
    fn column_name(&self) -> &str {
        self.0
    }

    fn bind(&self, change: &StateChange<'_>) -> Result<ColumnValue, ExtensionError> {
        (self.1)(change)
    }
}

/// Returns the title of a state, and NULL beside a tombstone.
pub(crate) fn title_column() -> Arc<dyn AdditionalColumn> {
    Arc::new(Column("title", |change: &StateChange<'_>| {
        Ok(ColumnValue::from(title_of(change)))
    }))
}

/// Adds to the count.
pub(crate) struct Counting {
    counts: String,
    by: fn(&StateChange<'_>) -> i64,
}

impl Counting {
    pub(crate) async fn add(
        &self,
        session: &mut dyn Session,
        by: i64,
    ) -> Result<u64, StorageError> {
        let text = format!("UPDATE {} SET n = n + $1 WHERE name = $2", self.counts);
        session
            .execute(Sql::assert_safe(text), [by.into(), COUNT.into()])
            .await
    }
}

#[async_trait]
impl ChangeHandler for Counting {
    async fn process(
        &self,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        let changed = self.add(session, (self.by)(change)).await?;
        if changed == 1 {
            Ok(())
        } else {
            Err("there is no count".into())
        }
    }
}

/// Returns 1 for a state that is there afterwards, 100 for a delete, 10,000 for a state that is removed.
pub(crate) fn by_kind(change: &StateChange<'_>) -> i64 {
    match change.kind {
        ChangeKind::Updated { .. } => 1,
        ChangeKind::Deleted => 100,
        ChangeKind::Removed => 10_000,
        _ => 1_000_000,
    }
}
