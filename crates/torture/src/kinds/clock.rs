//! The wall clocks of processes jump, each on its own, while they write, read changes and live by timers: nothing depends on
//! them but timestamps.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use actix_persistence_history::ProcessEvent;
use fastrand::Rng;

use super::Kind;
use super::files::shim;
use crate::workers::changes::{READS, Reading};
use crate::workers::stream::Retaining;
use crate::writers::{Scene, Writers};
use crate::{Backend, Run, Worker, block_on, workers};

pub(super) const KIND: Kind = Kind {
    name: "clock",
    sentence: "The wall clocks of processes jump by seconds to decades, forth and back, each on its own, while they \
               write, delete, read changes and live by timers.",
    backends: Backend::DATABASES,
    run,
    worker: Some(workers::changes::work),
};

/// The number of processes that write at once.
const WRITERS: u32 = 3;
/// The number of processes that follow the changes of all states.
const READERS: u32 = 2;
/// A round has a database of its own, and is judged in its end.
const LONGEST_ROUND: Duration = Duration::from_secs(20);
/// The largest number of lines after which a clock jumps.
const LONGEST_CALM: u64 = 200;
/// The largest number of jumps of a process that writes before its next life.
const MOST_JUMPS: u32 = 10;
/// The time within which something is stored again, whatever the clock does.
const PATIENCE: Duration = Duration::from_secs(60);
/// A year, in seconds.
const YEAR: i64 = 365 * 24 * 3_600;

fn run(run: &Run) -> anyhow::Result<()> {
    for number in 1.. {
        if run.is_over() {
            break;
        }
        let mut rng = run.rng();
        let scene = Scene {
            streams: 3,
            driven: 1,
            states: 4,
            retaining: Some(Retaining {
                every: rng.u64(1..=6),
                keep: rng.usize(1..=2),
            }),
            longest_burst: 10,
            longest_pause: Duration::from_millis(4),
        };
        let states = scene.states;
        let name = format!("round-{number}");
        let writers = Writers::at(run.place()?, run, &name, scene)?;
        writers.make_tables()?;
        let round = Round {
            run,
            name,
            states,
            writers,
            ends: Instant::now() + LONGEST_ROUND.min(run.length()),
            written: AtomicBool::new(false),
        };
        round.go(&mut rng)?;
        round.writers.judge()?;
    }
    Ok(())
}

/// The wall clock of one process.
struct Clock {
    file: File,
    path: PathBuf,
}

impl Clock {
    fn new(path: PathBuf) -> anyhow::Result<Self> {
        let clock = Self {
            file: File::create(&path)?,
            path,
        };
        clock.set(0)?;
        Ok(clock)
    }

    /// Moves the clock from the true time by this number of nanoseconds.
    fn set(&self, nanos: i64) -> anyhow::Result<()> {
        Ok(self.file.write_all_at(&nanos.to_ne_bytes(), 0)?)
    }

    /// Lets the clock jump by less than a second up to years, forth or back; at times to a year before 1970.
    fn jump(&self, rng: &mut Rng) -> anyhow::Result<()> {
        let longest = [1, 60, 3_600, 24 * 3_600, YEAR, 30 * YEAR][rng.usize(..6)];
        let seconds = rng.i64(-longest..=longest);
        let seconds = match rng.u8(..10) {
            0 => 0,
            1 => -80 * YEAR,
            _ => seconds,
        };
        self.set(seconds * 1_000_000_000 + rng.i64(0..1_000_000_000))
    }
}

/// A database, and all that is done to it.
struct Round<'a> {
    run: &'a Run,
    name: String,
    states: u32,
    writers: Writers<'a>,
    ends: Instant,
    /// True if all who write have ended.
    written: AtomicBool,
}

