//! The application is killed again and again, at any moment of its life: nothing acknowledged is lost, nothing is half.

use std::time::{Duration, Instant};

use actix_persistence_history::ProcessEvent;

use fastrand::Rng;

use super::Kind;
use crate::workers::stream::Retaining;
use crate::writers::{Scene, Writers};
use crate::{Backend, Run, workers};

pub(super) const KIND: Kind = Kind {
    name: "kill-app",
    sentence: "The application is killed with SIGKILL at any moment: while it opens its stores, makes tables, \
               recovers, writes events and states, saves snapshots, deletes and stops.",
    backends: Backend::DATABASES,
    run,
    worker: Some(workers::writers::work),
};

/// The number of applications at once, each on a database of its own.
const LANES: u32 = 4;
/// The largest number of lives on a database; then their history is judged, and a new database is begun.
const MOST_LIVES: u32 = 200;
/// The least number of lives on a database.
const LEAST_LIVES: u32 = 10;
/// The share of lives that are killed before they have said much: one in this many.
const SHORT_LIVES: u8 = 4;
/// The longest time of a short life; a process that opens its stores takes about as long.
const LONGEST_START: Duration = Duration::from_millis(60);
/// The largest number of acknowledged writes of a longer life before it is killed.
const MOST_WRITES: u32 = 40;
/// The longest time from the last acknowledged write to the kill: in the middle of the next ones.
const LONGEST_WAIT: Duration = Duration::from_millis(3);
/// The time within which something is acknowledged, or what went before keeps the application from its work.
const PATIENCE: Duration = Duration::from_secs(60);
/// The share of lives that are asked to end, and are killed while they do: one in this many.
const ENDINGS: u8 = 8;

fn run(run: &Run) -> anyhow::Result<()> {
    // Each waits for its disk most of the time.
    let ended: Vec<_> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (1..=LANES)
            .map(|lane| {
                let rng = run.rng();
                scope.spawn(move || kill_again_and_again(run, lane, rng))
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
fn kill_again_and_again(run: &Run, lane: u32, mut rng: Rng) -> anyhow::Result<()> {
    for round in 1.. {
        if run.is_over() {
            break;
        }
        let name = format!("lane-{lane}-round-{round}");
        let scene = Scene {
            streams: 3,
            driven: 1,
            states: 2,
            retaining: Some(Retaining {
                every: rng.u64(2..=20),
                keep: rng.usize(1..=2),
            }),
            longest_burst: 5,
            longest_pause: Duration::from_millis(1),
        };
        let writers = Writers::at(run.place()?, run, &name, scene)?;
        for _ in 0..rng.u32(LEAST_LIVES..=MOST_LIVES) {
            if run.is_over() {
                break;
            }
            let (process, mut worker) = writers.start("app", &mut rng)?;
            if rng.u8(..SHORT_LIVES) == 0 {
                std::thread::sleep(LONGEST_START.mul_f64(rng.f64()));
            } else {
                let mut writes_left = rng.u32(1..=MOST_WRITES);
                let mut acknowledged = Instant::now();
                while writes_left > 0
                    && let Some(line) = worker.next_line()?
                {
                    if writers.hear(line) {
                        writes_left -= 1;
                        acknowledged = Instant::now();
                    } else if acknowledged.elapsed() > PATIENCE {
                        run.violation(format!("{name}: nothing is acknowledged for {PATIENCE:?}"));
                        break;
                    }
                }
                if rng.u8(..ENDINGS) == 0 {
                    worker.end();
                }
                std::thread::sleep(LONGEST_WAIT.mul_f64(rng.f64()));
            }
            worker.kill()?;
            writers
                .chronicle
                .process_event(process, ProcessEvent::Killed);
            while let Some(line) = worker.next_line()? {
                writers.hear(line);
            }
            // It may have ended by itself before, when it was asked to.
            worker.ended_or_killed()?;
            run.cycle();
        }
        writers.judge()?;
    }
    Ok(())
}
