//! Runs the jobs of the tests, several at once: most of them wait for servers, disks and other processes.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::job::Job;
use super::report::Run;
use super::screen::{JobNr, Screen};
use crate::child::{self, Report as Heard};
use crate::progress;

/// The number of jobs that run at once, unless they measure.
pub(crate) const LANES: usize = 2;
/// The time after which a job that still runs is named.
const LONG: Duration = Duration::from_secs(30);

/// The state that the lanes share.
struct Shared {
    waiting: VecDeque<(JobNr, Job)>,
    screen: Screen,
    runs: Vec<(JobNr, Vec<Run>)>,
}

/// Runs all jobs, this many at once, and returns their runs in the order of the jobs. Fails if one could not be started or
/// waited for; then no other is begun.
///
/// Those that need most servers are begun first, because they take longest; then the doctests, so that they do not run alone
/// in the end; then large programs before small ones.
pub(crate) fn run_all(jobs: Vec<Job>, at_once: usize) -> io::Result<Vec<Run>> {
    let mut waiting: VecDeque<_> = jobs.into_iter().enumerate().collect();
    waiting
        .make_contiguous()
        .sort_by_key(|(_, job)| std::cmp::Reverse((job.servers, job.is_doctests(), job.size)));
    let shared = Mutex::new(Shared {
        waiting,
        screen: Screen::default(),
        runs: Vec::new(),
    });
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..at_once)
            .map(|_| scope.spawn(|| run_waiting(&shared)))
            .collect();
        let mut outcome = Ok(());
        for lane in lanes {
            let panicked = |_| Err(io::Error::other("running a test program panicked"));
            outcome = outcome.and(lane.join().unwrap_or_else(panicked));
        }
        outcome
    })?;
    let mut runs = shared
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .runs;
    runs.sort_by_key(|(nr, _)| *nr);
    Ok(runs.into_iter().flat_map(|(_, runs)| runs).collect())
}

fn run_waiting(shared: &Mutex<Shared>) -> io::Result<()> {
    loop {
        let Some((nr, job)) = lock(shared).waiting.pop_front() else {
            return Ok(());
        };
        match run(nr, job, shared) {
            Ok(runs) => lock(shared).runs.push((nr, runs)),
            Err(error) => {
                lock(shared).waiting.clear();
                return Err(error);
            }
        }
    }
}

fn run(nr: JobNr, mut job: Job, shared: &Mutex<Shared>) -> io::Result<Vec<Run>> {
    let name = job.name.clone();
    let begun = Instant::now();
    let mut told = begun;
    lock(shared).screen.begin(nr, &name);
    let status = child::lines(job.command(), |heard| {
        if let Heard::Line(line) = heard {
            job.hear(line);
            lock(shared).screen.line(nr, line);
        }
        if told.elapsed() >= LONG {
            told = Instant::now();
            let age = progress::seconds(begun.elapsed());
            progress::note(format_args!("{name}: still running, {age}"));
        }
    })?;
    let (runs, verdict) = job.end(status);
    let age = progress::seconds(begun.elapsed());
    let note = format!("{name}: {verdict}, {age}");
    lock(shared).screen.end(nr, note);
    Ok(runs)
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
