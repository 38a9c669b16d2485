//! Code of the application that does to its transaction what it should not.

use std::sync::{Arc, Mutex};

use actix_persistence_storage_api::{
    ChangeHandler, Effect, ExtensionError, PersistenceId, Section, Session, SessionWork, Sql,
    SqlStates, StateChange, StateChangesQuery, StateExtensions, StateOffset, StateStore,
    StorageError, StorageErrorKind,
};
use async_trait::async_trait;
use futures_util::FutureExt;

use super::{ENTITY_TYPE, with_handler};
use crate::Tables;
use crate::states::{revision_of, state, store};

/// Counts the rows that the scripts have left.
const LEFT: &str = "SELECT COUNT(*) FROM left_behind";

/// Leaves a row, runs statements, and succeeds or fails.
#[derive(Clone, Debug)]
struct Script {
    /// The name of the table of rows in statements.
    table: String,
    statements: Vec<&'static str>,
    fails: bool,
}

impl Script {
    async fn run(&self, session: &mut dyn Session) -> Result<(), ExtensionError> {
        let leave = format!("INSERT INTO {} (a) VALUES (1)", self.table);
        session.execute(Sql::assert_safe(leave), []).await?;
        for statement in &self.statements {
            session.execute(*statement, []).await?;
        }
        match self.fails {
            true => Err("not today".into()),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl ChangeHandler for Script {
    async fn process(
        &self,
        session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        self.run(session).await
    }
}

fn sql(store: &dyn StateStore) -> &dyn SqlStates {
    store.sql().expect("the store has SQL")
}

async fn transact(store: &dyn StateStore, script: &Script) -> Result<(), StorageError> {
    let script = script.clone();
    let work = SessionWork::new(move |session| Box::pin(async move { script.run(session).await }));
    sql(store).transact(work).await
}

/// Fails unless the answer is true: everything is stored, or nothing, or the effect is unknown.
fn assert_true(script: &Script, answer: &Result<(), StorageError>, all: bool, nothing: bool) {
    match answer {
        Ok(()) => assert!(all, "{script:?} was acknowledged, and is not stored"),
        Err(error) if error.is_not_stored() => {
            assert!(nothing, "{script:?} is stored, and was refused: {error:?}");
        }
        Err(error) => assert_eq!(error.effect(), Some(Effect::Unknown), "{script:?}"),
    }
}

/// A reader that has read all changes up to the last marker.
struct Reader {
    store: Arc<dyn StateStore>,
    after: StateOffset,
    markers: u64,
}

impl Reader {
    fn of(store: &Arc<dyn StateStore>) -> Self {
        Self {
            store: Arc::clone(store),
            after: StateOffset::start(),
            markers: 0,
        }
    }

    /// Returns the ids of the states that changed since the call before.
    ///
    /// Transactions that others have not ended yet may hold changes back, but not longer than the marker after them.
    async fn read(&mut self) -> Vec<PersistenceId> {
        self.markers += 1;
        let marker = state("marker", self.markers);
        let id = marker.persistence_id.clone();
        self.store.upsert(marker).await.unwrap();
        let queries = self.store.queries().expect("the store has queries");
        let mut ids = Vec::new();
        while !ids.contains(&id) {
            let mut query = StateChangesQuery::new(ENTITY_TYPE, 100);
            query.after = self.after.clone();
            let page = queries.changes(query).await.unwrap();
            ids.extend(page.changes.into_iter().map(|change| change.persistence_id));
            self.after = page.offset;
            tokio::task::yield_now().await;
        }
        ids
    }
}

/// Whatever code of the application runs, COMMIT and ROLLBACK among it, the answer is true, of the state, of what the code
/// itself stored, and of transactions without a state; and a reader that has read all is shown what is stored. The
/// statements in `more` are those that end transactions in the way of the database, each script with and without an error in
/// its end; the section is that of the stores.
///
/// # Panics
/// If an answer is not true.
pub async fn whatever_code_of_the_application_runs_the_answer_is_true(
    tables: &dyn Tables,
    section: Section,
    more: &[&[&'static str]],
) {
    tables
        .run("CREATE TABLE left_behind (a INTEGER NOT NULL)")
        .await;
    let open = async |extensions| tables.state_store_with(section.clone(), &extensions).await;
    let plain = open(StateExtensions::default()).await;
    let everywhere: &[&[&str]] = &[
        &["COMMIT"],
        &["ROLLBACK"],
        &["ROLLBACK", "BEGIN"],
        &["COMMIT", "BEGIN", "SAVEPOINT a"],
        &["/* it is hidden */ COMMIT"],
        &["-- or here\nrollback"],
        &["SELECT 1; COMMIT"],
        &["SELECT 1; ROLLBACK; BEGIN"],
        &["/* /* */ SELECT */ COMMIT"],
        &["CREATE TABLE IF NOT EXISTS made_lazily (a INTEGER)"],
        &["CREATE TABLE made_lazily (a INTEGER)"],
        &["there is no such statement"],
        &["SAVEPOINT a", "RELEASE SAVEPOINT a"],
        &["SAVEPOINT a", "ROLLBACK TO SAVEPOINT a", "SAVEPOINT a"],
    ];
    let mut reader = Reader::of(&plain);
    reader.read().await;
    for (number, statements) in everywhere.iter().chain(more).enumerate() {
        for fails in [false, true] {
            let script = Script {
                table: tables.of_application("left_behind"),
                statements: statements.to_vec(),
                fails,
            };
            let name = format!("{number}-{fails}");
            let before = tables.number(LEFT).await;
            let states = open(with_handler(script.clone())).await;
            let answer = states.upsert(state(&name, 1)).await;
            let is_stored = revision_of(&*plain, &name).await == 1;
            let stored = [is_stored, tables.number(LEFT).await == before + 1];
            assert_true(&script, &answer, stored == [true; 2], stored == [false; 2]);
            let shown = reader
                .read()
                .await
                .contains(&state(&name, 1).persistence_id);
            assert_eq!(shown, is_stored, "{script:?} is shown to readers");

            let before = tables.number(LEFT).await;
            let answer = transact(&*plain, &script).await;
            let is_stored = tables.number(LEFT).await == before + 1;
            assert_true(&script, &answer, is_stored, !is_stored);
        }
    }
}

/// Savepoints may be used, and stay whatever else runs.
///
/// # Panics
/// If the state is not stored.
pub async fn savepoints_of_a_handler_stay_beside_other_statements(tables: &dyn Tables) {
    tables
        .run("CREATE TABLE left_behind (a INTEGER NOT NULL)")
        .await;
    let between: [&[&str]; 2] = [&[], &["CREATE TEMPORARY TABLE made_between (a INTEGER)"]];
    for (number, between) in between.into_iter().enumerate() {
        let after = ["ROLLBACK TO SAVEPOINT a", "RELEASE SAVEPOINT a"];
        let script = Script {
            table: tables.of_application("left_behind"),
            statements: [&["SAVEPOINT a"], between, &after].concat(),
            fails: false,
        };
        let states = tables.open_with_handlers(&with_handler(script)).await;
        let stored = states.upsert(state(&number.to_string(), 1)).await;
        stored.expect("savepoints are the application's own affair");
    }
}

/// A handler may remove the row of the state that is being stored: then the change is not acknowledged, and nothing of it is
/// stored.
///
/// # Panics
/// If it is acknowledged.
pub async fn a_state_that_its_handler_removes_is_not_acknowledged(tables: &dyn Tables) {
    tables
        .run("CREATE TABLE left_behind (a INTEGER NOT NULL)")
        .await;
    let plain = tables.open_with_handlers(&StateExtensions::default()).await;
    let script = Script {
        table: tables.of_application("left_behind"),
        statements: vec!["DELETE FROM durable_state WHERE persistence_id = 'Test|a'"],
        fails: false,
    };
    let states = tables.open_with_handlers(&with_handler(script)).await;
    for revision in 1..=2 {
        let error = states.upsert(state("a", revision)).await;
        let error = error.expect_err("the state is gone again");
        assert_eq!(error.kind(), StorageErrorKind::Extension, "{error:?}");
        assert!(error.is_not_stored(), "{error:?}");
        assert_eq!(revision_of(&*plain, "a").await, revision - 1);
        assert_eq!(tables.number(LEFT).await, 0);
        store(&*plain, state("a", revision)).await;
    }
}

/// A statement whose future was dropped makes the transaction one that is not committed, whatever comes after it. `slow` is
/// a statement that selects, and takes half a second: one that takes no time cannot be given up.
///
/// # Panics
/// If it is committed.
pub async fn nothing_is_committed_after_a_statement_that_was_given_up(
    tables: &dyn Tables,
    slow: &'static str,
) {
    tables
        .run("CREATE TABLE left_behind (a INTEGER NOT NULL)")
        .await;
    let states = tables.open_with_handlers(&StateExtensions::default()).await;
    let table = tables.of_application("left_behind");
    for goes_on in [false, true] {
        let insert = format!("INSERT INTO {table} (a) VALUES ($1)");
        let next = Arc::new(Mutex::new(None));
        let out = Arc::clone(&next);
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                let before = session.execute(Sql::assert_safe(insert.clone()), [1_i64.into()]);
                before.await?;
                if session.select(slow, []).now_or_never().is_some() {
                    return Err("it took no time at all, so nothing was given up".into());
                }
                if goes_on {
                    let next = session.execute(Sql::assert_safe(insert), [2_i64.into()]);
                    *out.lock().expect("nobody panicked") = Some(next.await);
                }
                Ok(())
            })
        });
        let error = sql(&*states).transact(work).await;
        let error = error.expect_err("a statement was given up");
        assert_eq!(error.kind(), StorageErrorKind::Extension, "{error:?}");
        assert!(error.is_not_stored(), "{error:?}");
        assert!(error.to_string().contains("gave up one"), "{error}");
        let next = next.lock().expect("nobody panicked").take();
        assert_eq!(next.is_some(), goes_on);
        if let Some(next) = next {
            let error = next.expect_err("the session can only end");
            assert!(error.is_not_stored(), "{error:?}");
        }
    }
    // Its connection does no harm.
    let next = state("a", 1);
    states.upsert(next).await.expect("the state can be stored");
    assert_eq!(tables.number(LEFT).await, 0);
}
