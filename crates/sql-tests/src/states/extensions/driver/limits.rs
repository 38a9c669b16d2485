//! The driver's connection when time is over, the server ends the session, or the code says no.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actix_persistence_storage_api::{
    ChangeHandler, Effect, ExtensionError, Session, SessionWork, StateChange, StateExtensions,
    StorageErrorKind,
};
use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::super::with_handler;
use super::{Act, DRIVEN, DRIVEN_ROWS, Driver, Play, sql};
use crate::states::{revision_of, state, store};
use crate::{OnServer, Tables};

const INSERT: &str = "INSERT INTO driven (a) VALUES (1)";

/// An error of code that has used the driver's connection rightly is one after which certainly nothing is stored, also of the
/// code's transactions.
///
/// # Panics
/// If it is otherwise.
pub async fn an_error_of_the_code_with_the_driver_is_certain(
    tables: &dyn Tables,
    driver: Arc<dyn Driver>,
) {
    tables.run(DRIVEN).await;
    let plain = tables.open_with_handlers(&StateExtensions::default()).await;
    for acts in [
        vec![Act::Run(INSERT)],
        vec![Act::Run(INSERT), Act::Execute(INSERT)],
        vec![Act::Commit(INSERT), Act::Drop(INSERT)],
        vec![Act::Run(INSERT), Act::Run("there is no such statement")],
    ] {
        let mut play = Play::of(&driver, &acts);
        play.fails = true;
        let states = tables.open_with_handlers(&play.as_handler()).await;
        for answer in [
            states.upsert(state("a", 1)).await,
            play.transact(&*plain).await,
        ] {
            let error = answer.expect_err("the code fails");
            assert_eq!(error.kind(), StorageErrorKind::Extension, "{error:?}");
            assert!(error.is_not_stored(), "{acts:?}: {error:?}");
        }
        assert_eq!(revision_of(&*plain, "a").await, 0);
        assert_eq!(tables.number(DRIVEN_ROWS).await, 0);
    }
}

/// A statement of the driver whose time is over ends with its handler: the next call finds none of its locks. Handlers have 50
/// ms here.
///
/// # Panics
/// If it is otherwise.
pub async fn a_statement_of_the_driver_whose_time_is_over_leaves_no_lock(
    tables: &dyn Tables,
    driver: Arc<dyn Driver>,
) {
    const TIMES: u32 = 3;
    let section = tables.section().with("handler-timeout", "50ms");
    let open = async |extensions| tables.state_store_with(section.clone(), &extensions).await;
    let endless = Play::of(&driver, &[Act::Run(tables.endless_query())]);
    let endless = open(endless.as_handler()).await;
    let plain = open(StateExtensions::default()).await;
    let begun = Instant::now();
    let (mut tried, mut ended) = (0, 0);
    while ended < TIMES {
        tried += 1;
        let name = tried.to_string();
        let error = endless.upsert(state(&name, 1)).await;
        let error = error.expect_err("the handler never ends");
        assert_eq!(error.kind(), StorageErrorKind::Extension, "{error:?}");
        // On a busy machine its time may be over before it has the connection.
        ended += u32::from(error.effect() == Some(Effect::Unknown));
        store(&*plain, state(&name, 1)).await;
    }
    // The end waits for a second before the statement is ended.
    let took = begun.elapsed();
    assert!(took < TIMES * Duration::from_secs(3), "it took {took:?}");
}

/// A transaction whose code has the driver's connection goes on to its end even if its caller is gone.
///
/// # Panics
/// If it is otherwise.
pub async fn a_transaction_with_the_driver_goes_on_without_its_caller(
    tables: &dyn Tables,
    driver: Arc<dyn Driver>,
) {
    tables.run(DRIVEN).await;
    let states = tables.open_with_handlers(&StateExtensions::default()).await;
    let [begun, may_end] = [(); 2].map(|()| Arc::new(Semaphore::new(0)));
    let work = SessionWork::new({
        let (begun, may_end) = (Arc::clone(&begun), Arc::clone(&may_end));
        move |session| {
            Box::pin(async move {
                driver.act(session, Act::Run(INSERT)).await?;
                begun.add_permits(1);
                may_end.acquire().await?.forget();
                driver.act(session, Act::Commit(INSERT)).await
            })
        }
    });
    tokio::select! {
        _ = sql(&*states).transact(work) => unreachable!("it may not end yet"),
        begun = begun.acquire() => begun.expect("it is open").forget(),
    }
    may_end.add_permits(1);
    // One turn after the other: where there is one connection for it, this waits for the end of the first.
    while tables.number(DRIVEN_ROWS).await < 2 {
        store(&*states, state(&fastrand::u64(..).to_string(), 1)).await;
    }
    assert_eq!(tables.number(DRIVEN_ROWS).await, 2);
}

