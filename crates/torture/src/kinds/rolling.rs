//! Programs of several versions write to the same ids, rolled out process by process and rolled back: what one cannot read
//! it refuses, loses nothing, and deletes nothing; once rolled forward, everything works.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use actix_persistence_history::{Answer, Done, Operation, ProcessEvent, What};
use fastrand::Rng;

use super::Kind;
use crate::workers::releases::{OLDER, Program};
use crate::workers::stream::{Retaining, stream_id};
use crate::workers::versions::Version;
use crate::writers::{Scene, Writers};
use crate::{Backend, Line, Run, Worker, block_on, workers};

pub(super) const KIND: Kind = Kind {
    name: "rolling",
    sentence: "Programs of several versions, with other events, snapshots and settings, are rolled out process by \
               process under load, and rolled back, on the same ids.",
    backends: Backend::DATABASES,
    run,
    worker: Some(workers::releases::work),
};

/// The number of processes at once.
const PROCESSES: u32 = 3;
/// The number of streams of events that they write to.
const STREAMS: u32 = 3;
/// The number of deployments of a round, which has a database of its own and is judged in its end.
const DEPLOYMENTS: u32 = 3;
/// The largest number of times that a deployment goes forth and back.
const MOST_TURNS: u32 = 3;
/// The largest number of lines that a process says before the other version takes its place: in a run of `WHOLE` or more,
/// and in a shorter one, which has as many processes and replaces each sooner.
const LONGEST_LIFE: u64 = 600;
const LONGEST_SHORT_LIFE: u64 = 120;
const WHOLE: Duration = Duration::from_secs(180);
/// A process that is refused everything says less.
const LONGEST_SILENCE: Duration = Duration::from_millis(1_500);
/// The time within which every stream is written to after the last deployment.
const PATIENCE: Duration = Duration::from_secs(60);

fn run(run: &Run) -> anyhow::Result<()> {
    for number in 1.. {
        if run.is_over() {
            break;
        }
        let mut rng = run.rng();
        let scene = Scene {
            streams: STREAMS,
            driven: 0,
            states: 1,
            retaining: Some(retaining(&mut rng)),
            longest_burst: 10,
            longest_pause: Duration::from_millis(4),
        };
        let name = format!("round-{number}");
        let writers = Writers::at(run.place()?, run, &name, scene)?;
        writers.make_tables()?;
        let round = Round { run, name, writers };
        let mut released = vec![Version::Plain];
        for _ in 0..DEPLOYMENTS {
            if run.is_over() {
                break;
            }
            let old = *released.last().unwrap_or(&Version::Plain);
            let new = Version::ALL[rng.usize(..Version::ALL.len())];
            released.push(new);
            round.meet_newer_tables(&mut rng)?;
            round.deploy(old, new, &released, &mut rng)?;
        }
        round.roll_forward(&mut rng)?;
        round.writers.judge()?;
    }
    Ok(())
}

fn retaining(rng: &mut Rng) -> Retaining {
    Retaining {
        every: rng.u64(1..=8),
        keep: rng.usize(1..=3),
    }
}

/// A database, and all that is done to it.
struct Round<'a> {
    run: &'a Run,
    name: String,
    writers: Writers<'a>,
}

