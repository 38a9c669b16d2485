//! Keeps the table of balances up to date: until Ctrl-C, or until it has everything that is stored.

use std::io::{self, Write};
use std::time::Duration;

use actix_persistence::prelude::*;
use actix_persistence::projection::{AppliedError, Projection, ProjectionStatus, ShareState};
use actix_persistence::query::EventSelection;
use anyhow::bail;
use bank::{Account, keep_balances};
use tokio::time::{MissedTickBehavior, interval};

use crate::STOP_DEADLINE;

/// The interval at which it is looked at what has changed.
const LOOK: Duration = Duration::from_millis(100);
/// The interval at which a caller who waits hears that the table is still behind.
const STILL_BEHIND: Duration = Duration::from_secs(2);
/// The shortest lease: it has to be renewed in time, even by a process that is busy.
const SHORTEST_LEASE: Duration = Duration::from_secs(1);

/// Reads the time of a lease, such as `10s`.
pub(crate) fn lease(text: &str) -> Result<Duration, String> {
    let lease = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    match lease >= SHORTEST_LEASE {
        true => Ok(lease),
        false => Err("a lease lasts 1s or longer".to_owned()),
    }
}

/// Brings the table up to date with everything that is stored, beside any other process that does the same.
pub(crate) async fn catch_up(persistence: &Persistence) -> anyhow::Result<()> {
    let projection = keep_balances(persistence, None)?;
    let queries = persistence.event_queries(None)?;
    let accounts = EventSelection::all().of_entity_type(Account::ENTITY_TYPE);
    let mut stored = queries.newest_offset(&accounts).await?;
    while let Err(error) = projection.applied(&stored, STILL_BEHIND).await {
        let AppliedError::Timeout { .. } = error else {
            return Err(error.into());
        };
        fail_if_stuck(&projection).await?;
        eprintln!("balances: not up to date yet, waiting");
        // What was deleted since is not waited for.
        stored.lower_to(&queries.newest_offset(&accounts).await?);
    }
    projection.stop().await;
    Ok(())
}

/// Fails if nobody goes on before a person has done something.
async fn fail_if_stuck(projection: &Projection) -> anyhow::Result<()> {
    let Some(record) = projection.record().await? else {
        return Ok(());
    };
    let mut halted = record
        .shares
        .iter()
        .filter_map(|share| share.halted.as_ref());
    if let Some(reason) = halted.next() {
        bail!("the table of balances is not kept any more: {reason}");
    }
    if record.paused {
        bail!("the table of balances is not kept any more: the projection is paused");
    }
    Ok(())
}

/// Keeps the table up to date until Ctrl-C, and prints which shares of the work this process has.
pub(crate) async fn keep(persistence: &Persistence, lease: Duration) -> anyhow::Result<()> {
    let mut stopped = std::pin::pin!(persistence.stop_on_ctrl_c(STOP_DEADLINE));
    let projection = keep_balances(persistence, Some(lease))?;
    let mut shown = Shown::default();
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            report = &mut stopped => {
                let report = report?;
                if !report.is_complete() {
                    eprintln!("{report}");
                }
                return Ok(());
            }
            _ = looks.tick() => shown.show(&projection.status())?,
        }
    }
}

/// The facts that a person has seen.
#[derive(Default)]
struct Shown {
    shares: Vec<u16>,
    trouble: Option<String>,
}

impl Shown {
    /// Prints what has changed since the last time.
    fn show(&mut self, status: &ProjectionStatus) -> io::Result<()> {
        let has = |state| matches!(state, ShareState::Running | ShareState::Retrying);
        let shares = status.shares.iter().filter(|(_, share)| has(share.state));
        let shares: Vec<u16> = shares.map(|(nr, _)| *nr).collect();
        if shares != self.shares {
            let processes = status.members.len();
            let here: Vec<String> = shares.iter().map(u16::to_string).collect();
            let here = match here.is_empty() {
                true => "none".to_owned(),
                false => here.join(" "),
            };
            writeln!(io::stdout(), "shares here: {here}; processes: {processes}")?;
            self.shares = shares;
        }
        let trouble = trouble(status);
        if trouble != self.trouble {
            match &trouble {
                Some(trouble) => eprintln!("{trouble}"),
                None => eprintln!("goes on"),
            }
            self.trouble = trouble;
        }
        Ok(())
    }
}

/// Returns what keeps this process from going on.
fn trouble(status: &ProjectionStatus) -> Option<String> {
    if let Some(error) = &status.error {
        return Some(format!("the database does not answer: {error}"));
    }
    let mut shares = status.shares.iter();
    shares.find_map(|(nr, share)| {
        let error = share.error.as_ref()?;
        match share.state {
            ShareState::Halted => Some(format!("share {nr} is halted: {error}")),
            ShareState::Retrying => Some(format!("share {nr} is tried again: {error}")),
            _ => None,
        }
    })
}