impl Round<'_> {
    fn is_over(&self) -> bool {
        self.run.is_over() || Instant::now() >= self.ends
    }

    fn clock(&self, name: &str) -> anyhow::Result<Clock> {
        let file = format!("{}-{name}.clock", self.name);
        Clock::new(self.run.folder().join(file))
    }

    /// Readers end when they have seen all that was written.
    fn go(&self, rng: &mut Rng) -> anyhow::Result<()> {
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..READERS)
                .map(|number| {
                    let rng = rng.fork();
                    scope.spawn(move || self.read(number, rng))
                })
                .collect();
            let writers: Vec<_> = (0..WRITERS)
                .map(|number| {
                    let rng = rng.fork();
                    scope.spawn(move || self.write(number, rng))
                })
                .collect();
            let written = joined(writers);
            self.written.store(true, Ordering::Relaxed);
            written.and(joined(readers))
        })
    }

    /// Runs one life after the other.
    fn write(&self, number: u32, mut rng: Rng) -> anyhow::Result<()> {
        let log = format!("writer-{number}");
        let clock = self.clock(&log)?;
        while !self.is_over() {
            // Each life begins at another time.
            clock.jump(&mut rng)?;
            let environment = shim::clock(&clock.path)?;
            let (process, mut worker) = self.writers.start_in(&log, &mut rng, environment)?;
            self.jump_along(&clock, &mut worker, &mut rng)?;
            let killed = !self.is_over() && rng.bool();
            let chronicle = &self.writers.chronicle;
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
            self.run.cycle();
        }
        Ok(())
    }

    /// Lets the clock jump until the life ends.
    fn jump_along(&self, clock: &Clock, worker: &mut Worker, rng: &mut Rng) -> anyhow::Result<()> {
        let mut stored = Instant::now();
        for _ in 0..rng.u32(1..=MOST_JUMPS) {
            for _ in 0..rng.u64(1..=LONGEST_CALM) {
                let Some(line) = worker.next_line()? else {
                    return Ok(());
                };
                if self.writers.hear(line) {
                    stored = Instant::now();
                }
                if stored.elapsed() > PATIENCE {
                    self.run.violation(format!(
                        "nothing is acknowledged for {PATIENCE:?} after a clock has jumped"
                    ));
                }
                if self.is_over() {
                    return Ok(());
                }
            }
            clock.jump(rng)?;
            self.run.add("jumps", 1);
            if self.run.backend() == Backend::Mysql && rng.u8(..4) == 0 {
                self.move_counters(rng)?;
            }
        }
        Ok(())
    }

    /// Leaves the counters that follow the server's clock as they are when it was ahead for a while, and is back.
    fn move_counters(&self, rng: &mut Rng) -> anyhow::Result<()> {
        let ahead = rng.i64(1..YEAR * 1_000_000);
        for table in ["event_journal_ordering", "durable_state_ordering"] {
            let sql = format!("UPDATE {table} SET newest = newest + {ahead}");
            block_on(self.writers.place().execute(&sql))?;
        }
        self.run.add("jumps of the server", 1);
        Ok(())
    }

    fn read(&self, number: u32, mut rng: Rng) -> anyhow::Result<()> {
        let log = format!("reader-{number}");
        let clock = self.clock(&log)?;
        let process = self.writers.chronicle.process();
        let reading = Reading {
            config: self.writers.config_file().to_owned(),
            process,
            states: self.states,
        };
        let mut worker = self.run.worker(&format!("{}-{log}", self.name));
        for (name, value) in shim::clock(Path::new(&clock.path))? {
            worker = worker.env(name, value);
        }
        let mut worker = worker
            .arg(READS)
            .arg(serde_json::to_string(&reading)?)
            .start()?;
        let mut calm = rng.u64(1..=LONGEST_CALM);
        while let Some(line) = worker.next_line()? {
            self.writers.hear(line);
            calm -= 1;
            if calm == 0 {
                calm = rng.u64(1..=LONGEST_CALM);
                clock.jump(&mut rng)?;
                self.run.add("jumps", 1);
            }
            if self.written.load(Ordering::Relaxed) {
                worker.end();
            }
        }
        worker.ended(true)
    }
}

fn joined(threads: Vec<ScopedJoinHandle<'_, anyhow::Result<()>>>) -> anyhow::Result<()> {
    let mut outcome = Ok(());
    for thread in threads {
        let ended = thread.join();
        outcome = outcome.and(ended.unwrap_or_else(|_| anyhow::bail!("a thread panicked")));
    }
    outcome
}
