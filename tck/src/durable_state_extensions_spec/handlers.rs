//! Code of the application in the transaction that stores a state.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use actix_persistence_storage_api::{
    ChangeHandler, ExtensionError, PersistenceId, Session, Sql, SqlValue, StateChange, StateDelete,
    StateStore,
};
use async_trait::async_trait;

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::extension_steps::{
    Counting, ENDINGS, Site, by_kind, end, expect_extension_refused, expect_truth, post, title_of,
};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::parallel::in_parallel;
use crate::state_steps::{expect_conflict, expect_nothing, expect_state, state, store_up_to};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(call_the_handler_for_every_change, ["D-HANDLER-1"]).needing(Capability::SqlSession),
    case!(
        show_the_handler_what_was_written,
        ["D-HANDLER-1", "D-EXECUTE-1"]
    )
    .needing(Capability::SqlSession),
    case!(leave_other_entity_types_to_themselves, ["D-HANDLER-1"]).needing(Capability::SqlSession),
    case!(store_nothing_when_the_handler_fails, ["D-HANDLER-2"]).needing(Capability::SqlSession),
    case!(store_nothing_when_the_handler_panics, ["D-HANDLER-2"]).needing(Capability::SqlSession),
    case!(store_nothing_when_the_handler_hangs, ["D-HANDLER-2"]).needing(Capability::SqlSession),
    case!(
        store_nothing_when_a_statement_of_the_handler_failed,
        ["D-HANDLER-2"]
    )
    .needing(Capability::SqlSession),
    case!(
        take_back_only_the_change_of_a_group_whose_handler_fails,
        ["D-HANDLER-2", "D-GROUP-2"]
    )
    .needing(Capability::SqlSession),
    case!(
        tell_the_truth_about_a_handler_that_ends_the_transaction,
        ["D-EXECUTE-3", "D-HANDLER-2"]
    )
    .needing(Capability::SqlSession),
    case!(not_call_the_handler_for_a_wrong_revision, ["D-HANDLER-3"])
        .needing(Capability::SqlSession),
    case!(
        call_the_handler_for_one_change_of_an_id_at_a_time,
        ["D-HANDLER-4"]
    )
    .needing(Capability::SqlSession),
];

async fn call_the_handler_for_every_change(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open_handled(site.counting(by_kind)).await?;
    store_up_to(&*store, &post(1), 3).await?;
    site.expect_count(&*store, 3).await?;
    store.delete(StateDelete::new(post(1), 4)).await?;
    store.delete(StateDelete::new(post(1), 5)).await?;
    store.delete(StateDelete::new(post(2), 1)).await?;
    site.expect_count(&*store, 303).await?;
    store.hard_delete(&post(1)).await?;
    site.expect_count(&*store, 10_303).await?;
    store.hard_delete(&post(1)).await?;
    site.expect_count(&*store, 10_303).await
}

/// A change handler that notes the revision that it finds in the table.
struct Looking {
    states: String,
    found: Arc<Mutex<Vec<Vec<SqlValue>>>>,
}

#[async_trait]
impl ChangeHandler for Looking {
    async fn process(
        &self,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        let text = format!(
            "SELECT revision FROM {} WHERE persistence_id = $1",
            self.states
        );
        let id = change.persistence_id.as_str().into();
        let rows = session.select(Sql::assert_safe(text), [id]).await?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.push(rows.iter().flat_map(|row| row.values().to_vec()).collect());
        Ok(())
    }
}

async fn show_the_handler_what_was_written(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let found = Arc::new(Mutex::new(Vec::new()));
    let looking = Looking {
        states: site.states.clone(),
        found: Arc::clone(&found),
    };
    let store = site.open_handled(looking).await?;
    store_up_to(&*store, &post(1), 2).await?;
    store.delete(StateDelete::new(post(1), 3)).await?;
    store.hard_delete(&post(1)).await?;
    let found = found.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let revision = |revision| vec![SqlValue::Integer(revision)];
    let expected = vec![revision(1), revision(2), revision(3), vec![]];
    expect_eq("revisions in the table", found, expected)
}

