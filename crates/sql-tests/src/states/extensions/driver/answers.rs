//! Answers that are true, whatever the driver's connection was used for.

use std::sync::{Arc, Mutex, PoisonError};

use actix_persistence_storage_api::{
    ChangeHandler, Effect, ExtensionError, Section, Session, StateChange, StateExtensions,
    StateStore, StorageError, StorageErrorKind,
};
use async_trait::async_trait;

use super::super::settings::ask;
use super::super::with_handler;
use super::{Act, DRIVEN, DRIVEN_ROWS, Driver, Play};
use crate::Tables;
use crate::states::{revision_of, state};

const INSERT: &str = "INSERT INTO driven (a) VALUES (1)";

/// The acts that are the same everywhere.
const EVERYWHERE: &[Act] = &[
    Act::Run(INSERT),
    Act::Try(INSERT),
    Act::Try("there is no such statement"),
    Act::Run("COMMIT"),
    Act::Run("ROLLBACK"),
    Act::Try("BEGIN"),
    Act::Try("SAVEPOINT a"),
    Act::Try("RELEASE SAVEPOINT a"),
    Act::Try("ROLLBACK TO SAVEPOINT a"),
    Act::Commit(INSERT),
    Act::RollBack(INSERT),
    Act::Drop(INSERT),
    Act::GiveUp(INSERT, 0),
    Act::GiveUp(INSERT, 1),
    Act::GiveUp(INSERT, 2),
    Act::GiveUp("SELECT 1", 1),
    Act::GiveUp("COMMIT", 1),
    Act::GiveUp("ROLLBACK", 2),
    Act::GiveUpBegin(1),
    Act::GiveUpBegin(2),
    Act::ReadOne("SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3"),
    Act::Try("CREATE TABLE made_with_the_driver (a INTEGER)"),
    Act::Execute(INSERT),
    Act::Execute("SAVEPOINT a"),
    Act::Execute("UPDATE driven SET a = 2"),
];

/// A store whose handler performs the next play, one without a handler, and the way around both.
struct Stage<'t> {
    tables: &'t dyn Tables,
    next: Next,
    states: Arc<dyn StateStore>,
    plain: Arc<dyn StateStore>,
    played: usize,
}

/// The play that a handler performs.
#[derive(Clone, Default)]
struct Next(Arc<Mutex<Option<Play>>>);

#[async_trait]
impl ChangeHandler for Next {
    async fn process(
        &self,
        session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        let play = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        play.expect("there is one").perform(session).await
    }
}

impl<'t> Stage<'t> {
    async fn new(tables: &'t dyn Tables, section: Section) -> Self {
        let open = async |extensions| tables.state_store_with(section.clone(), &extensions).await;
        tables.run(DRIVEN).await;
        let next = Next::default();
        Self {
            tables,
            states: open(with_handler(next.clone())).await,
            plain: open(StateExtensions::default()).await,
            next,
            played: 0,
        }
    }

    /// Lets a handler and a transaction play, and checks what they are answered.
    async fn play(&mut self, play: &Play) {
        let acts = (&play.acts, play.fails);
        self.played += 1;
        let name = self.played.to_string();
        *self.next.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(play.clone());
        let before = self.tables.number(DRIVEN_ROWS).await;
        let answer = self.states.upsert(state(&name, 1)).await;
        let is_stored = revision_of(&*self.plain, &name).await == 1;
        let rows = self.tables.number(DRIVEN_ROWS).await - before;
        assert_true(acts, &answer, rows);
        match answer {
            Ok(()) => assert!(is_stored, "{acts:?} was acknowledged, and is not stored"),
            Err(error) if error.is_not_stored() => {
                assert!(!is_stored, "{acts:?} is stored, and was refused: {error:?}");
            }
            Err(_) => {}
        }
        let before = self.tables.number(DRIVEN_ROWS).await;
        let answer = play.transact(&*self.plain).await;
        let rows = self.tables.number(DRIVEN_ROWS).await - before;
        assert_true(acts, &answer, rows);
        // Whatever was left behind, the next call goes on.
        let next = self.plain.upsert(state(&format!("next-{name}"), 1)).await;
        assert!(next.is_ok(), "{acts:?}: {next:?}");
    }
}

