//! Files and rows are damaged: a reader then gets exactly what was written, or an error that says where it is.

mod rows;

use super::Kind;
use super::files::listen::listen;
use super::power_loss::scratch::Scratch;
use crate::{Backend, Run, workers};

/// The description of this kind of torture.
pub const KIND: Kind = Kind {
    name: "corrupt",
    sentence: "Single bits of the files of a database are flipped, files are cut or removed, rows are swapped, missing \
               and doubled: a reader gets what was written or a clear error, and never anything else.",
    backends: Backend::DATABASES,
    run: |run| match run.backend() {
        Backend::Sqlite => corrupt(run, "nothing"),
        // There only its rows are ours.
        _ => rows::damage(run),
    },
    worker: Some(workers::corrupt::work),
};

/// The same for a reader that does not look at checksums: it must be found.
pub const UNCHECKED: Kind = Kind {
    run: |run| corrupt(run, "unchecked"),
    ..KIND
};

/// A worker that panics, aborts or never ends is a violation, too.
fn corrupt(run: &Run, plant: &str) -> anyhow::Result<()> {
    let scratch = Scratch::new(run.folder())?;
    let folder = scratch.fresh("corrupt")?;
    let worker = run
        .worker("corrupt")
        .arg(folder.display())
        .arg(run.folder().display())
        .arg(run.rng().u64(..))
        .arg(plant)
        .start()?;
    listen(run, worker)
}
