//! Thousands of actors start, fail, panic and stop at once, again and again: all of them are answered and gone, nothing
//! of them stays, and nothing acknowledged is lost.

use std::fs;
use std::time::Duration;

use actix_persistence_history::ProcessEvent;

use super::Kind;
use crate::workers::storm::{Assignment, LIMITS, Over};
use crate::writers::{acknowledges, dump_states, dump_streams, judge};
use crate::{Backend, Chronicle, Line, Place, Run, workers};

pub(super) const KIND: Kind = Kind {
    name: "storm",
    sentence: "Thousands of actors start at once, and most of them fail, panic, stop or are left alone, in handlers, \
               events and recoveries; again and again in one process.",
    backends: &[
        Backend::Sqlite,
        Backend::Postgres,
        Backend::Mysql,
        Backend::Memory,
    ],
    run,
    worker: Some(workers::storm::work),
};

/// A run of this length or more has whole storms; a shorter one has smaller ones.
const WHOLE: Duration = Duration::from_secs(180);
const MOST_ACTORS: u32 = 10_000;
const LEAST_ACTORS: u32 = 300;
/// The share of actors that have a state, while the others have events: one in this many.
const STATES: u32 = 5;
/// The number of storms, one after the other, on one database and in one process; then their history is judged.
const STORMS: u32 = 8;

fn run(run: &Run) -> anyhow::Result<()> {
    for number in 1.. {
        if run.is_over() {
            break;
        }
        round(run, &format!("round-{number}"))?;
    }
    Ok(())
}

fn actors(run: &Run) -> u32 {
    let share = run.length().as_secs_f64() / WHOLE.as_secs_f64();
    ((f64::from(MOST_ACTORS) * share) as u32).clamp(LEAST_ACTORS, MOST_ACTORS)
}

fn round(run: &Run, name: &str) -> anyhow::Result<()> {
    let place = match run.backend() {
        Backend::Memory => None,
        _ => Some(run.place()?),
    };
    let config = match &place {
        None => None,
        Some(place) => {
            let file = run.folder().join(format!("{name}.toml"));
            let stores = place.config_of(&["journal", "snapshot-store", "state"], "");
            fs::write(&file, stores + LIMITS)?;
            Some(file)
        }
    };
    let chronicle = run.chronicle(name)?;
    let process = chronicle.process();
    let kept = actors(run) / STATES;
    let assignment = Assignment {
        config,
        process,
        seed: run.rng().u64(..),
        droplets: actors(run) - kept,
        kept,
        storms: STORMS,
    };
    let assignment = serde_json::to_string(&assignment)?;
    let mut worker = run.worker(name).arg(assignment).start()?;
    let mut storms_left = STORMS;
    while let Some(line) = worker.next_line()? {
        if hear(run, &chronicle, line)? {
            storms_left -= 1;
        }
        // A storm that is let loose comes to its end.
        if storms_left == 0 || run.is_over() {
            worker.end();
        }
    }
    worker.ended(true)?;
    chronicle.process_event(process, ProcessEvent::Ended);
    if !run.has_failed() {
        worker.forget_log();
    }
    if crate::is_interrupted() {
        return Ok(());
    }
    if let Some(place) = &place {
        dump(place, &chronicle)?;
    }
    judge(run, name, chronicle);
    Ok(())
}

fn dump(place: &Place, chronicle: &Chronicle) -> anyhow::Result<()> {
    dump_streams(place, chronicle)?;
    dump_states(place, chronicle)
}

/// Returns whether a storm is over.
fn hear(run: &Run, chronicle: &Chronicle, line: Line) -> anyhow::Result<bool> {
    match line {
        Line::Record(record) => {
            if acknowledges(&record) {
                run.acknowledged(1);
            }
            chronicle.hear(record);
        }
        Line::Count { count } => run.add(&count, 1),
        Line::Fault { fault } => run.violation(fault),
        Line::Other { other } => {
            let over: Over = serde_json::from_value(other)?;
            run.cycle();
            run.add("actors", over.actors);
            run.add("ms of storms", over.millis);
            run.highest("ms of the longest storm", over.millis);
            run.highest("KiB of memory", over.memory);
            return Ok(true);
        }
    }
    Ok(false)
}
