//! `cargo xtask planted [BUG..]`: puts bugs into a copy of the sources, and expects the torture to find each.
//!
//! The sources themselves stay clean, so that no release can have such a bug. All of them are put into one copy, each
//! asleep until a variable of the environment names it: one build serves them all. While all are asleep, the torture must
//! find nothing.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use actix_persistence_test_servers::Database;
use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::child::{self, Report};
use crate::mutations::copy_folder;
use crate::progress::{Step, note, seconds};
use crate::servers::Servers;
use crate::torture;
use crate::workspace::{self, Workspace};

/// The list of the bugs.
pub(crate) const LIST: &str = "crates/torture/planted.toml";
/// Names the bug that is awake.
const VARIABLE: &str = "ACTIX_PERSISTENCE_PLANTED_BUG";
/// Stands in a replacement for whether its bug is awake.
const IS_AWAKE: &str = "PLANTED";
/// The longest time that the torture may take to find a bug.
const LONGEST: Duration = Duration::from_secs(120);
/// The time for which it must find nothing without a bug.
const SOUND: Duration = Duration::from_secs(15);
/// The exit status of a torture that has found something.
const FOUND: i32 = 1;
/// The beginning of a sentence about the torture itself, which did not work: that finds no bug.
const BROKEN: &str = "the run ";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The bugs by name; all of them if there is none.
    bugs: Vec<String>,
    /// A file for the results: a list of `{bug, breaks, kind, backend, found, seconds, says}`.
    #[arg(long)]
    json: Option<PathBuf>,
    /// The seed of every random decision of the torture.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of bugs that are hunted at once: each hunt waits for disks, servers and clocks much of the time.
    #[arg(long, default_value = "2")]
    at_once: NonZeroUsize,
}

/// A bug, and who is expected to find it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bug {
    pub(crate) name: String,
    /// The promise that it breaks.
    breaks: String,
    /// The kind of torture that finds it.
    kind: String,
    /// The backend on which the kind finds the bug.
    backend: String,
    /// The changes that make the bug; all of them or none.
    #[serde(rename = "change")]
    pub(crate) changes: Vec<Change>,
}

/// A text that stands once in a file, and another one in its place; [`IS_AWAKE`] in it says whether the bug is awake.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// The path of the file, from the root of the workspace.
    pub(crate) file: String,
    pub(crate) find: String,
    replace: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(rename = "bug", default)]
    bugs: Vec<Bug>,
}

/// The outcome of the hunt for a bug.
#[derive(Serialize)]
struct Outcome<'a> {
    bug: &'a str,
    breaks: &'a str,
    kind: &'a str,
    backend: &'a str,
    found: bool,
    seconds: f64,
    /// The first sentence of the torture about it.
    says: Option<String>,
}

/// The part that `planted` reads of a summary of the torture.
#[derive(Deserialize)]
struct Summary {
    #[serde(default)]
    found: Vec<String>,
}

/// Builds the torture with all bugs asleep, and wakes one after the other.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let list = fs::read_to_string(workspace::root().join(LIST)).context(LIST)?;
    let bugs = parse(&list)?;
    let wanted = chosen(&bugs, &options.bugs)?;
    let folder = workspace::root().join("target/planted");
    let copy = folder.join("sources");
    plant(&bugs, &copy)?;
    let Some(program) = torture::build(false, Some((&copy, &folder.join("target"))))? else {
        return Ok(ExitCode::FAILURE);
    };
    let workspace = Workspace::load()?;
    let needed = Database::ALL
        .into_iter()
        .filter(|database| wanted.iter().any(|bug| bug.backend == database.key()));
    let servers = Servers::start(&workspace, needed.collect());
    let torture = Torture {
        program,
        servers,
        keep: folder.join("found"),
        seed: options.seed,
    };
    let kinds: BTreeSet<_> = wanted.iter().map(|bug| (&bug.kind, &bug.backend)).collect();
    let kinds: Vec<_> = kinds.into_iter().collect();
    in_lanes(options.at_once, &kinds, |lane, (kind, backend)| {
        torture.finds_nothing(lane, kind, backend)
    })?;
    let so_far = Mutex::new(Vec::new());
    in_lanes(options.at_once, &wanted, |lane, bug| {
        let outcome = torture.outcome(lane, bug)?;
        let mut so_far = so_far.lock().unwrap_or_else(PoisonError::into_inner);
        so_far.push(outcome);
        if let Some(file) = &options.json {
            fs::write(file, serde_json::to_vec_pretty(&*so_far)?)?;
        }
        Ok(())
    })?;
    torture.servers.warn();
    let mut outcomes = so_far.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|outcome| bugs.iter().position(|bug| bug.name == outcome.bug));
    Ok(report(&outcomes))
}

