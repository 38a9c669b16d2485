//! The numbers of states that a procedure of their change handler has committed before they had one.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_mysql::{MysqlOptions, MysqlStateStore};
use actix_persistence_sql_tests::until_number;
use actix_persistence_storage_api::{
    ChangeHandler, ExtensionError, Payload, PersistenceId, Revision, Session, StateChange,
    StateChangesQuery, StateExtensions, StateOffset, StateStore, StateUpdate,
};
use async_trait::async_trait;
use futures_util::future::join_all;
use sqlx::MySqlConnection;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::database::execute;
use crate::place::{Place, id};

/// Calls the procedure, and ends when the test lets it.
#[derive(Clone)]
struct Caller {
    has_called: Arc<Semaphore>,
    may_end: Arc<Semaphore>,
}

impl Caller {
    fn new() -> Self {
        Self {
            has_called: Arc::new(Semaphore::new(0)),
            may_end: Arc::new(Semaphore::new(0)),
        }
    }

    async fn has_called(&self) {
        self.has_called.acquire().await.unwrap().forget();
    }
}

#[async_trait]
impl ChangeHandler for Caller {
    async fn process(
        &self,
        session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        let called = session.execute("CALL a_procedure()", []).await;
        self.has_called.add_permits(1);
        self.may_end.acquire().await?.forget();
        called?;
        Ok(())
    }
}

async fn open(place: &Place, handler: Option<&Caller>, limit: Duration) -> Arc<MysqlStateStore> {
    open_with(options(place, limit), handler).await
}

fn options(place: &Place, handler_timeout: Duration) -> MysqlOptions {
    place
        .options()
        .with_store(|store| store.with_handler_timeout(handler_timeout))
        .with_server(|mut server| {
            server.acquire_timeout = Duration::from_secs(61);
            server
        })
}

async fn open_with(options: MysqlOptions, handler: Option<&Caller>) -> Arc<MysqlStateStore> {
    let mut extensions = StateExtensions::default();
    if let Some(handler) = handler {
        extensions.entity_type("Test").change_handler = Some(Arc::new(handler.clone()));
    }
    let store = MysqlStateStore::with_extensions(options, &extensions).unwrap();
    store.initialize().await.unwrap();
    Arc::new(store)
}

fn state(name: &str, revision: Revision) -> StateUpdate {
    StateUpdate::new(id(name), revision, Payload::new(1, "m", "1"))
}

/// Reads on after an offset, and returns the revisions of `a` that it was shown up to a marker of its own.
async fn read(store: &MysqlStateStore, after: &mut StateOffset, marker: u64) -> Vec<Revision> {
    store.upsert(state("marker", marker)).await.unwrap();
    let mut shown = Vec::new();
    loop {
        let mut query = StateChangesQuery::new("Test", 100);
        query.after = after.clone();
        let page = store.queries().unwrap().changes(query).await.unwrap();
        *after = page.offset;
        let mut is_there = false;
        for change in page.changes {
            is_there |= change.persistence_id == id("marker");
            if change.persistence_id == id("a") {
                shown.push(change.current.revision);
            }
        }
        if is_there {
            return shown;
        }
        tokio::task::yield_now().await;
    }
}

const NOTHING: [Revision; 0] = [];
const LONG: Duration = Duration::from_secs(60);
/// Less than the time between two looks for states without a number.
const SOON: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_committed_state_is_shown_though_its_caller_is_gone() {
    let place = Place::new().await;
    place
        .run("CREATE PROCEDURE a_procedure() BEGIN COMMIT; DO SLEEP(60); END")
        .await;
    let plain = open(&place, None, LONG).await;
    let states = open(&place, Some(&Caller::new()), Duration::from_millis(500)).await;
    let upsert = tokio::spawn(async move { states.upsert(state("a", 1)).await });
    let stored = "SELECT COUNT(*) FROM durable_state";
    until_number(&place, stored, |number| number > 0).await;
    upsert.abort();
    assert!(upsert.await.unwrap_err().is_cancelled());
    let mut after = StateOffset::start();
    assert_eq!(read_on(&plain, &mut after, 1).await, [1]);
}

#[tokio::test]
async fn no_revision_that_another_has_numbered_is_shown_again() {
    for procedure in ["COMMIT", "ROLLBACK"] {
        number_after_another(&Place::new().await, procedure).await;
    }
}

