//! The tokio runtime that the stores work on.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// Starts a runtime with this number of worker threads.
pub(crate) fn new_runtime(threads: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("tck")
        .enable_all()
        .build()
        .expect("a tokio runtime starts wherever tests do")
}

/// Ends a runtime soon: a store that hangs in a blocking call must not keep the results from being seen.
pub(crate) fn end(runtime: Runtime) {
    runtime.shutdown_timeout(Duration::from_secs(1));
}