/// Works on items in their order, `lanes` at once, each in a lane that is its own meanwhile; begins nothing more after
/// an error, and returns the first one.
fn in_lanes<T: Sync>(
    lanes: NonZeroUsize,
    items: &[T],
    work: impl Fn(usize, &T) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let work_on = |lane| {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = work(lane, item) {
                next.store(items.len(), Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let lanes: Vec<_> = (1..=lanes.get())
            .map(|lane| scope.spawn(move || work_on(lane)))
            .collect();
        let mut ends = lanes.into_iter().map(|lane| match lane.join() {
            Ok(end) => end,
            Err(panic) => resume_unwind(panic),
        });
        ends.try_for_each(|end| end)
    })
}

/// Reads the list of bugs.
pub(crate) fn parse(list: &str) -> anyhow::Result<Vec<Bug>> {
    let List { bugs } = toml::from_str(list).context(LIST)?;
    let mut names = BTreeSet::new();
    for bug in &bugs {
        let is_new = names.insert(&bug.name);
        ensure!(is_new, "{LIST}: two bugs are called '{}'", bug.name);
        let is_switched = bug.changes.iter().all(|one| one.replace.contains(IS_AWAKE));
        ensure!(
            is_switched && !bug.changes.is_empty(),
            "{LIST}: '{}' has a change without {IS_AWAKE}, or none: it would always be awake",
            bug.name
        );
    }
    Ok(bugs)
}

fn chosen<'a>(bugs: &'a [Bug], names: &[String]) -> anyhow::Result<Vec<&'a Bug>> {
    if names.is_empty() {
        return Ok(bugs.iter().collect());
    }
    names
        .iter()
        .map(|name| {
            let found = bugs.iter().find(|bug| bug.name == *name);
            found.with_context(|| format!("{LIST} has no bug '{name}'"))
        })
        .collect()
}

/// Copies the sources and puts all bugs into the copy. What has not changed keeps its time, so that it is not built again.
fn plant(bugs: &[Bug], copy: &PathBuf) -> anyhow::Result<()> {
    let fresh = copy.with_extension("fresh");
    if fresh.exists() {
        fs::remove_dir_all(&fresh).context("could not remove the last copy")?;
    }
    copy_folder(&workspace::root(), &fresh)?;
    for bug in bugs {
        for change in &bug.changes {
            let path = fresh.join(&change.file);
            let sound = fs::read_to_string(&path).with_context(|| change.file.clone())?;
            ensure!(
                sound.matches(&change.find).count() == 1,
                "'{}': what to find does not stand once in {}",
                bug.name,
                change.file
            );
            let awake = format!(
                "(std::env::var(\"{VARIABLE}\").is_ok_and(|bug| bug == \"{}\"))",
                bug.name
            );
            let replacement = change.replace.replace(IS_AWAKE, &awake);
            fs::write(&path, sound.replace(&change.find, &replacement))?;
        }
    }
    keep_times(&fresh, copy)?;
    if copy.exists() {
        fs::remove_dir_all(copy)?;
    }
    fs::rename(&fresh, copy)?;
    Ok(())
}

/// Sets for each file the time of the same one of an earlier copy.
fn keep_times(fresh: &Path, earlier: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(fresh)? {
        let path = entry?.path();
        let before = earlier.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            keep_times(&path, &before)?;
        } else if before.is_file() && fs::read(&before)? == fs::read(&path)? {
            let time = fs::metadata(&before)?.modified()?;
            fs::File::options()
                .write(true)
                .open(&path)?
                .set_modified(time)?;
        }
    }
    Ok(())
}

/// The torture with all bugs in it.
struct Torture {
    program: PathBuf,
    servers: Servers,
    keep: PathBuf,
    seed: u64,
}

impl Torture {
    /// Runs a kind without a bug.
    fn finds_nothing(&self, lane: usize, kind: &str, backend: &str) -> anyhow::Result<()> {
        let step = Step::start(format!("no bug: {kind} on {backend}"));
        let says = self.says(lane, &step, None, kind, backend, SOUND)?;
        step.end(match says {
            None => "nothing found",
            Some(_) => "FOUND",
        });
        match says {
            None => Ok(()),
            Some(says) => bail!("{kind} on {backend} finds something without any bug: {says}"),
        }
    }