/// A request for the connection of another database, or of another driver, is an error that names it, and the transaction
/// goes on.
///
/// # Panics
/// If it is otherwise.
pub async fn another_database_or_driver_is_an_error_by_name(
    tables: &dyn Tables,
    driver: Arc<dyn Driver>,
) {
    tables.run(DRIVEN).await;
    let states = tables.open_with_handlers(&StateExtensions::default()).await;
    let messages = Arc::new(Mutex::new(Vec::new()));
    let out = Arc::clone(&messages);
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            let database = session.database();
            for wanted in ["another", database] {
                let error = match session.connection_of::<String>(wanted).await {
                    Ok(_) => return Err("no connection is a text".into()),
                    Err(error) => error,
                };
                assert_eq!(error.kind(), StorageErrorKind::Unsupported);
                let text = error.to_string();
                out.lock().expect("nobody panicked").push(text);
            }
            driver.act(session, Act::Run(INSERT)).await
        })
    });
    let transacted = sql(&*states).transact(work).await;
    transacted.expect("the code goes on after the errors");
    assert_eq!(tables.number(DRIVEN_ROWS).await, 1);
    let messages = messages.lock().expect("nobody panicked");
    assert!(
        messages[0].contains("is not one of 'another'"),
        "{messages:?}"
    );
    assert!(messages[1].contains("another version"), "{messages:?}");
}

/// Holds the driver's connection until it may go on with it.
struct Held {
    driver: Arc<dyn Driver>,
    begun: Arc<Semaphore>,
    may_end: Arc<Semaphore>,
    /// The use that it makes of the connection then.
    last: Option<Act>,
}

#[async_trait]
impl ChangeHandler for Held {
    async fn process(
        &self,
        session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        self.driver.act(session, Act::Run(INSERT)).await?;
        self.begun.add_permits(1);
        self.may_end.acquire().await?.forget();
        match self.last {
            Some(act) => self.driver.act(session, act).await,
            None => Ok(()),
        }
    }
}

/// A server may end a session while the code has its connection: the error is that of the server, which counts for the circuit
/// breaker, and not one of the handler, whether the code meets it or the store does. For servers.
///
/// # Panics
/// If the handler is blamed, or if something is stored.
pub async fn a_session_that_ends_under_the_driver_is_trouble_of_the_server(
    tables: &dyn OnServer,
    driver: Arc<dyn Driver>,
) {
    tables.run(DRIVEN).await;
    for last in [None, Some(Act::Run(INSERT)), Some(Act::Execute(INSERT))] {
        let [begun, may_end] = [(); 2].map(|()| Arc::new(Semaphore::new(0)));
        let handler = Held {
            driver: Arc::clone(&driver),
            begun: Arc::clone(&begun),
            may_end: Arc::clone(&may_end),
            last,
        };
        let states = tables.open_with_handlers(&with_handler(handler)).await;
        let write = tokio::spawn(async move { states.upsert(state("a", 1)).await });
        begun.acquire().await.expect("it is open").forget();
        tables.end_sessions().await;
        may_end.add_permits(1);
        let error = write.await.expect("no panic");
        let error = error.expect_err("its session is gone");
        assert_eq!(
            error.kind(),
            StorageErrorKind::Unavailable,
            "{last:?}: {error:?}"
        );
        let plain = tables.open_with_handlers(&StateExtensions::default()).await;
        assert_eq!(revision_of(&*plain, "a").await, 0);
        assert_eq!(tables.number(DRIVEN_ROWS).await, 0);
    }
}