async fn leave_other_entity_types_to_themselves(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open_handled(site.counting(by_kind)).await?;
    for other in ["Post", "Poet_'\"\\"] {
        let id = PersistenceId::of(other, &site.states);
        store_up_to(&*store, &id, 2).await?;
        store.hard_delete(&id).await?;
    }
    site.expect_count(&*store, 0).await?;
    store_up_to(&*store, &post(1), 1).await?;
    site.expect_count(&*store, 1).await
}

/// The way in which a handler goes wrong after it has counted.
#[derive(Clone, Copy)]
enum Wrong {
    Error,
    Panic,
    Hang,
    Statement,
}

/// Counts, and goes wrong at states of which the text is `s-2`, and at every delete.
struct GoingWrong(Counting, Wrong);

#[async_trait]
impl ChangeHandler for GoingWrong {
    async fn process(
        &self,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        self.0.add(session, 1).await?;
        if title_of(change).is_some_and(|title| title != "s-2") {
            return Ok(());
        }
        match self.1 {
            Wrong::Error => Err("posts are closed".into()),
            Wrong::Panic => panic!("the handler of a case panics, which is what it shows"),
            Wrong::Hang => std::future::pending().await,
            Wrong::Statement => {
                // Whatever the handler makes of it.
                let failed = session
                    .execute("INSERT INTO there_is_no_such_table VALUES (1)", [])
                    .await;
                assert!(failed.is_err());
                let _ = self.0.add(session, 1).await;
                Ok(())
            }
        }
    }
}

async fn store_nothing_when_it_goes_wrong(
    subject: Subject<dyn StateStore>,
    wrong: Wrong,
) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site
        .open_handled(GoingWrong(site.counting(by_kind), wrong))
        .await?;
    store.upsert(state(&post(1), 1)).await?;
    let error = expect_extension_refused(store.upsert(state(&post(1), 2)).await)?;
    if matches!(wrong, Wrong::Error) {
        let source = std::error::Error::source(&error).map(ToString::to_string);
        expect_eq("source", source, Some("posts are closed".to_owned()))?;
    }
    expect_state(&*store, &state(&post(1), 1)).await?;
    expect_extension_refused(store.delete(StateDelete::new(post(1), 2)).await)?;
    expect_extension_refused(store.delete(StateDelete::new(post(2), 1)).await)?;
    expect_nothing(&*store, &post(2), 0).await?;
    let Err(removed) = store.hard_delete(&post(1)).await else {
        return Err(Failure::new("expected a refusal, found success"));
    };
    expect(removed.is_not_stored(), "certainty that nothing is removed")?;
    expect_state(&*store, &state(&post(1), 1)).await?;
    site.expect_count(&*store, 1).await?;
    // And the store goes on.
    let update = crate::state_steps::with_payload(state(&post(1), 2), crate::writer::text("s-3"));
    store.upsert(update.clone()).await?;
    expect_state(&*store, &update).await?;
    site.expect_count(&*store, 2).await
}

async fn store_nothing_when_the_handler_fails(subject: Subject<dyn StateStore>) -> CaseResult {
    store_nothing_when_it_goes_wrong(subject, Wrong::Error).await
}

async fn store_nothing_when_the_handler_panics(subject: Subject<dyn StateStore>) -> CaseResult {
    store_nothing_when_it_goes_wrong(subject, Wrong::Panic).await
}

async fn store_nothing_when_the_handler_hangs(subject: Subject<dyn StateStore>) -> CaseResult {
    store_nothing_when_it_goes_wrong(subject, Wrong::Hang).await
}

async fn store_nothing_when_a_statement_of_the_handler_failed(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    store_nothing_when_it_goes_wrong(subject, Wrong::Statement).await
}