    fn outcome<'a>(&self, lane: usize, bug: &'a Bug) -> anyhow::Result<Outcome<'a>> {
        let Bug {
            name,
            breaks,
            kind,
            backend,
            ..
        } = bug;
        let step = Step::start(format!("{name}: {kind} on {backend}"));
        let began = Instant::now();
        let says = self.says(lane, &step, Some(name), kind, backend, LONGEST)?;
        let took = began.elapsed();
        step.end(if says.is_some() { "found" } else { "NOT FOUND" });
        Ok(Outcome {
            bug: name,
            breaks,
            kind,
            backend,
            found: says.is_some(),
            seconds: (took.as_secs_f64() * 10.0).round() / 10.0,
            says,
        })
    }

    /// Runs a kind with a bug awake, or with none; returns the first sentence about what was violated.
    fn says(
        &self,
        lane: usize,
        step: &Step,
        bug: Option<&str>,
        kind: &str,
        backend: &str,
        length: Duration,
    ) -> anyhow::Result<Option<String>> {
        let mut command = Command::new(&self.program);
        workspace::forget_own_package(&mut command);
        command.env_remove(VARIABLE);
        if let Some(bug) = bug {
            command.env(VARIABLE, bug);
        }
        let keep = self.keep.join(format!("lane-{lane}"));
        fs::create_dir_all(&keep)?;
        let summaries = keep.join("summaries.json");
        command
            .args(["run", kind, "--backend", backend])
            .arg(format!("--for={}s", length.as_secs()))
            .arg(format!("--seed={}", self.seed))
            .arg("--keep")
            .arg(&keep)
            .arg("--json")
            .arg(&summaries);
        self.servers.tell(&mut command);
        let mut lines = Vec::new();
        let status = child::lines(command, |heard| match heard {
            Report::Line(line) => lines.push(line.to_owned()),
            Report::Silent => step.still_running(),
        })?;
        if !matches!(status.code(), Some(0 | FOUND)) {
            lines.iter().for_each(note);
            bail!("{kind} on {backend} ended with {status}");
        }
        let summaries: Vec<Summary> = serde_json::from_slice(&fs::read(&summaries)?)?;
        let found: Vec<_> = summaries.into_iter().flat_map(|one| one.found).collect();
        match found.iter().find(|says| !says.starts_with(BROKEN)) {
            Some(says) => Ok(Some(says.clone())),
            None if found.is_empty() => Ok(None),
            None => bail!("{kind} on {backend} did not work: {}", found.join("; ")),
        }
    }
}

/// The table, as it stands in the docs.
fn report(outcomes: &[Outcome<'_>]) -> ExitCode {
    println!("| bug | breaks | kind | backend | found after |");
    println!("|---|---|---|---|---|");
    for outcome in outcomes {
        let found = match outcome.found {
            true => seconds(Duration::from_secs_f64(outcome.seconds)),
            false => "never".to_owned(),
        };
        println!(
            "| {} | {} | `{}` | {} | {found} |",
            outcome.bug, outcome.breaks, outcome.kind, outcome.backend
        );
    }
    let found = outcomes.iter().filter(|outcome| outcome.found).count();
    println!("\n{found} of {} bugs found", outcomes.len());
    match found == outcomes.len() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUG: &str =
        "[[bug]]\nname = \"a\"\nbreaks = \"b\"\nkind = \"fight\"\nbackend = \"sqlite\"\n";

    /// Returns the items that this number of lanes begins, of which one fails, and how that ended.
    fn begun(lanes: usize, fails: Option<i32>) -> (Vec<i32>, anyhow::Result<()>) {
        let items: Vec<_> = (0..100).collect();
        let begun = Mutex::new(Vec::new());
        let ended = in_lanes(NonZeroUsize::new(lanes).unwrap(), &items, |_, item| {
            begun.lock().unwrap().push(*item);
            ensure!(Some(*item) != fails, "item {item}");
            Ok(())
        });
        let mut begun = begun.into_inner().unwrap();
        begun.sort_unstable();
        (begun, ended)
    }

    #[test]
    fn lanes_work_on_each_item_once_and_begin_none_after_an_error() {
        let (all, ended) = begun(3, None);
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        assert!(ended.is_ok());
        let (some, ended) = begun(1, Some(50));
        assert_eq!(some, (0..=50).collect::<Vec<_>>());
        assert_eq!(ended.unwrap_err().to_string(), "item 50");
        assert_eq!(begun(3, Some(50)).1.unwrap_err().to_string(), "item 50");
    }

    #[test]
    fn a_bug_that_would_always_be_awake_is_refused() {
        let change = "[[bug.change]]\nfile = \"a.rs\"\nfind = \"x\"\nreplace = \"PLANTED || x\"\n";
        assert_eq!(parse(&format!("{BUG}{change}")).unwrap().len(), 1);
        let always = change.replace("PLANTED", "true");
        assert!(parse(&format!("{BUG}{always}")).is_err());
        assert!(parse(BUG).is_err());
        assert!(parse(&format!("{BUG}{change}{BUG}{change}")).is_err());
    }
}