/// Fails unless the rows are those of the answer.
fn assert_true(
    acts @ (all, fails): (&Vec<Act>, bool),
    answer: &Result<(), StorageError>,
    rows: i64,
) {
    let bounds = all.iter().map(|act| act.rows());
    let (least, most) = bounds.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    match answer {
        Ok(()) => {
            assert!(!fails, "{acts:?} failed, and was acknowledged");
            // Statements may have rolled back to a savepoint, or failed where that was passed over.
            let may_be_fewer = all.iter().any(|act| matches!(act, Act::Try(_)));
            let least = if may_be_fewer { 0 } else { least };
            assert!(
                (least..=most).contains(&rows),
                "{acts:?} was acknowledged with {rows} rows"
            );
        }
        Err(error) if error.is_not_stored() => {
            assert_eq!(
                rows, 0,
                "{acts:?} has left rows, and was refused: {error:?}"
            );
        }
        Err(error) => assert_eq!(error.effect(), Some(Effect::Unknown), "{acts:?}: {error:?}"),
    }
}

/// Whatever code of the application does with the driver's connection, the answer is true, of the state and of the rows,
/// and the store goes on; the acts in `more` are those of the database, each with and without an error in the end, and
/// between two uses of the session.
///
/// # Panics
/// If an answer is not true.
pub async fn whatever_code_runs_with_the_driver_the_answer_is_true(
    tables: &dyn Tables,
    section: Section,
    driver: Arc<dyn Driver>,
    more: &[Act],
) {
    let mut stage = Stage::new(tables, section).await;
    for act in EVERYWHERE.iter().chain(more) {
        let mut play = Play::of(&driver, &[*act]);
        stage.play(&play).await;
        play.fails = true;
        stage.play(&play).await;
        let between = [Act::Execute(INSERT), *act, Act::Execute(INSERT)];
        stage.play(&Play::of(&driver, &between)).await;
    }
}

/// Whatever sequence of uses code of the application makes of the driver's connection, the answer is true. The sequences
/// are random ones; a failure shows the one that it is about.
///
/// # Panics
/// If an answer is not true.
pub async fn whatever_code_runs_with_the_driver_at_random_the_answer_is_true(
    tables: &dyn Tables,
    section: Section,
    driver: Arc<dyn Driver>,
    more: &[Act],
) {
    const PLAYS: usize = 25;
    let all: Vec<Act> = EVERYWHERE.iter().chain(more).copied().collect();
    let mut stage = Stage::new(tables, section).await;
    for _ in 0..PLAYS {
        let number = fastrand::usize(1..=6);
        let acts: Vec<_> = (0..number)
            .filter_map(|_| fastrand::choice(&all).copied())
            .collect();
        let mut play = Play::of(&driver, &acts);
        play.fails = fastrand::u8(..4) == 0;
        stage.play(&play).await;
    }
}

