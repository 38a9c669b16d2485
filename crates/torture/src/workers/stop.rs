//! Writes to some streams and states, and stops everything in the middle of it.
//!
//! `torture worker stop ASSIGNMENT`

mod misread;

use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::System;
use actix_persistence::{Persistence, StopReport};
use anyhow::{Context, bail};
use rustix::process::{Signal, getpid, kill_process};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::writers::{Assignment, Writing, opened};
use super::{count, fault, hooks, tell, told_to_end};
use crate::{Line, clock};

/// The variable that names the file with the plan.
pub(crate) const PLAN: &str = "ACTIX_PERSISTENCE_TORTURE_PLAN";
/// The longest time from its deadline to the end of a stop, on a busy machine.
pub(crate) const BOUND: Duration = Duration::from_secs(5);
/// The time for the second stop, which finds nothing to do but to close what readers have opened.
pub(crate) const SECOND: Duration = Duration::from_secs(20);
/// An actor that is asked answers within this time.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time that an actor which goes on after the deadline, although it must not, has to show it.
const AFTERMATH: Duration = Duration::from_millis(15);

/// The way in which a process ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// True if it ends by a signal, and false if by a call.
    pub(crate) by_signal: bool,
    /// The place in the code of actors and handlers where the stop begins, and the number of times that it is passed
    /// before that. The stop begins earlier if the driver says so first.
    pub(crate) place: Option<(String, u32)>,
    pub(crate) deadline: Duration,
    /// The deadline of another task that stops everything at the same time.
    pub(crate) other_deadline: Option<Duration>,
    /// True if a task begins to stop everything, and drops that future.
    pub(crate) given_up: bool,
    /// A file of SQLite that holds everything by itself after a stop.
    pub(crate) file: Option<PathBuf>,
}

/// The things that are reported to the driver besides.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Told {
    /// The process hears a signal from now on.
    Listening,
    /// The process has asked itself to stop.
    Asked,
    /// The stop has ended at this time.
    Stopped { at: u64, complete: bool },
}

fn say(told: Told) {
    tell(&Line::Other { other: json!(told) });
}

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [assignment] = arguments else {
        bail!("usage: torture worker stop ASSIGNMENT");
    };
    let plan = std::env::var_os(PLAN).context("there is no plan")?;
    let plan = fs::read_to_string(plan)?;
    let (assignment, plan): (Assignment, Plan) = (
        serde_json::from_str(assignment)?,
        serde_json::from_str(&plan)?,
    );
    System::new().block_on(async {
        let asked = Arc::new(Notify::new());
        if let Some((place, times)) = plan.place.clone() {
            let (by_signal, asked) = (plan.by_signal, Arc::clone(&asked));
            hooks::at(&place.clone(), times, move || {
                count(&format!("stops at a {place}"));
                if by_signal {
                    say(Told::Asked);
                    let _ = kill_process(getpid(), Signal::INT);
                } else {
                    asked.notify_one();
                }
            });
        }
        // In every other life most actors wait for their turn to recover.
        let recoveries = assignment.seed.is_multiple_of(2).then_some(1);
        let persistence = opened(&assignment, recoveries).await?;
        let writing = Writing::begin(assignment, persistence);
        writing.process().errands.set(true);
        writing.process().patience.set(PATIENCE);
        let process = Rc::clone(writing.process());
        let failing = actix::spawn(misread::fail_to_recover(Rc::clone(&process)));
        let persistence = process.persistence.clone();
        let stop = Stop {
            plan: plan.clone(),
            persistence,
            asked,
        };
        let stopping = actix::spawn(stop.run());
        let complete = stopping.await??;
        if !complete {
            sleep(AFTERMATH).await;
        }
        let persistence = writing.end().await?;
        let failed = timeout(PATIENCE, failing).await;
        failed.context("actors that fail to recover come to no end")??;
        let cut_off = process.cut_off.get();
        if complete && cut_off > 0 {
            fault(format!(
                "the report of a stop is complete, and {cut_off} commands that were accepted before it were not done"
            ));
        }
        // Readers may have opened connections again.
        let report = persistence.stop(SECOND).await;
        if complete && !report.is_complete() {
            fault(format!("a stop was complete, and the next one tells: {report}"));
        }
        if complete && let Some(file) = &plan.file {
            let log = PathBuf::from(format!("{}-wal", file.display()));
            if log.exists() {
                fault(format!("{} is left after a stop", log.display()));
            }
        }
        Ok(())
    })
}

/// The stop of everything.
struct Stop {
    plan: Plan,
    persistence: Persistence,
    asked: Arc<Notify>,
}

impl Stop {
    /// Returns whether everything was done.
    async fn run(self) -> anyhow::Result<bool> {
        let Plan {
            by_signal,
            deadline,
            other_deadline,
            given_up,
            ..
        } = self.plan;
        let report = if by_signal {
            let mut stopping = Box::pin(self.persistence.stop_on_ctrl_c(deadline));
            // It listens from its first poll on.
            let at_once = timeout(Duration::ZERO, &mut stopping).await;
            say(Told::Listening);
            match at_once {
                Ok(report) => report?,
                Err(_) => stopping.await?,
            }
        } else {
            say(Told::Listening);
            tokio::select! {
                () = self.asked.notified() => {}
                told = told_to_end() => told?,
            }
            say(Told::Asked);
            if given_up {
                let begun = self.persistence.stop(deadline);
                let _ = timeout(deadline.min(Duration::from_millis(1)), begun).await;
                count("stops given up");
            }
            if let Some(deadline) = other_deadline {
                let persistence = self.persistence.clone();
                actix::spawn(async move { stop_in_time(&persistence, deadline).await });
            }
            stop_in_time(&self.persistence, deadline).await
        };
        let complete = report.is_complete();
        say(Told::Stopped {
            at: clock::now(),
            complete,
        });
        if !complete {
            eprintln!("{report}");
        }
        count(if complete {
            "complete stops"
        } else {
            "cut stops"
        });
        Ok(complete)
    }
}

async fn stop_in_time(persistence: &Persistence, deadline: Duration) -> StopReport {
    let since = Instant::now();
    let report = persistence.stop(deadline).await;
    let took = since.elapsed();
    if took > deadline + BOUND {
        fault(format!(
            "a stop with a deadline of {deadline:?} took {took:?}"
        ));
    }
    report
}
