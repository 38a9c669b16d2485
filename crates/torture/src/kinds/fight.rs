//! Processes want the same few ids, and each deletes what its snapshots cover; they come and go, are stopped for a
//! while, and are killed: nothing acknowledged is lost, nothing is there twice, and no look shows what never was.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_persistence_history::ProcessEvent;
use fastrand::Rng;

use super::Kind;
use crate::workers::stream::Retaining;
use crate::writers::{Scene, Writers};
use crate::{Backend, Line, Run, workers};

pub(super) const KIND: Kind = Kind {
    name: "fight",
    sentence: "Processes fight over a few ids while each deletes what its snapshots cover, cleans up and looks; they \
               come and go, are stopped for a while, and are killed.",
    backends: Backend::DATABASES,
    run,
    worker: Some(workers::writers::work),
};

/// The largest number of processes at once; some of them are away at any time.
const PROCESSES: u32 = 5;
/// The number of streams of events that they want.
const STREAMS: u32 = 3;
/// The number of states that they want.
const STATES: u32 = 2;
/// A round has a database and settings of its own, and is judged in its end; this is the number of its phases.
///
/// Between two of them no process writes, and some ids are reset.
const PHASES: u32 = 3;
const LONGEST_PHASE: Duration = Duration::from_secs(5);
/// The largest number of lines for which a process lives.
const LONGEST_LIFE: u64 = 3_000;
/// The number of lines that others say while one is stopped or away, unless `LONGEST_ABSENCE` is over first.
const OTHERS: u64 = 1_000;
const LONGEST_ABSENCE: Duration = Duration::from_secs(1);
/// The longest time for which a client waits, which lets others in between.
const LONGEST_PAUSE: Duration = Duration::from_millis(4);

struct Fight<'a> {
    run: &'a Run,
    writers: Writers<'a>,
    ends: Instant,
    /// The number of answers, of all processes.
    answers: AtomicU64,
}

fn run(run: &Run) -> anyhow::Result<()> {
    for round in 1.. {
        if run.is_over() {
            break;
        }
        let mut rng = run.rng();
        let scene = Scene {
            streams: STREAMS,
            driven: 2,
            states: STATES,
            retaining: Some(Retaining {
                every: rng.u64(1..=6),
                // In turns: where one snapshot is kept nothing makes up for it.
                keep: if round % 2 == 1 { 1 } else { 2 },
            }),
            longest_burst: 40,
            longest_pause: LONGEST_PAUSE,
        };
        let writers = Writers::at(run.place()?, run, &format!("round-{round}"), scene)?;
        // They are there before anybody fights.
        writers.make_tables()?;
        let mut fight = Fight {
            run,
            writers,
            ends: Instant::now(),
            answers: AtomicU64::new(0),
        };
        for phase in 0..PHASES {
            if phase > 0 {
                if run.is_over() {
                    break;
                }
                fight.writers.reset(&mut rng)?;
            }
            fight.ends = Instant::now() + longest_phase(run);
            fight.all_fight(&mut rng)?;
        }
        fight.writers.judge()?;
    }
    Ok(())
}

/// A short run has all phases, too.
fn longest_phase(run: &Run) -> Duration {
    LONGEST_PHASE.min(run.length() / PHASES)
}

impl Fight<'_> {
    fn is_over(&self) -> bool {
        self.run.is_over() || Instant::now() >= self.ends
    }

    /// Runs all processes until the phase ends.
    fn all_fight(&self, rng: &mut Rng) -> anyhow::Result<()> {
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let fighters: Vec<_> = (0..PROCESSES)
                .map(|fighter| {
                    let rng = rng.fork();
                    scope.spawn(move || self.fight(fighter, rng))
                })
                .collect();
            let fighters = fighters.into_iter();
            fighters.map(std::thread::ScopedJoinHandle::join).collect()
        });
        for outcome in outcomes {
            outcome.unwrap_or_else(|_| anyhow::bail!("a fighter panicked"))?;
        }
        Ok(())
    }

    /// Runs one process after the other.
    fn fight(&self, fighter: u32, mut rng: Rng) -> anyhow::Result<()> {
        while !self.is_over() {
            self.live(fighter, &mut rng)?;
            if rng.bool() {
                self.let_others_work(&mut rng);
            }
        }
        Ok(())
    }

    fn live(&self, fighter: u32, rng: &mut Rng) -> anyhow::Result<()> {
        self.run.cycle();
        let log = format!("fighter-{fighter}");
        let (process, mut worker) = self.writers.start(&log, rng)?;
        let chronicle = &self.writers.chronicle;
        let mut answers_left = rng.u64(1..=LONGEST_LIFE);
        while let Some(line) = worker.next_line()? {
            self.hear(line);
            answers_left -= 1;
            if answers_left == 0 || self.is_over() {
                break;
            }
            if rng.u64(..LONGEST_LIFE) == 0 {
                chronicle.process_event(process, ProcessEvent::Paused);
                worker.pause()?;
                self.run.add("stopped for a while", 1);
                self.let_others_work(rng);
                chronicle.process_event(process, ProcessEvent::Continued);
                worker.resume()?;
            }
        }
        let killed = rng.bool();
        if killed {
            worker.kill()?;
            chronicle.process_event(process, ProcessEvent::Killed);
            self.run.add("killed", 1);
        } else {
            chronicle.process_event(process, ProcessEvent::AskedToStop);
            worker.end();
        }
        while let Some(line) = worker.next_line()? {
            self.hear(line);
        }
        worker.ended(!killed)?;
        if !killed {
            chronicle.process_event(process, ProcessEvent::Ended);
        }
        Ok(())
    }

    fn hear(&self, line: Line) {
        self.answers.fetch_add(1, Ordering::Relaxed);
        self.writers.hear(line);
    }

    /// Lets the other processes work as long as a stop or an absence lasts; no check depends on how much they do.
    fn let_others_work(&self, rng: &mut Rng) {
        let (answers, since) = (self.answers.load(Ordering::Relaxed), Instant::now());
        let enough = answers + rng.u64(1..=OTHERS);
        while self.answers.load(Ordering::Relaxed) < enough
            && since.elapsed() < LONGEST_ABSENCE
            && !self.is_over()
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
