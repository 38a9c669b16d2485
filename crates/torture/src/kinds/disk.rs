//! Operations of the disk fail, one after the other, once or for good: a program goes on by itself as soon as the disk is
//! well, nothing confirmed is lost, and nothing that was certainly not stored is there.

use std::sync::atomic::{AtomicU32, Ordering};

use super::Kind;
use super::files::listen::listen;
use super::files::shim;
use super::power_loss::scratch::Scratch;
use crate::{Backend, Run, workers};

/// The description of this kind of torture.
pub const KIND: Kind = Kind {
    name: "disk",
    sentence: "The n-th file operation of a program on SQLite fails, for every n: no space, an error, an interruption, \
               half a write; once, a few times or for good, while it opens, appends, deletes, recovers and stops.",
    backends: &[Backend::Sqlite],
    run: |run| fail(run, "nothing"),
    worker: Some(workers::disk::work),
};

/// The same for a program that calls every write confirmed, whatever the answer is: it must be found.
pub const HASTY: Kind = Kind {
    run: |run| fail(run, "hasty"),
    ..KIND
};

/// The number of processes at once, which is high because they wait most of the time.
const PROCESSES: u32 = 3;

/// Runs the kind with something that is wrong on purpose.
fn fail(run: &Run, plant: &str) -> anyhow::Result<()> {
    let seeds: Vec<u64> = (0..PROCESSES).map(|_| run.rng().u64(..)).collect();
    let number = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let sweeps = seeds.into_iter().map(|seed| {
            let number = number.fetch_add(1, Ordering::Relaxed);
            scope.spawn(move || sweep(run, plant, number, seed))
        });
        let sweeps: Vec<_> = sweeps.collect();
        for sweep in sweeps {
            sweep
                .join()
                .unwrap_or_else(|_| anyhow::bail!("a sweep panicked"))?;
        }
        Ok(())
    })
}

fn sweep(run: &Run, plant: &str, number: u32, seed: u64) -> anyhow::Result<()> {
    let scratch = Scratch::new(run.folder())?;
    let folder = scratch.fresh("disk")?;
    let mut worker = run
        .worker(&format!("disk-{number}"))
        .arg(folder.display())
        .arg(run.folder().display())
        .arg(seed)
        .arg(plant);
    for (name, value) in shim::environment(&folder, None)? {
        worker = worker.env(name, value);
    }
    listen(run, worker.start()?)
}