impl Round<'_> {
    /// A program that comes upon tables of a later release does not touch them, and says which they are.
    fn meet_newer_tables(&self, rng: &mut Rng) -> anyhow::Result<()> {
        let component = ["journal", "snapshot store"][rng.usize(..2)];
        let raise = |by: i32| {
            let sql = format!(
                "UPDATE actix_persistence_schema SET version = version + {by} WHERE component = '{component}'"
            );
            block_on(self.writers.place().execute(&sql))
        };
        raise(1)?;
        let log = "newer-tables";
        let (_, mut worker) = self.start_logging(log, Version::Plain, &[], rng)?;
        worker.end();
        while let Some(line) = worker.next_line()? {
            self.writers.hear(line);
        }
        let is_refused = worker.failed().is_ok();
        let file = self.run.folder().join(format!("{}-{log}.log", self.name));
        let says = fs::read_to_string(file).unwrap_or_default();
        let is_named = says.contains(&format!("the tables of the {component} have version"));
        if !is_refused || !is_named {
            self.run.violation(format!(
                "tables of the {component} that are newer than the program are opened, or not named"
            ));
        }
        worker.forget_log();
        self.run.add("newer tables refused", 1);
        raise(-1)
    }

    /// Replaces each process by one of the other version, forth and back, in its own time.
    fn deploy(
        &self,
        old: Version,
        new: Version,
        released: &[Version],
        rng: &mut Rng,
    ) -> anyhow::Result<()> {
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let slots: Vec<_> = (0..PROCESSES)
                .map(|slot| {
                    let mut rng = rng.fork();
                    scope.spawn(move || {
                        for _ in 0..rng.u32(1..=MOST_TURNS) {
                            for version in [old, new] {
                                if self.run.is_over() {
                                    return Ok(());
                                }
                                self.live(slot, version, released, &mut rng)?;
                            }
                        }
                        anyhow::Ok(())
                    })
                })
                .collect();
            let slots = slots.into_iter();
            slots.map(std::thread::ScopedJoinHandle::join).collect()
        });
        for outcome in outcomes {
            outcome.unwrap_or_else(|_| anyhow::bail!("a process panicked"))?;
        }
        self.run.cycle();
        Ok(())
    }

    /// Runs one process, until another takes its place or it is killed.
    fn live(
        &self,
        slot: u32,
        version: Version,
        released: &[Version],
        rng: &mut Rng,
    ) -> anyhow::Result<()> {
        let (process, mut worker) = self.start(slot, version, released, rng)?;
        let chronicle = &self.writers.chronicle;
        let since = Instant::now();
        let longest_life = match self.run.length() >= WHOLE {
            true => LONGEST_LIFE,
            false => LONGEST_SHORT_LIFE,
        };
        for _ in 0..rng.u64(1..=longest_life) {
            let Some(line) = worker.next_line()? else {
                break;
            };
            self.writers.hear(line);
            if self.run.is_over() || since.elapsed() > LONGEST_SILENCE {
                break;
            }
        }
        let killed = rng.u8(..3) == 0;
        if killed {
            worker.kill()?;
            chronicle.process_event(process, ProcessEvent::Killed);
        } else {
            chronicle.process_event(process, ProcessEvent::AskedToStop);
            worker.end();
        }
        while let Some(line) = worker.next_line()? {
            self.writers.hear(line);
        }
        worker.ended(!killed)?;
        if !killed {
            chronicle.process_event(process, ProcessEvent::Ended);
        }
        self.run.add(&format!("lives of {version:?}"), 1);
        Ok(())
    }

    fn start(
        &self,
        slot: u32,
        version: Version,
        released: &[Version],
        rng: &mut Rng,
    ) -> anyhow::Result<(u32, Worker)> {
        let log = format!("{slot}-{version:?}");
        if version == Version::Newest {
            return self.writers.start(&log, rng);
        }
        self.start_logging(&log, version, released, rng)
    }

    /// Starts one that is not the newest.
    fn start_logging(
        &self,
        log: &str,
        version: Version,
        released: &[Version],
        rng: &mut Rng,
    ) -> anyhow::Result<(u32, Worker)> {
        let meets = |reads: fn(Version, Version) -> bool| {
            released.iter().any(|other| !reads(version, *other))
        };
        let program = Program {
            version,
            config: self.config(log, rng)?,
            process: self.writers.chronicle.process(),
            seed: rng.u64(..),
            streams: STREAMS,
            retaining: retaining(rng),
            takes_over_first: rng.u8(..4) == 0,
            snapshot_is_optional: rng.bool(),
            may_meet_events: meets(Version::reads_events_of),
            may_meet_snapshots: meets(Version::reads_snapshots_of),
        };
        let worker = self.run.worker(&format!("{}-{log}", self.name));
        let text = serde_json::to_string(&program)?;
        Ok((program.process, worker.arg(OLDER).arg(text).start()?))
    }

    /// The same stores with other settings.
    fn config(&self, log: &str, rng: &mut Rng) -> anyhow::Result<PathBuf> {
        let mut config = self.writers.config_without_handler()?;
        config += &format!(
            "[persistence.journal-plugin-fallback]\nmax-page-events = {}\nmax-group-events = {}\n\
             delete-chunk-events = {}\n[persistence.internal-stash]\ncapacity = {}\n",
            rng.u32(1..=20),
            rng.u32(8..=40),
            rng.u32(1..=5),
            rng.u32(16..=64),
        );
        let file = self.run.folder().join(format!("{}-{log}.toml", self.name));
        fs::write(&file, config)?;
        Ok(file)
    }

    /// Replaces every process by the newest program in the end, until every stream is written to.
    fn roll_forward(&self, rng: &mut Rng) -> anyhow::Result<()> {
        let (process, mut worker) = self.writers.start("forward", rng)?;
        let unwritten = (0..STREAMS).map(|number| stream_id(number).to_string());
        let mut unwritten: Vec<_> = unwritten.collect();
        let mut asked = HashMap::new();
        let since = Instant::now();
        while !unwritten.is_empty() {
            let Some(line) = worker.next_line()? else {
                break;
            };
            if let Line::Record(record) = &line {
                match &record.what {
                    What::Invoke {
                        call,
                        operation: Operation::Persist { id, .. },
                    } => {
                        asked.insert(*call, id.clone());
                    }
                    What::Answer {
                        call,
                        answer: Answer::Ok(Done::Persisted { .. }),
                    } => {
                        if let Some(id) = asked.remove(call) {
                            unwritten.retain(|other| *other != id);
                        }
                    }
                    _ => {}
                }
            }
            self.writers.hear(line);
            if since.elapsed() > PATIENCE {
                let left = unwritten.join(", ");
                self.run.violation(format!(
                    "{PATIENCE:?} after all was rolled forward nothing is stored of {left}"
                ));
                break;
            }
        }
        worker.end();
        while let Some(line) = worker.next_line()? {
            self.writers.hear(line);
        }
        worker.ended(true)?;
        let chronicle = &self.writers.chronicle;
        chronicle.process_event(process, ProcessEvent::Ended);
        Ok(())
    }
}