/// A state that the procedure commits is removed before it has a number; one that it rolls back is not there.
pub(crate) async fn number_after_another(place: &Place, procedure: &str) {
    place
        .run(format!("CREATE PROCEDURE a_procedure() {procedure}"))
        .await;
    let plain = open(place, None, LONG).await;
    let caller = Caller::new();
    let states = open(place, Some(&caller), LONG).await;
    let upsert = tokio::spawn(async move { states.upsert(state("a", 1)).await });
    caller.has_called().await;
    let is_removed = plain.hard_delete(&id("a")).await.unwrap();
    assert_eq!(is_removed, procedure == "COMMIT");
    plain.upsert(state("a", 1)).await.unwrap();
    let mut after = StateOffset::start();
    assert_eq!(read(&plain, &mut after, 1).await, [1], "{procedure}");
    caller.may_end.add_permits(1);
    upsert.await.unwrap().unwrap_err();
    assert_eq!(read(&plain, &mut after, 2).await, NOTHING, "{procedure}");
}

#[tokio::test]
async fn no_revision_is_shown_before_it_has_its_number() {
    for revision in [1, 2] {
        let place = Place::new().await;
        place.run("CREATE PROCEDURE a_procedure() COMMIT").await;
        let plain = open(&place, None, LONG).await;
        if revision == 2 {
            plain.upsert(state("a", 1)).await.unwrap();
        }
        let caller = Caller::new();
        let states = open(&place, Some(&caller), LONG).await;
        let upsert = tokio::spawn(async move { states.upsert(state("a", revision)).await });
        caller.has_called().await;
        let mut after = StateOffset::start();
        assert_eq!(read(&plain, &mut after, 1).await, NOTHING, "{revision}");
        caller.may_end.add_permits(1);
        upsert.await.unwrap().unwrap_err();
        assert_eq!(read(&plain, &mut after, 2).await, [revision]);
    }
}

/// Plays a process that dies while handlers run, after their procedures have committed the first revisions of states.
async fn leave_without_numbers(place: &Place, names: &'static [&str]) {
    let options = options(place, LONG).with_server(|mut server| {
        server.writers = names.len();
        server
    });
    let caller = Caller::new();
    let of_process = caller.clone();
    let mut process = tokio::runtime::Builder::new_multi_thread();
    let process = process.worker_threads(1).enable_all().build().unwrap();
    process.spawn(async move {
        let states = open_with(options, Some(&of_process)).await;
        join_all(names.iter().map(|name| states.upsert(state(name, 1)))).await
    });
    for _ in names {
        caller.has_called().await;
    }
    process.shutdown_background();
}

/// Locks the row of `a` until the connection is dropped.
async fn locked(place: &Place) -> MySqlConnection {
    let mut other = place.connection().await;
    let sql =
        "START TRANSACTION; SELECT * FROM durable_state WHERE persistence_id = 'Test|a' FOR UPDATE";
    execute(&mut other, sql).await;
    other
}

/// Reads on until something is shown.
async fn read_on(store: &MysqlStateStore, after: &mut StateOffset, marker: u64) -> Vec<Revision> {
    let shown = timeout(SOON, async {
        for marker in marker.. {
            let shown = read(store, after, marker).await;
            if !shown.is_empty() {
                return shown;
            }
        }
        Vec::new()
    });
    shown.await.expect("it is shown in the end")
}

#[tokio::test]
async fn what_a_dead_process_has_committed_is_shown_when_others_open() {
    number_for_a_dead_process(&Place::new().await).await;
}

pub(crate) async fn number_for_a_dead_process(place: &Place) {
    place.run("CREATE PROCEDURE a_procedure() COMMIT").await;
    let plain = open(place, None, LONG).await;
    leave_without_numbers(place, &["a", "b", "c"]).await;
    let mut after = StateOffset::start();
    assert_eq!(read(&plain, &mut after, 1).await, NOTHING);
    let all_at_once = [(); 4].map(|()| open(place, None, LONG));
    join_all(all_at_once).await;
    let unnumbered = "SELECT COUNT(*) FROM durable_state WHERE ordering = 0";
    let numbered = timeout(SOON, until_number(place, unnumbered, |number| number == 0));
    numbered.await.expect("they are numbered in the end");
    assert_eq!(read(&plain, &mut after, 2).await, [1]);
    open(place, None, LONG).await;
    assert_eq!(read(&plain, &mut after, 3).await, NOTHING);
}

#[tokio::test]
async fn a_store_opens_beside_a_locked_state_and_numbers_it_later() {
    let place = Place::new().await;
    place.run("CREATE PROCEDURE a_procedure() COMMIT").await;
    let plain = open(&place, None, LONG).await;
    leave_without_numbers(&place, &["a"]).await;
    let other = locked(&place).await;
    let _opened = open(&place, None, LONG).await;
    let mut after = StateOffset::start();
    assert_eq!(read(&plain, &mut after, 1).await, NOTHING);
    drop(other);
    assert_eq!(read_on(&plain, &mut after, 2).await, [1]);
}

