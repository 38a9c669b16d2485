//! Arbiters and whole actix systems end, or stand still, while their actors work: what was acknowledged is stored, ids and
//! turns become free, and askers get an answer.

use std::time::{Duration, Instant};

use actix_persistence_history::ProcessEvent;
use fastrand::Rng;

use super::Kind;
use crate::workers::stream::Retaining;
use crate::writers::{Scene, Writers};
use crate::{Backend, Line, Run, workers};

pub(super) const KIND: Kind = Kind {
    name: "arbiters",
    sentence: "Arbiters and whole actix systems end, or are blocked, while their actors recover, persist, save \
               snapshots and wait; others in the same process go on with the same stores.",
    backends: Backend::DATABASES,
    run,
    worker: Some(workers::arbiters::work),
};

/// The least time for which a process lives.
const SHORTEST_LIFE: Duration = Duration::from_millis(500);
/// The longest time for which a process lives.
const LONGEST_LIFE: Duration = Duration::from_secs(6);
/// The largest number of lives on one database; then their history is judged.
const MOST_LIVES: u32 = 5;

fn run(run: &Run) -> anyhow::Result<()> {
    for round in 1.. {
        if run.is_over() {
            break;
        }
        let mut rng = run.rng();
        let scene = Scene {
            streams: 6,
            driven: 3,
            states: 3,
            retaining: Some(Retaining {
                every: rng.u64(3..=20),
                keep: rng.usize(1..=2),
            }),
            longest_burst: 8,
            longest_pause: Duration::from_millis(2),
        };
        let writers = Writers::at(run.place()?, run, &format!("round-{round}"), scene)?;
        for _ in 0..rng.u32(1..=MOST_LIVES) {
            if run.is_over() {
                break;
            }
            live(run, &writers, &mut rng)?;
        }
        writers.judge()?;
    }
    Ok(())
}

/// Runs one process, whose arbiters end one after the other.
fn live(run: &Run, writers: &Writers<'_>, rng: &mut Rng) -> anyhow::Result<()> {
    let (process, mut worker) = writers.start("app", rng)?;
    let length = SHORTEST_LIFE + (LONGEST_LIFE - SHORTEST_LIFE).mul_f64(rng.f64());
    let since = Instant::now();
    let mut is_told = false;
    while let Some(line) = worker.next_line()? {
        if matches!(&line, Line::Count { count } if count.ends_with(" ended")) {
            run.cycle();
        }
        writers.hear(line);
        if !is_told && (since.elapsed() > length || run.has_failed()) {
            is_told = true;
            let event = ProcessEvent::AskedToStop;
            writers.chronicle.process_event(process, event);
            worker.end();
        }
    }
    worker.ended(true)?;
    worker.forget_log();
    let event = ProcessEvent::Ended;
    writers.chronicle.process_event(process, event);
    Ok(())
}
