//! Runs a kind on a backend, and keeps what shows a violation.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;

use crate::progress::Progress;
use crate::{Backend, Kind, Run, Summary, end_on_interrupt, is_interrupted};

/// The time between two looks whether to report progress.
const INTERVAL: Duration = Duration::from_millis(200);

/// A kind on a backend.
#[derive(Clone, Copy)]
pub struct Job {
    /// The kind that runs.
    pub kind: &'static Kind,
    /// The backend that it runs on.
    pub backend: Backend,
}

/// The settings of a run of a job.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The length of the run; anything under way in its end is ended and checked.
    pub length: Duration,
    /// The number of cycles that it has at least, however long they take: a run without any shows nothing.
    pub least_cycles: u64,
    /// Says whether it has shown what it is to show: a run goes on until then, but at most for ten minutes after its
    /// length.
    pub enough: fn(&Summary) -> bool,
    /// The seed of every random decision.
    pub seed: u64,
    /// The folder in which each run makes a folder of its own; that is removed in the end, unless the run found a
    /// violation.
    pub folder: PathBuf,
    /// The path of this program, to be started as worker.
    pub program: PathBuf,
}

/// Runs a job to its end, and reports its progress on standard error.
///
/// A kind that fails by itself counts as a violation: nothing is shown that was not run.
///
/// # Errors
/// If its folder cannot be made or removed.
pub fn run(job: Job, settings: &Settings) -> anyhow::Result<Summary> {
    end_on_interrupt()?;
    let Job { kind, backend } = job;
    let folder = own_folder(job, settings)?;
    let run = Run::new(kind, backend, settings, folder.clone());
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut progress = Progress::new(settings.length);
            while !has_ended.load(Ordering::Relaxed) {
                progress.tell(&run);
                thread::park_timeout(INTERVAL);
            }
            progress.end();
        });
        let outcome = scope.spawn(|| (kind.run)(&run)).join();
        has_ended.store(true, Ordering::Relaxed);
        match outcome {
            Ok(Ok(())) if run.shows_nothing() && settings.least_cycles > 0 => {
                run.violation("the run has done nothing, and shows nothing");
            }
            Ok(Ok(())) => {}
            // Whatever was under way was torn off.
            Ok(Err(_)) | Err(_) if is_interrupted() => {}
            Ok(Err(error)) => run.violation(format!("the run could not go on: {error:#}")),
            Err(_) => run.violation("the run panicked"),
        }
    });
    let summary = run.summary();
    if summary.violations == 0 {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("could not remove {}", folder.display()))?;
    } else {
        keep(&folder, &summary, &repeat(job, settings))?;
    }
    Ok(summary)
}

/// The command that repeats a job.
fn repeat(job: Job, settings: &Settings) -> String {
    let (kind, backend, seed) = (job.kind.name, job.backend, settings.seed);
    let length = humantime::format_duration(settings.length);
    format!("cargo xtask torture {kind} --backend {backend} --for '{length}' --seed {seed}")
}

/// Says in the folder what was violated there, and how to repeat it.
fn keep(folder: &Path, summary: &Summary, repeat: &str) -> anyhow::Result<()> {
    let text = format!(
        "{summary}\n\n{}\n\nRepeat it:\n{repeat}\n",
        summary.found.join("\n")
    );
    fs::write(folder.join("VIOLATIONS"), &text)?;
    eprintln!("{text}Kept in {}", folder.display());
    Ok(())
}

/// `KIND-BACKEND-SEED`, or the same with a number where an earlier run has left what it found.
fn own_folder(job: Job, settings: &Settings) -> anyhow::Result<PathBuf> {
    let name = format!("{}-{}-{}", job.kind.name, job.backend, settings.seed);
    fs::create_dir_all(&settings.folder)?;
    let parent = settings.folder.canonicalize()?;
    let names = std::iter::once(name.clone()).chain((2..).map(|nr| format!("{name}-{nr}")));
    for name in names {
        let folder = parent.join(name);
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).context("could not make a folder for the run"),
        }
    }
    anyhow::bail!("there is no name left for a folder")
}
