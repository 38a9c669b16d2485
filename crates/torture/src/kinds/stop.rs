//! The kind `stop`: everything is stopped in the middle of everything: what was acknowledged is stored, nothing is
//! acknowledged afterwards, and the process ends in time.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use actix_persistence_history::{Answer, Done, ProcessEvent, Record, What};
use anyhow::Context;
use fastrand::Rng;
use rustix::process::Signal;

use super::Kind;
use crate::workers::hooks::PLACES;
use crate::workers::stop::{BOUND, PLAN, Plan, SECOND, Told};
use crate::workers::stream::Retaining;
use crate::writers::{Scene, Writers};
use crate::{Backend, Line, Run, Worker, block_on, is_interrupted, workers};

pub(super) const KIND: Kind = Kind {
    name: "stop",
    sentence: "The application is stopped by Ctrl-C and by a call in the middle of everything, with short and long \
               deadlines, also twice: at recoveries, commands, events, snapshots, deletes, change handlers, stashes, \
               streams, timers, futures, failures and ends.",
    backends: Backend::DATABASES,
    run,
    worker: Some(workers::stop::work),
};

/// The number of applications at once, each on a database of its own.
const LANES: u32 = 3;
/// The largest number of lives on a database; then their history is judged, and a new database is begun.
const MOST_LIVES: u32 = 60;
/// The largest number of writes that are acknowledged before the driver stops a process that has not stopped itself.
const MOST_WRITES: u32 = 80;
/// The longest time for which the driver waits after the last acknowledged write.
const LONGEST_WAIT: Duration = Duration::from_millis(3);
/// The deadlines of a stop.
const DEADLINES: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(1),
    Duration::from_millis(10),
    Duration::from_millis(100),
    Duration::from_secs(10),
    Duration::from_secs(10),
];
/// The longest time from the first signal to the second one.
const SECOND_SIGNAL: Duration = Duration::from_millis(30);
/// Within this time after the deadline, and the time of a second stop, the process is gone.
const GONE: Duration = Duration::from_secs(20);

fn run(run: &Run) -> anyhow::Result<()> {
    let ended: Vec<_> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (1..=LANES)
            .map(|lane| {
                let rng = run.rng();
                scope.spawn(move || stop_again_and_again(run, lane, rng))
            })
            .collect();
        let lanes = lanes.into_iter().map(std::thread::ScopedJoinHandle::join);
        lanes.collect()
    });
    for outcome in ended {
        outcome.unwrap_or_else(|_| anyhow::bail!("a lane panicked"))?;
    }
    Ok(())
}

/// Runs one life after the other, on one database after the other.
fn stop_again_and_again(run: &Run, lane: u32, mut rng: Rng) -> anyhow::Result<()> {
    for round in 1.. {
        if run.is_over() {
            break;
        }
        let scene = Scene {
            streams: 3,
            driven: 2,
            states: 2,
            retaining: Some(Retaining {
                every: rng.u64(2..=20),
                keep: rng.usize(1..=2),
            }),
            longest_burst: 6,
            longest_pause: Duration::from_millis(1),
        };
        let name = format!("lane-{lane}-round-{round}");
        let writers = Writers::at(run.place()?, run, &name, scene)?;
        for _ in 0..rng.u32(1..=MOST_LIVES) {
            if run.is_over() {
                break;
            }
            live(run, &writers, &mut rng)?;
            run.cycle();
        }
        writers.judge()?;
    }
    Ok(())
}

