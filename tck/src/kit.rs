//! The kit: fixtures in, test results out.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{Journal, SnapshotStore, StateExtensions, StateStore};
use async_trait::async_trait;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::subject::Place;
use crate::{BoxError, JournalFixture, SnapshotStoreFixture, StateStoreFixture};

mod run;
mod suite;

pub use run::{CaseOutcome, CaseReport};
use run::{Prepared, execute};
use suite::{PrepareSuite, Suite};

/// Every case of the contract, run on the stores of the given fixtures.
///
/// All cases of [`run`](Self::run) run on one multi-threaded tokio runtime, in parallel, each on a store of its own.
#[derive(Default)]
pub struct Kit {
    suites: Vec<Box<dyn PrepareSuite>>,
    case_timeout: Option<Duration>,
}

impl Kit {
    /// Makes a kit without fixtures.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `journal_spec` and `journal_serialization_spec` on the journals of a fixture.
    ///
    /// With a prefix such as `proxied`, the cases are called `proxied::journal_spec::...`.
    #[must_use]
    pub fn journal(mut self, prefix: &str, fixture: impl JournalFixture) -> Self {
        let expected_ignored = fixture.expected_ignored();
        let fixture = Arc::new(fixture);
        self.suites.push(Box::new(Suite::<dyn Journal> {
            prefix: prefix.to_owned(),
            expected_ignored,
            create: Arc::new(move || {
                let fixture = Arc::clone(&fixture);
                Box::pin(async move {
                    let store = fixture.create().await;
                    Arc::new(JournalPlace { store, fixture }) as Arc<dyn Place<dyn Journal>>
                })
            }),
        }));
        self
    }

    /// Adds `snapshot_store_spec` and `snapshot_store_serialization_spec` on the snapshot stores of a fixture.
    #[must_use]
    pub fn snapshot_store(mut self, prefix: &str, fixture: impl SnapshotStoreFixture) -> Self {
        let expected_ignored = fixture.expected_ignored();
        let fixture = Arc::new(fixture);
        self.suites.push(Box::new(Suite::<dyn SnapshotStore> {
            prefix: prefix.to_owned(),
            expected_ignored,
            create: Arc::new(move || {
                let fixture = Arc::clone(&fixture);
                Box::pin(async move {
                    let store = fixture.create().await;
                    let place = SnapshotStorePlace { store, fixture };
                    Arc::new(place) as Arc<dyn Place<dyn SnapshotStore>>
                })
            }),
        }));
        self
    }

    /// Adds `durable_state_store_spec` and `state_queries_spec` on the state stores of a fixture.
    #[must_use]
    pub fn state_store(mut self, prefix: &str, fixture: impl StateStoreFixture) -> Self {
        let expected_ignored = fixture.expected_ignored();
        let fixture = Arc::new(fixture);
        self.suites.push(Box::new(Suite::<dyn StateStore> {
            prefix: prefix.to_owned(),
            expected_ignored,
            create: Arc::new(move || {
                let fixture = Arc::clone(&fixture);
                Box::pin(async move {
                    let store = fixture.create().await;
                    Arc::new(StateStorePlace { store, fixture }) as Arc<dyn Place<dyn StateStore>>
                })
            }),
        }));
        self
    }

    /// Sets the time after which a running case counts as failed; 60 seconds if not set.
    #[must_use]
    pub fn with_case_timeout(mut self, case_timeout: Duration) -> Self {
        self.case_timeout = Some(case_timeout);
        self
    }

    /// Runs as a test binary: understands the usual arguments, prints the usual lines.
    ///
    /// For a `[[test]]` target with `harness = false`.
    pub fn run(self) -> ExitCode {
        let arguments = Arguments::from_args();
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

    /// Runs every case, one after the other, and tells what became of each; for tests of the kit itself.
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
        prepared
    }
}

struct JournalPlace<F: JournalFixture> {
    store: F::Store,
    fixture: Arc<F>,
}

#[async_trait]
impl<F: JournalFixture> Place<dyn Journal> for JournalPlace<F> {
    async fn open(&self) -> Result<Arc<dyn Journal>, BoxError> {
        self.fixture.open(&self.store).await
    }
}

struct SnapshotStorePlace<F: SnapshotStoreFixture> {
    store: F::Store,
    fixture: Arc<F>,
}

#[async_trait]
impl<F: SnapshotStoreFixture> Place<dyn SnapshotStore> for SnapshotStorePlace<F> {
    async fn open(&self) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        self.fixture.open(&self.store).await
    }
}

struct StateStorePlace<F: StateStoreFixture> {
    store: F::Store,
    fixture: Arc<F>,
}

#[async_trait]
impl<F: StateStoreFixture> Place<dyn StateStore> for StateStorePlace<F> {
    async fn open(&self) -> Result<Arc<dyn StateStore>, BoxError> {
        self.fixture.open(&self.store).await
    }

    async fn open_with(
        &self,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        self.fixture.open_with(&self.store, extensions).await
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

fn new_runtime(threads: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("tck")
        .enable_all()
        .build()
        .expect("a tokio runtime starts wherever tests do")
}

/// A store that hangs in a blocking call must not keep the results from being seen.
fn end(runtime: Runtime) {
    runtime.shutdown_timeout(Duration::from_secs(1));
}