/// A session whose connection was lent goes on as one whose connection was not: what the driver's connection did is there for
/// the session's statements and the other way round, transactions within it are savepoints, it may be lent again, and all of
/// it is stored with the state.
///
/// # Panics
/// If it is otherwise.
pub async fn a_session_with_the_driver_goes_on_as_one_without(
    tables: &dyn Tables,
    driver: Arc<dyn Driver>,
) {
    tables.run(DRIVEN).await;
    let acts = [
        Act::Run(INSERT),
        Act::Execute("UPDATE driven SET a = a + 10"),
        Act::Run("UPDATE driven SET a = a + 100"),
        Act::Run("UPDATE driven SET a = a + 1000"),
        Act::Commit("UPDATE driven SET a = a + 10000"),
        Act::RollBack("UPDATE driven SET a = 0"),
        Act::Drop("UPDATE driven SET a = 0"),
        Act::Execute("UPDATE driven SET a = a + 100000"),
        Act::Commit("UPDATE driven SET a = a + 1000000"),
    ];
    let play = Play::of(&driver, &acts);
    let states = tables.open_with_handlers(&play.as_handler()).await;
    for revision in 1..=2 {
        let stored = states.upsert(state("a", revision)).await;
        stored.expect("the handler does nothing that it may not");
        assert_eq!(revision_of(&*states, "a").await, revision);
    }
    assert_eq!(tables.number("SELECT MIN(a) FROM driven").await, 1_111_111);
    assert_eq!(tables.number("SELECT MAX(a) FROM driven").await, 2_222_221);
    let transacted = play.transact(&*states).await;
    transacted.expect("the code does nothing that it may not");
    assert_eq!(tables.number(DRIVEN_ROWS).await, 3);
}

/// A transaction that ends while the application has its connection is found out, whatever was begun in its place: the effect
/// is unknown, and the store does not go on in another transaction, or in none.
///
/// # Panics
/// If it is otherwise.
pub async fn a_transaction_that_the_driver_ends_is_found_out(
    tables: &dyn Tables,
    driver: Arc<dyn Driver>,
) {
    tables.run(DRIVEN).await;
    let plain = tables.open_with_handlers(&StateExtensions::default()).await;
    for acts in [
        vec![Act::Run("COMMIT")],
        vec![Act::Run("COMMIT"), Act::Run("BEGIN")],
        vec![Act::Run("ROLLBACK"), Act::Run("BEGIN"), Act::Run(INSERT)],
        vec![Act::Run("ROLLBACK"), Act::Execute(INSERT)],
    ] {
        let play = Play::of(&driver, &acts);
        let error = play.transact(&*plain).await;
        let error = error.expect_err("the transaction is not the one that was lent");
        assert_eq!(
            error.kind(),
            StorageErrorKind::Extension,
            "{acts:?}: {error:?}"
        );
        assert_eq!(error.effect(), Some(Effect::Unknown), "{acts:?}: {error:?}");
        let text = format!("{error:?}");
        assert!(text.contains("ended the transaction"), "{acts:?}: {text}");
        assert_eq!(tables.number(DRIVEN_ROWS).await, 0, "{acts:?}");
    }
}

/// Whatever the driver's connection was used to set, the next transaction finds what it found before. A store of the section
/// has one connection for this; `look` returns texts, and must return the same before and after. What the store depends on
/// itself, in `refused`, must not be left changed: nothing is stored then.
///
/// # Panics
/// If it is otherwise.
pub async fn nothing_that_is_set_with_the_driver_stays(
    tables: &dyn Tables,
    section: Section,
    driver: Arc<dyn Driver>,
    settings: &[&'static str],
    refused: &[&'static str],
    look: &'static str,
) {
    let none = StateExtensions::default();
    let states = tables.state_store_with(section, &none).await;
    let before = ask(&*states, look).await;
    for setting in settings {
        let set = Play::of(&driver, &[Act::Run(setting)]);
        set.transact(&*states).await.expect(setting);
        assert_eq!(ask(&*states, look).await, before, "{setting}");
    }
    for setting in refused {
        let set = Play::of(&driver, &[Act::Run(setting)]);
        let error = set.transact(&*states).await.expect_err(setting);
        assert_eq!(
            error.kind(),
            StorageErrorKind::Extension,
            "{setting}: {error:?}"
        );
        assert!(error.is_not_stored(), "{setting}: {error:?}");
        assert!(
            error.to_string().contains("of the session changed"),
            "{error}"
        );
        assert_eq!(ask(&*states, look).await, before, "{setting}");
    }
}
