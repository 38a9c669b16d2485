//! The doing of a mischief.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix::prelude::*;
use actix_persistence::storage_api::SessionWork;
use actix_persistence::{
    Persistence, PersistenceId,
    sql::{ExtensionError, Session, Sql},
};
use futures_util::FutureExt;

use super::PARTS;
use super::mischief::{Mischief, Plan};
use crate::workers::Scribe;
use crate::workers::stream::{Stream, Write};

/// Transactions within others have this number and lower ones.
pub(crate) const FROM_INSIDE: i64 = -100;
/// A number above that of the transactions that a process will ever make.
const MOST_FROM_INSIDE: i64 = 1_000_000_000;

/// The stores, for code that runs in them.
#[derive(Clone, Default)]
pub(super) struct Inside(Arc<Mutex<Option<Known>>>);

#[derive(Clone)]
struct Known {
    persistence: Persistence,
    stream: Addr<Stream>,
    shelf: PersistenceId,
    scribe: Arc<Scribe>,
    /// The number of transactions begun from inside.
    transactions: Arc<AtomicI64>,
}

impl Inside {
    pub(super) fn knows(
        &self,
        persistence: &Persistence,
        stream: Addr<Stream>,
        shelf: PersistenceId,
        scribe: Arc<Scribe>,
    ) {
        let known = Known {
            persistence: persistence.clone(),
            stream,
            shelf,
            scribe,
            transactions: Arc::default(),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
    }

    /// Stores that hold what holds them would never be closed.
    pub(super) fn forgets(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn known(&self) -> Result<Known, ExtensionError> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone().ok_or_else(|| "the program ends".into())
    }
}

/// Runs the parts of a transaction, with a mischief before or after the last one.
pub(super) fn work(op: i64, plan: Plan, inside: Inside) -> SessionWork {
    SessionWork::new(move |session| {
        Box::pin(async move {
            let mut acted = Ok(());
            for part in 1..=PARTS {
                if part == PARTS && !plan.rows_first {
                    acted = act(&plan.mischief, session, &inside).await;
                }
                let sql = "INSERT INTO worked (op, part) VALUES ($1, $2)";
                session.execute(sql, [op.into(), part.into()]).await?;
            }
            if plan.rows_first {
                acted = act(&plan.mischief, session, &inside).await;
            }
            acted
        })
    })
}

#[allow(clippy::panic, reason = "code of an application may")]
pub(super) async fn act(
    mischief: &Mischief,
    session: &mut dyn Session,
    inside: &Inside,
) -> Result<(), ExtensionError> {
    match mischief {
        // The column has done its part.
        Mischief::Nothing | Mischief::ColumnFails | Mischief::ColumnPanics => {}
        Mischief::Runs {
            statements,
            swallows,
        } => {
            for statement in statements {
                let done = run(session, statement).await;
                if !swallows {
                    done?;
                }
            }
        }
        Mischief::Fails => return Err("not today".into()),
        Mischief::Panics => panic!("not today"),
        Mischief::Hangs => std::future::pending().await,
        Mischief::GivesUp {
            statement,
            waits,
            goes_on,
        } => {
            if *waits {
                let limit = Duration::from_millis(5);
                let _ = tokio::time::timeout(limit, run(session, statement)).await;
            } else if run(session, statement).now_or_never().is_some() {
                return Err("it took no time at all, so nothing was given up".into());
            }
            if *goes_on {
                let _ = run(session, "SELECT 1 AS a").await;
            }
        }
        Mischief::Crosses { backwards } => {
            let mut names = ["left", "right"];
            if *backwards {
                names.reverse();
            }
            for name in names {
                let sql = "UPDATE counters SET n = n + 1 WHERE name = $1";
                session.execute(sql, [name.into()]).await?;
                tokio::task::yield_now().await;
            }
        }
        Mischief::Transacts => {
            let known = inside.known()?;
            let before = known.transactions.fetch_add(1, Ordering::Relaxed);
            let process = i64::from(known.scribe.process());
            let op = FROM_INSIDE - process * MOST_FROM_INSIDE - before;
            let within = work(op, Plan::plain(), Inside::default());
            known.persistence.transact(None, within).await?;
        }
        Mischief::Asks => {
            let known = inside.known()?;
            let write = Write {
                uids: vec![known.scribe.uid()],
                asynchronously: false,
            };
            let _ = known.stream.send(write).await?;
        }
        Mischief::Reads => {
            let known = inside.known()?;
            known.persistence.states(None)?.get(&known.shelf).await?;
        }
        Mischief::Blocks => {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(20) {
                std::hint::spin_loop();
            }
        }
        Mischief::Holds { statement } => {
            run(session, statement).await?;
            std::future::pending().await
        }
        Mischief::Disconnects => disconnect(session).await?,
    }
    Ok(())
}

async fn run(session: &mut dyn Session, statement: &str) -> Result<(), ExtensionError> {
    let sql = Sql::assert_safe(statement.to_owned());
    if statement.starts_with("SELECT") || statement.starts_with("WITH") {
        session.select(sql, []).await?;
    } else {
        session.execute(sql, []).await?;
    }
    Ok(())
}

async fn disconnect(session: &mut dyn Session) -> Result<(), ExtensionError> {
    if session.database() == "postgres" {
        return run(session, "SELECT pg_terminate_backend(pg_backend_pid())").await;
    }
    let row = session
        .select_one("SELECT CONNECTION_ID() AS a", [])
        .await?;
    let number: i64 = row.ok_or("no row")?.get("a")?;
    run(session, &format!("KILL {number}")).await
}
