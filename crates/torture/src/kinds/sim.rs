//! Several processes, all simulated in one thread, on one simulated storage: one seed is one history.

mod ledger;
mod stores;
mod world;

use actix_persistence_history::check;

use super::Kind;
use crate::{Backend, Run};

pub use stores::SimStores;

pub(super) const KIND: Kind = Kind {
    name: "sim",
    sentence: "Simulated processes write to one simulated storage, whose calls fail, lag, hang, panic, and do what \
               they said to be unknown: not at all, at once, or after a later recovery.",
    backends: &[Backend::Memory],
    run,
    worker: None,
};

/// The first history has the seed of the run, each further one the next: so a seed that failed is run again at once.
fn run(run: &Run) -> anyhow::Result<()> {
    let mut seed = run.seed();
    while !run.is_over() {
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
        run.cycle();
        seed = seed.wrapping_add(1);
    }
    Ok(())
}