async fn take_back_only_the_change_of_a_group_whose_handler_fails(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site
        .open_handled(GoingWrong(site.counting(by_kind), Wrong::Error))
        .await?;
    store_up_to(&*store, &post(1), 1).await?;
    let others = ["1", "2"].map(|name| PersistenceId::of("Poet", name));
    let changes = vec![
        state(&others[0], 1).into(),
        state(&post(1), 2).into(),
        state(&post(2), 1).into(),
        state(&others[1], 1).into(),
    ];
    let mut outcomes = store.write_group(changes).await?;
    expect_eq("outcomes", outcomes.len(), 4)?;
    expect_extension_refused(outcomes.remove(1))?;
    for outcome in outcomes {
        outcome?;
    }
    expect_state(&*store, &state(&post(1), 1)).await?;
    for id in [&post(2), &others[0], &others[1]] {
        expect_state(&*store, &state(id, 1)).await?;
    }
    site.expect_count(&*store, 2).await
}

async fn not_call_the_handler_for_a_wrong_revision(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open_handled(site.counting(by_kind)).await?;
    store_up_to(&*store, &post(1), 2).await?;
    expect_conflict(store.upsert(state(&post(1), 1)).await, 0, 2)?;
    expect_conflict(store.upsert(state(&post(1), 2)).await, 1, 2)?;
    expect_conflict(store.upsert(state(&post(1), 4)).await, 3, 2)?;
    expect_conflict(store.delete(StateDelete::new(post(1), 1)).await, 0, 2)?;
    expect_conflict(store.delete(StateDelete::new(post(2), 2)).await, 1, 0)?;
    site.expect_count(&*store, 2).await
}

/// Notes which ids it is called for now, and fails if one is among them already.
struct Watching {
    counting: Counting,
    now: Mutex<HashSet<PersistenceId>>,
}

#[async_trait]
impl ChangeHandler for Watching {
    async fn process(
        &self,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        let now = || self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if !now().insert(change.persistence_id.clone()) {
            return Err("called for two changes of an id at once".into());
        }
        let counted = self.counting.add(session, 1).await;
        tokio::task::yield_now().await;
        now().remove(change.persistence_id);
        counted?;
        Ok(())
    }
}

/// Stores revisions one after the other, while others do: each is stored by one of them.
async fn race_to(store: Arc<dyn StateStore>, id: PersistenceId, revision: u64) -> CaseResult {
    for revision in 1..=revision {
        match store.upsert(state(&id, revision)).await {
            Ok(()) => {}
            Err(error) if error.revision_conflict().is_some() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

async fn call_the_handler_for_one_change_of_an_id_at_a_time(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let site = Site::make(subject).await?;
    let watching = Watching {
        counting: site.counting(by_kind),
        now: Mutex::default(),
    };
    let store = site.open_handled(watching).await?;
    let racers = (0..9).map(|number| race_to(Arc::clone(&store), post(number % 3), 5));
    in_parallel(racers).await?;
    site.expect_count(&*store, 15).await
}

/// Counts, and ends the transaction.
struct Ending {
    counting: Counting,
    statements: &'static [&'static str],
    fails: bool,
}

#[async_trait]
impl ChangeHandler for Ending {
    async fn process(
        &self,
        session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        self.counting.add(session, 1).await?;
        end(session, self.statements, self.fails).await
    }
}

async fn tell_the_truth_about_a_handler_that_ends_the_transaction(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let site = Site::make(subject).await?;
    let plain = site.open(|_| {}).await?;
    for (number, statements) in ENDINGS.iter().enumerate() {
        for fails in [false, true] {
            let ending = Ending {
                counting: site.counting(by_kind),
                statements,
                fails,
            };
            let store = site.open_handled(ending).await?;
            let before = site.count(&*plain).await?;
            let id = post(format!("{number}-{fails}"));
            let answer = store.upsert(state(&id, 1)).await;
            let stored = [
                plain.get(&id).await?.revision == 1,
                site.count(&*plain).await? == before + 1,
            ];
            expect_truth(&answer, stored == [true; 2], stored == [false; 2])?;
        }
    }
    Ok(())
}