/// Runs one life, from a start to a stop.
fn live(run: &Run, writers: &Writers<'_>, rng: &mut Rng) -> anyhow::Result<()> {
    let file = file_of(writers);
    let by_signal = rng.bool();
    let plan = Plan {
        by_signal,
        place: (rng.u8(..4) > 0).then(|| {
            let place = PLACES[rng.usize(..PLACES.len())];
            (place.to_owned(), rng.u32(1..=4))
        }),
        deadline: DEADLINES[rng.usize(..DEADLINES.len())],
        other_deadline: (!by_signal && rng.u8(..4) == 0)
            .then(|| DEADLINES[rng.usize(..DEADLINES.len())]),
        given_up: !by_signal && rng.u8(..4) == 0,
        file: file.clone(),
    };
    let planned = run.folder().join(format!("{}.plan", rng.u64(..)));
    fs::write(&planned, serde_json::to_string(&plan)?)?;
    let (process, worker) = writers.start_in("app", rng, vec![(PLAN, planned.clone())])?;
    let mut life = Life {
        run,
        writers,
        worker,
        is_listening: false,
        asked: None,
        stopped: None,
    };
    let signals_at_random = by_signal && rng.u8(..8) == 0;
    let mut writes_left = if signals_at_random {
        // As likely as not before it listens.
        std::thread::sleep(Duration::from_millis(80).mul_f64(rng.f64()));
        0
    } else {
        rng.u32(1..=MOST_WRITES)
    };
    while writes_left > 0 && life.asked.is_none() {
        let Some(is_write) = life.hear_one()? else {
            break;
        };
        writes_left -= u32::from(is_write);
    }
    if life.asked.is_none() {
        std::thread::sleep(LONGEST_WAIT.mul_f64(rng.f64()));
        life.ask(by_signal)?;
    }
    writers
        .chronicle
        .process_event(process, ProcessEvent::AskedToStop);
    // It listens there as long as it is open.
    life.worker.end();
    let twice = by_signal && rng.u8(..3) == 0;
    if twice {
        std::thread::sleep(SECOND_SIGNAL.mul_f64(rng.f64()));
        // It may be gone already.
        let _ = life.worker.signal(Signal::INT);
        run.add("second signals", 1);
    }
    let asked = life.asked.take().context("nobody has asked")?;
    while life.hear_one()?.is_some() {}
    let took = asked.elapsed();
    if took > plan.deadline + BOUND + SECOND + GONE && !is_interrupted() {
        run.violation(format!(
            "a process with a deadline of {:?} was gone {took:?} after it was asked to stop",
            plan.deadline
        ));
    }
    match life.stopped {
        Some(_) => life.worker.ended(true)?,
        // A signal before it listens ends it as any other process; a process that listens reports how it has stopped.
        None if by_signal && !life.is_listening => {
            life.worker.ended_by_ctrl_c()?;
            run.add("killed before they listened", 1);
        }
        None => {
            life.worker.ended(true)?;
            if !is_interrupted() {
                run.violation("a process listened, and has ended without having stopped anything");
            }
        }
    }
    life.worker.forget_log();
    fs::remove_file(planned)?;
    writers
        .chronicle
        .process_event(process, ProcessEvent::Ended);
    if let Some(file) = file
        && life.stopped.is_some_and(|(_, complete)| complete)
    {
        look_at_file(run, writers, &file)?;
    }
    Ok(())
}

/// A process that lives.
struct Life<'a, 'r> {
    run: &'a Run,
    writers: &'a Writers<'r>,
    worker: Worker,
    /// True if a signal is a wish from now on.
    is_listening: bool,
    /// The time since which it is to stop.
    asked: Option<Instant>,
    /// The time at which it had stopped everything, and whether everything was done.
    stopped: Option<(u64, bool)>,
}

impl Life<'_, '_> {
    /// Asks it to stop, as it is to be asked.
    fn ask(&mut self, by_signal: bool) -> anyhow::Result<()> {
        self.asked = Some(Instant::now());
        if by_signal {
            self.worker.signal(Signal::INT)?;
        } else {
            self.worker.end();
        }
        Ok(())
    }

    /// Hears one line, and returns whether it acknowledges something; `None` in the end.
    fn hear_one(&mut self) -> anyhow::Result<Option<bool>> {
        let Some(line) = self.worker.next_line()? else {
            return Ok(None);
        };
        let line = match line {
            Line::Other { other } => {
                match serde_json::from_value(other)? {
                    Told::Listening => self.is_listening = true,
                    Told::Asked => self.asked = self.asked.or(Some(Instant::now())),
                    Told::Stopped { at, complete } => self.stopped = Some((at, complete)),
                }
                return Ok(Some(false));
            }
            line => line,
        };
        if let (Line::Record(record), Some((at, _))) = (&line, self.stopped)
            && record.at > at
            && is_of_actor(record)
        {
            let late = Duration::from_nanos(record.at - at);
            let sentence =
                format!("an actor went on {late:?} after everything had stopped: {record:?}");
            self.run.violation(sentence);
        }
        Ok(Some(self.writers.hear(line)))
    }
}

/// Returns whether a record is of a handler that ran after something was stored.
fn is_of_actor(record: &Record) -> bool {
    matches!(
        record.what,
        What::Handled { .. }
            | What::Answer {
                answer: Answer::Ok(Done::Changed { .. }),
                ..
            }
    )
}

/// The file of SQLite, if it is one.
fn file_of(writers: &Writers<'_>) -> Option<PathBuf> {
    let path = writers.place().url().strip_prefix("sqlite://")?;
    Some(PathBuf::from(path))
}

/// Checks that after a stop that did everything, the file is whole and holds everything by itself.
fn look_at_file(run: &Run, writers: &Writers<'_>, file: &std::path::Path) -> anyhow::Result<()> {
    for end in ["-wal", "-journal"] {
        let other = PathBuf::from(format!("{}{end}", file.display()));
        if other.exists() {
            run.violation(format!(
                "{} is left by a process that has stopped",
                other.display()
            ));
        }
    }
    let found = block_on(writers.place().texts("PRAGMA integrity_check"))?;
    if found != ["ok"] {
        run.violation(format!(
            "{} is not whole after a stop: {found:?}",
            file.display()
        ));
    }
    run.add("files looked at", 1);
    Ok(())
}
