//! A look in the end, which a busy database delays and does not make a violation.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence::error::ReplayError;
use actix_persistence::{Persistence, RecoveryError};
use actix_persistence_torture::{Backend, Place, last_look, open};
use tokio::task::JoinHandle;

use crate::database;
use crate::ledger::{Enter, Ledger};

/// Longer than anything takes, on any machine.
const LONG: Duration = Duration::from_secs(100);
/// The settings of a store whose statements time out soon.
const HURRY: &str = "statement-timeout = \"1s\"\nlock-timeout = \"300ms\"\n";

fn ledger() -> Ledger {
    Ledger::named("1")
}

fn is_curable(error: &ReplayError) -> bool {
    matches!(error, ReplayError::Recovery(error) if error.is_transient())
}

/// A database with one entry, and its stores opened by a program in a hurry.
async fn written(backend: Backend) -> (Arc<Place>, tempfile::TempDir, Persistence) {
    let (place, folder) = database::place(backend);
    let config = place.config_of(&["journal", "snapshot-store"], HURRY);
    let persistence = open(&config).await.unwrap();
    let actor = persistence.start(ledger).unwrap();
    let enter = Enter {
        client: 1,
        number: 1,
    };
    actor.send(enter).await.unwrap().unwrap();
    (Arc::new(place), folder, persistence)
}

/// Keeps everybody from the events until it is aborted; a look has met it.
async fn locked(place: &Arc<Place>, persistence: &Persistence) -> JoinHandle<()> {
    let lock = match place.backend() {
        Backend::Mysql => "LOCK TABLES event_journal WRITE",
        _ => "BEGIN; LOCK TABLE event_journal IN ACCESS EXCLUSIVE MODE",
    };
    let place = Arc::clone(place);
    let holding = actix::spawn(async move {
        // It is torn off.
        let _ = place.hold(lock, LONG, "ROLLBACK").await;
    });
    loop {
        match persistence.replay(ledger()).await {
            Ok(_) => tokio::task::yield_now().await,
            Err(error) if is_curable(&error) => return holding,
            Err(error) => panic!("a lock is told as {error}"),
        }
    }
}

async fn a_last_look_is_taken_again_until_the_database_answers(backend: Backend) {
    let (place, _folder, persistence) = written(backend).await;
    let holding = locked(&place, &persistence).await;
    let mut again = 0;
    let look = last_look(&persistence, LONG, ledger, |_: &RecoveryError| {
        again += 1;
        holding.abort();
    });
    let seen = look.await.unwrap();
    assert_eq!(seen.sequence_nr, 1);
    assert!(again > 0, "nothing was in its way");
}

async fn a_last_look_ends_with_an_error_that_lasts_or_is_not_curable(backend: Backend) {
    let (place, _folder, persistence) = written(backend).await;
    let holding = locked(&place, &persistence).await;
    let never = |error: &RecoveryError| panic!("it is taken again after {error}");
    let busy = last_look(&persistence, Duration::ZERO, ledger, never).await;
    assert!(is_curable(&busy.err().unwrap()));
    holding.abort();
    assert!(holding.await.unwrap_err().is_cancelled());
    let damage = "UPDATE event_journal SET serializer_id = 99";
    place.execute(damage).await.unwrap();
    let damaged = last_look(&persistence, LONG, ledger, never).await;
    assert!(!is_curable(&damaged.err().unwrap()));
}

macro_rules! on_every_server {
    ($($name:ident,)*) => {
        on_every_server! { @on postgres Postgres $($name,)* }
        on_every_server! { @on mysql Mysql $($name,)* }
    };
    (@on $database:ident $backend:ident $($name:ident,)*) => {
        mod $database {
            $(
                #[actix::test]
                async fn $name() {
                    super::$name(actix_persistence_torture::Backend::$backend).await;
                }
            )*
        }
    };
}

on_every_server! {
    a_last_look_is_taken_again_until_the_database_answers,
    a_last_look_ends_with_an_error_that_lasts_or_is_not_curable,
}
