//! `cargo xtask planted [BUG..]`: puts bugs into a copy of the sources, and expects each to be found.
//!
//! The sources themselves stay clean, so that no release can have such a bug. All of them are put into one copy, each
//! asleep until a variable of the environment names it: one build serves them all. A kind of torture finds a bug, or the
//! tests that were written when a fault was mended do, where no kind looks. While all are asleep, nothing may be found.

mod bug;
mod copy;
mod guards;
mod kinds;
mod results;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use actix_persistence_test_servers::Database;
use anyhow::Context;

use crate::progress::{Step, note};
use crate::servers::{self, Servers};
use crate::torture;
use crate::tree::Tree;
use crate::workspace::{self, Workspace};
use bug::{Bug, Hunter};
use guards::Guards;
use kinds::Torture;
use results::Outcome;

pub(crate) use bug::{LISTS, read_all};
pub(crate) use copy::build_there;
pub(crate) use results::{RESULTS, found, table};

/// Names the bug that is awake.
const VARIABLE: &str = "ACTIX_PERSISTENCE_PLANTED_BUG";
/// The longest time that it may take to find a bug, on a machine on which the tests without one take as long as they should.
const LONGEST: Duration = Duration::from_secs(120);

const SEED: u64 = 1;
const AT_ONCE: NonZeroUsize = NonZeroUsize::new(2).unwrap();

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The bugs by name; all of them if there is none.
    bugs: Vec<String>,
    /// A file for the results, a list of `{bug, breaks, hunter, found, seconds, says}`; what it has of other bugs stays.
    #[arg(long)]
    json: Option<PathBuf>,
    /// The seed of every random decision of the torture.
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// The number of bugs that are hunted at once: each hunt waits for disks, servers and clocks much of the time.
    #[arg(long, default_value_t = AT_ONCE)]
    at_once: NonZeroUsize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bugs: Vec::new(),
            json: None,
            seed: SEED,
            at_once: AT_ONCE,
        }
    }
}

/// Builds torture and tests with all bugs asleep, and wakes one after the other.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let bugs = read_all(&Tree::load(&workspace::root())?)?;
    hunt(&bugs, &chosen(&bugs, &options.bugs)?, options)
}

/// Does so with the bugs of one list.
pub(crate) fn run_list(list: &str) -> anyhow::Result<ExitCode> {
    let bugs = read_all(&Tree::load(&workspace::root())?)?;
    let wanted: Vec<_> = bugs.iter().filter(|bug| bug.list == list).collect();
    hunt(&bugs, &wanted, &Options::default())
}

fn hunt(bugs: &[Bug], wanted: &[&Bug], options: &Options) -> anyhow::Result<ExitCode> {
    let kinds = BTreeSet::from_iter(wanted.iter().filter_map(|bug| bug.hunter.kind()));
    let tests = BTreeSet::from_iter(wanted.iter().flat_map(|bug| bug.hunter.tests()));
    let folder = workspace::root().join("target/planted");
    let (copy, target) = (folder.join("sources"), folder.join("target"));
    copy::plant(bugs, &copy)?;
    let mut hunters = Hunters::default();
    if !kinds.is_empty() {
        let Some(program) = torture::build(false, Some((&copy, &target)))? else {
            return Ok(ExitCode::FAILURE);
        };
        hunters.torture = Some(Torture {
            program,
            keep: folder.join("found"),
            seed: options.seed,
        });
    }
    if !tests.is_empty() {
        let Some(guards) = Guards::build(tests.iter().copied(), &copy, &target)? else {
            return Ok(ExitCode::FAILURE);
        };
        hunters.guards = Some(guards);
    }
    let workspace = Workspace::load()?;
    let packages: Vec<_> = tests.iter().map(|test| test.package.as_str()).collect();
    let mut needed = servers::needed_by(&workspace.members_called(&packages));
    for database in Database::ALL {
        if kinds.iter().any(|kind| kind.backend == database.key()) && !needed.contains(&database) {
            needed.push(database);
        }
    }
    let servers = Servers::start(&workspace, needed);

    let kinds: Vec<_> = kinds.into_iter().collect();
    in_lanes(options.at_once, &kinds, |lane, kind| {
        hunters.torture()?.finds_nothing(lane, kind, &servers)
    })?;
    let tests: Vec<_> = tests.into_iter().collect();
    in_lanes(options.at_once, &tests, |_, test| {
        hunters.guards()?.passes(test, &servers)
    })?;
    let so_far = Mutex::new(Vec::new());
    in_lanes(options.at_once, wanted, |lane, bug| {
        let outcome = hunters.outcome(lane, bug, &servers)?;
        let mut so_far = so_far.lock().unwrap_or_else(PoisonError::into_inner);
        so_far.push(outcome.clone());
        if let Some(file) = &options.json {
            results::enter(file, bugs, outcome)?;
        }
        Ok(())
    })?;
    servers.warn();
    let mut outcomes = so_far.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|outcome| bugs.iter().position(|bug| bug.name == outcome.bug));
    Ok(report(&outcomes))
}

/// The programs that hunt bugs; one is there if a bug needs it.
#[derive(Default)]
struct Hunters {
    torture: Option<Torture>,
    guards: Option<Guards>,
}

impl Hunters {
    fn torture(&self) -> anyhow::Result<&Torture> {
        self.torture.as_ref().context("the torture was not built")
    }

    fn guards(&self) -> anyhow::Result<&Guards> {
        self.guards.as_ref().context("the tests were not built")
    }

    fn outcome(&self, lane: usize, bug: &Bug, servers: &Servers) -> anyhow::Result<Outcome> {
        let Bug {
            name,
            breaks,
            hunter,
            ..
        } = bug;
        let step = Step::start(format!("{name}: {hunter}"));
        let began = Instant::now();
        let says = match hunter {
            Hunter::Kind(kind) => self.torture()?.hunts(lane, &step, name, kind, servers)?,
            Hunter::Tests(tests) => self.guards()?.hunt(&step, name, tests, servers)?,
        };
        let took = began.elapsed();
        step.end(if says.is_some() { "found" } else { "NOT FOUND" });
        if let Some(says) = &says {
            note(format_args!("{name}: {says}"));
        }
        Ok(Outcome {
            bug: name.clone(),
            breaks: breaks.clone(),
            hunter: hunter.to_string(),
            found: says.is_some(),
            seconds: (took.as_secs_f64() * 10.0).round() / 10.0,
            says,
        })
    }
}

/// Lets a program run with a bug awake, or with none.
fn wake(command: &mut Command, bug: Option<&str>) {
    match bug {
        Some(bug) => command.env(VARIABLE, bug),
        None => command.env_remove(VARIABLE),
    };
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

fn chosen<'a>(bugs: &'a [Bug], names: &[String]) -> anyhow::Result<Vec<&'a Bug>> {
    if names.is_empty() {
        return Ok(bugs.iter().collect());
    }
    names
        .iter()
        .map(|name| {
            let found = bugs.iter().find(|bug| bug.name == *name);
            found.with_context(|| format!("{LISTS} has no bug '{name}'"))
        })
        .collect()
}

/// Prints the table, and says how many were found.
fn report(outcomes: &[Outcome]) -> ExitCode {
    print!("{}", results::table_of(outcomes));
    let found = outcomes.iter().filter(|outcome| outcome.found).count();
    println!("\n{found} of {} bugs found", outcomes.len());
    match found == outcomes.len() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::ensure;

    use super::*;

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
}
