//! A program whose change handlers, columns and transactions misbehave in the stores, beside writers that have nothing to do
//! with them.
//!
//! A [`Shelf`](shelf::Shelf) stores a [`Slip`] with each change. Its change handler puts a row into the table `handled`, so
//! that what is stored can be compared with the handler's rows one by one, and does the [`Mischief`] that the slip orders.

mod act;
mod clients;
mod hand;
mod mischief;
mod record;
mod shelf;

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::{Config, Persistence};
use anyhow::bail;
use fastrand::Rng;
use serde::{Deserialize, Serialize};

use super::stream::Stream;
use super::writers::tell_of_recovery;
use super::{Scribe, told_to_end};
use crate::Backend;
use act::Inside;
use clients::{Clients, Round};
use hand::{Hand, Op};

pub(crate) use act::FROM_INSIDE;
pub(crate) use mischief::{Expectation, Mischief, Plan};
pub(crate) use record::{Outcome, Record, What};
pub(crate) use shelf::{DELETED, PLAIN, Slip, TOLD_SHELF};

/// The number of rows that a transaction of the application makes.
pub(crate) const PARTS: i64 = 3;
/// The number of streams of a process; their numbers begin at its own times this.
pub(crate) const STREAMS: u32 = 3;
/// The time for which the program waits in the end for requests that are under way.
const STOP_DEADLINE: Duration = Duration::from_secs(60);

/// The assignment of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// The path of the config file.
    pub(crate) config: PathBuf,
    /// The number of the process in the history.
    pub(crate) process: u32,
    pub(crate) seed: u64,
    pub(crate) backend: Backend,
}

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [assignment] = arguments else {
        bail!("usage: torture worker KIND ASSIGNMENT");
    };
    let assignment: Assignment = serde_json::from_str(assignment)?;
    System::new().block_on(async {
        let inside = Inside::default();
        let builder = Persistence::builder()
            .config(Config::from_file(&assignment.config)?)
            .additional_column("op", Op)
            .change_handler("hand", Hand(inside.clone()));
        let persistence = builder.open().await?;
        persistence.ready().await?;
        let scribe = Arc::new(Scribe::of(assignment.process));
        let (number, own) = (
            assignment.process * STREAMS + STREAMS - 1,
            Arc::clone(&scribe),
        );
        let stream = move || Stream::alive(number, None, Arc::clone(&own), tell_of_recovery);
        let stream = persistence.start(stream)?;
        let shelf = PersistenceId::of(shelf::SHELF, clients::SHARED);
        inside.knows(&persistence, stream, shelf, Arc::clone(&scribe));
        let ended = Rc::new(Cell::new(false));
        let mut rng = Rng::with_seed(assignment.seed);
        let own = rng.fork();
        let clients = Clients::new(&persistence, &inside, &scribe, assignment.backend, own)?;
        let working = actix::spawn({
            let ended = Rc::clone(&ended);
            async move {
                while !ended.get() {
                    clients.work(Round::Wild).await;
                    if rng.u8(..4) == 0 {
                        clients.work(Round::Crowded).await;
                    }
                    clients.work(Round::Calm).await;
                    super::count("rounds");
                }
            }
        });
        // It also ends with the process that started us.
        told_to_end().await?;
        ended.set(true);
        working.await?;
        // Stores that hold what holds them would never be closed.
        inside.forgets();
        let report = persistence.stop(STOP_DEADLINE).await;
        if !report.is_complete() {
            bail!("{report}");
        }
        Ok(())
    })
}