#[tokio::test]
async fn a_committed_state_is_shown_when_its_row_is_free() {
    let place = Place::new().await;
    place.run("CREATE PROCEDURE a_procedure() COMMIT").await;
    let plain = open(&place, None, LONG).await;
    let caller = Caller::new();
    let options = options(&place, LONG).with_server(|mut server| {
        server.lock_timeout = Duration::from_secs(1);
        server
    });
    let states = open_with(options, Some(&caller)).await;
    let writer = Arc::clone(&states);
    let upsert = tokio::spawn(async move { writer.upsert(state("a", 1)).await });
    caller.has_called().await;
    let other = locked(&place).await;
    caller.may_end.add_permits(1);
    upsert.await.unwrap().unwrap_err();
    let mut after = StateOffset::start();
    assert_eq!(read(&plain, &mut after, 1).await, NOTHING);
    drop(other);
    assert_eq!(read_on(&plain, &mut after, 2).await, [1]);
}

/// As after a procedure that has outlived its process.
#[tokio::test]
async fn what_is_committed_late_is_shown_without_another_opening() {
    let place = Place::new().await;
    place.run("CREATE PROCEDURE a_procedure() COMMIT").await;
    let plain = open(&place, None, LONG).await;
    let _states = open(&place, Some(&Caller::new()), LONG).await;
    leave_without_numbers(&place, &["a"]).await;
    let mut after = StateOffset::start();
    assert_eq!(read(&plain, &mut after, 1).await, NOTHING);
    // Nothing is under way here.
    tokio::time::pause();
    tokio::time::advance(LONG).await;
    tokio::time::resume();
    assert_eq!(read_on(&plain, &mut after, 2).await, [1]);
}

#[tokio::test]
async fn a_store_that_is_closed_has_numbered_what_was_committed() {
    let place = Place::new().await;
    place.run("CREATE PROCEDURE a_procedure() COMMIT").await;
    let caller = Caller::new();
    let states = open(&place, Some(&caller), LONG).await;
    let writer = Arc::clone(&states);
    let upsert = tokio::spawn(async move { writer.upsert(state("a", 1)).await });
    caller.has_called().await;
    upsert.abort();
    let closing = tokio::spawn(async move { states.close().await });
    caller.may_end.add_permits(1);
    closing.await.unwrap();
    let numbered = "SELECT COUNT(*) FROM durable_state WHERE ordering > 0";
    assert_eq!(place.number(numbered).await, 1);
}

/// One that opens the database next numbers it.
#[tokio::test]
async fn closing_does_not_wait_for_a_state_that_another_has_locked() {
    let place = Place::new().await;
    place.run("CREATE PROCEDURE a_procedure() COMMIT").await;
    let plain = open(&place, None, LONG).await;
    let caller = Caller::new();
    let states = open(&place, Some(&caller), LONG).await;
    let writer = Arc::clone(&states);
    let upsert = tokio::spawn(async move { writer.upsert(state("a", 1)).await });
    caller.has_called().await;
    let other = locked(&place).await;
    let closing = tokio::spawn(async move { states.close().await });
    caller.may_end.add_permits(1);
    upsert.await.unwrap().unwrap_err();
    let closed = timeout(SOON, closing).await;
    closed.expect("nothing is under way any more").unwrap();
    drop(other);
    let mut after = StateOffset::start();
    assert_eq!(read(&plain, &mut after, 1).await, NOTHING);
    open(&place, None, LONG).await;
    assert_eq!(read_on(&plain, &mut after, 2).await, [1]);
}

#[tokio::test]
async fn a_locked_state_of_one_table_leaves_those_of_others_their_numbers() {
    let place = Place::new().await;
    place.run("CREATE PROCEDURE a_procedure() COMMIT").await;
    leave_without_numbers(&place, &["a"]).await;
    let of_tables = || {
        let mut extensions = StateExtensions::default();
        extensions.entity_type("Other").table = Some("other_state".to_owned());
        MysqlStateStore::with_extensions(options(&place, LONG), &extensions).unwrap()
    };
    let states = of_tables();
    states.initialize().await.unwrap();
    let other_id = PersistenceId::of("Other", "b");
    let update = StateUpdate::new(other_id, 1, Payload::new(1, "m", "1"));
    states.upsert(update).await.unwrap();
    states.close().await;
    place
        .run("UPDATE durable_state SET ordering = 0; UPDATE other_state SET ordering = 0")
        .await;
    let _other = locked(&place).await;
    let states = of_tables();
    states.initialize().await.unwrap();
    let unnumbered = "SELECT COUNT(*) FROM other_state WHERE ordering = 0";
    let numbered = timeout(SOON, until_number(&place, unnumbered, |number| number == 0));
    numbered.await.expect("it is numbered in the end");
    assert_eq!(
        place
            .number("SELECT COUNT(*) FROM durable_state WHERE ordering = 0")
            .await,
        1
    );
}
