//! Several processes, all simulated in one thread, on one simulated storage; one seed decides all that is simulated.

mod ledger;
mod stores;
mod world;

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use actix_persistence_history::check;

use super::Kind;
use crate::{Backend, Run};

pub use stores::SimStores;

pub(super) const KIND: Kind = Kind {
    name: "sim",
    sentence: "Simulated processes write to one simulated storage and follow what changes there; its calls fail, lag, \
               hang, panic, and do what they said to be unknown: not at all, at once, or after a later recovery.",
    backends: &[Backend::Memory],
    run,
    worker: None,
};

/// Histories are played on as many threads as there are cores.
///
/// The first one has the seed of the run, each further one the next: so a seed that failed is run again at once. It repeats
/// the very same history.
fn run(run: &Run) -> anyhow::Result<()> {
    let next = AtomicU64::new(run.seed());
    let has_failed = AtomicBool::new(false);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let players: Vec<_> = (0..cores)
            .map(|_| {
                scope.spawn(|| {
                    let end = play_on(run, &next, &has_failed);
                    has_failed.fetch_or(end.is_err(), Ordering::Relaxed);
                    end
                })
            })
            .collect();
        let mut ends = players.into_iter().map(|player| player.join());
        ends.try_for_each(|end| end.unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Plays one history after the other until the run is over, or the torture itself has failed.
fn play_on(run: &Run, next: &AtomicU64, has_failed: &AtomicBool) -> anyhow::Result<()> {
    while !run.is_over() && !has_failed.load(Ordering::Relaxed) {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        let played = world::play(seed)?;
        let violations = check(&played.history);
        if !violations.is_empty() || !played.faults.is_empty() {
            let kept = run.chronicle(&format!("seed-{seed}"))?;
            let sentences = violations.iter().map(ToString::to_string);
            for sentence in sentences.chain(played.faults) {
                run.violation(format!("the history with the seed {seed}: {sentence}"));
            }
            played
                .history
                .records
                .into_iter()
                .for_each(|record| kept.hear(record));
            kept.end();
        }
        run.acknowledged(played.acknowledged);
        run.add("kills", played.kills);
        run.add("refused or unknown", played.not_acknowledged);
        run.add("looks of readers", played.looks);
        run.add("changes shown", played.shown);
        run.cycle();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_history_on_any_thread() {
        for seed in 0..20 {
            let first = world::play(seed).unwrap();
            let second = thread::spawn(move || world::play(seed).unwrap());
            let second = second.join().unwrap();
            let (first, second) = (first.history.records, second.history.records);
            assert!(first.len() > 50, "the seed {seed} does nothing");
            let mut both = first.iter().zip(&second);
            let differ = both.find(|(first, second)| first != second);
            assert_eq!(differ, None, "the seed {seed}");
            assert_eq!(first.len(), second.len(), "the seed {seed}");
        }
    }
}
