//! The kit: fixtures in, test results out.

use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{Journal, OffsetStore, SnapshotStore, StateStore};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Handle;

use crate::Fixture;
use crate::runtime::{end, new_runtime};
use crate::site::{Site, places};
use crate::specs::Specified;
use crate::subject::Place;

mod run;
mod suite;

pub use run::{CaseOutcome, CaseReport};
use run::{Prepared, execute};
use suite::{PrepareSuite, Presence, Suite};

/// The kit: every case of the contract, run on the stores of the given fixtures.
///
/// All cases of [`run`](Self::run) run on one multi-threaded tokio runtime, in parallel, each on a store of its own.
#[derive(Default)]
pub struct Kit {
    suites: Vec<Box<dyn PrepareSuite>>,
    clauses: Option<&'static [&'static str]>,
    case_timeout: Option<Duration>,
}

impl Kit {
    /// Makes a kit without fixtures.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds every spec on the stores of a fixture; without `offset_store_spec` if it has [no offset
    /// store](crate::NoOffsetStore).
    ///
    /// With a prefix such as `proxied`, the cases are called `proxied::journal_spec::...`.
    #[must_use]
    pub fn stores(self, prefix: &str, fixture: impl Fixture) -> Self {
        let fixture = Arc::new(fixture);
        self.suite::<dyn Journal, _>(prefix, &fixture, Presence::Needed)
            .suite::<dyn SnapshotStore, _>(prefix, &fixture, Presence::Needed)
            .suite::<dyn StateStore, _>(prefix, &fixture, Presence::Needed)
            .suite::<dyn OffsetStore, _>(prefix, &fixture, Presence::Optional)
    }

    /// Adds `journal_spec`, `journal_serialization_spec` and `event_queries_spec` on the journals of a fixture.
    #[must_use]
    pub fn journal(self, prefix: &str, fixture: impl Fixture) -> Self {
        self.suite::<dyn Journal, _>(prefix, &Arc::new(fixture), Presence::Needed)
    }

    /// Adds `snapshot_store_spec` and `snapshot_store_serialization_spec` on the snapshot stores of a fixture.
    #[must_use]
    pub fn snapshot_store(self, prefix: &str, fixture: impl Fixture) -> Self {
        self.suite::<dyn SnapshotStore, _>(prefix, &Arc::new(fixture), Presence::Needed)
    }

    /// Adds `durable_state_store_spec`, `durable_state_extensions_spec` and `state_queries_spec` on the state stores of
    /// a fixture.
    #[must_use]
    pub fn state_store(self, prefix: &str, fixture: impl Fixture) -> Self {
        self.suite::<dyn StateStore, _>(prefix, &Arc::new(fixture), Presence::Needed)
    }

    /// Adds `offset_store_spec` on the offset stores of a fixture.
    #[must_use]
    pub fn offset_store(self, prefix: &str, fixture: impl Fixture) -> Self {
        self.suite::<dyn OffsetStore, _>(prefix, &Arc::new(fixture), Presence::Needed)
    }

    fn suite<S: Specified + ?Sized, F: Fixture>(
        mut self,
        prefix: &str,
        fixture: &Arc<F>,
        presence: Presence,
    ) -> Self
    where
        Site<F>: Place<S>,
    {
        self.suites.push(Box::new(Suite::<S> {
            prefix: prefix.to_owned(),
            presence,
            expected_ignored: fixture.expected_ignored(),
            create: places(fixture),
        }));
        self
    }

    /// Leaves the cases out that cite none of these clauses, such as `J-WRITE-4`; the checks of fixtures stay.
    #[must_use]
    pub fn citing(mut self, clauses: &'static [&'static str]) -> Self {
        self.clauses = Some(clauses);
        self
    }

    /// Sets the time after which a running case counts as failed; 60 seconds if not set.
    #[must_use]
    pub fn with_case_timeout(mut self, case_timeout: Duration) -> Self {
        self.case_timeout = Some(case_timeout);
        self
    }

    /// Runs as a test binary: understands the usual arguments, prints the usual lines. Four cases for each core run at once,
    /// but at most sixteen, or two for each core if that is more; `--test-threads` changes it.
    ///
    /// For a `[[test]]` target with `harness = false`.
    pub fn run(self) -> ExitCode {
        let mut arguments = Arguments::from_args();
        arguments.test_threads.get_or_insert_with(cases_at_once);
        let runtime = new_runtime(4);
        let limit = self.case_limit();
        let trials = runtime
            .block_on(self.prepare())
            .into_iter()
            .map(|prepared| trial(prepared, runtime.handle().clone(), limit))
            .collect();
        let conclusion = libtest_mimic::run(&arguments, trials);
        end(runtime);
        conclusion.exit_code()
    }

    /// Runs every case, one after the other, and returns the result of each; for tests of the kit itself.
    ///
    /// On one worker thread, where tasks that yield to each other do so in the same order every time: whether a case
    /// finds a fault is then no matter of luck.
    ///
    /// Must not be called on a tokio runtime.
    pub fn collect(self) -> Vec<CaseReport> {
        let runtime = new_runtime(1);
        let limit = self.case_limit();
        let reports = runtime
            .block_on(self.prepare())
            .into_iter()
            .map(|prepared| prepared.report(runtime.handle(), limit))
            .collect();
        end(runtime);
        reports
    }

    fn case_limit(&self) -> Duration {
        self.case_timeout.unwrap_or(Duration::from_secs(60))
    }

    async fn prepare(self) -> Vec<Prepared> {
        let mut prepared = Vec::new();
        for suite in self.suites {
            prepared.extend(suite.prepare().await);
        }
        if let Some(clauses) = self.clauses {
            prepared.retain(|prepared| prepared.cites_any(clauses));
        }
        prepared
    }
}

fn trial(prepared: Prepared, runtime: Handle, limit: Duration) -> Trial {
    let ignored = prepared.is_ignored();
    let name = prepared.name.clone();
    Trial::test(name, move || {
        execute(prepared, &runtime, limit).map_err(Failed::from)
    })
    .with_ignored_flag(ignored)
}

/// Returns the number of cases that run at once: more than there are cores, for they wait for disks, locks and time-outs; on
/// many cores not as many more, because each case has connections of its own.
fn cases_at_once() -> usize {
    let cores = std::thread::available_parallelism().map_or(2, NonZero::get);
    (4 * cores).min(16).max(2 * cores)
}
