//! No actor waits for ever for a store whose plugin blocks the threads on which its time limits are kept.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{Environment, start};
use actix_persistence_state_actor::{StateHandle, StateSettings};
use actix_persistence_storage_api::StorageError;
use actix_persistence_store_actor::StoreThread;
use actix_persistence_testkit::{Hook, Intercepted, Next, StateAnswer, StateCall, StateStores};
use async_trait::async_trait;
use tokio::runtime::Handle;

use super::memo::{Clear, Memo, Set};
use crate::tally::{Log, kind};
use crate::world::run_with_one_store_thread;

/// Blocks the thread of these calls until the other end is dropped.
struct Blocking {
    blocks: fn(&StateCall) -> bool,
    until: Mutex<mpsc::Receiver<()>>,
}

#[async_trait]
impl Hook<StateStores> for Blocking {
    async fn call(
        &self,
        call: StateCall,
        next: Next<StateStores>,
    ) -> Result<StateAnswer, StorageError> {
        if (self.blocks)(&call) {
            let _ = self.until.lock().unwrap().recv();
        }
        next.run(call).await
    }
}

/// Runs a test with stores whose only thread is blocked by these calls.
fn with_blocked<F: Future<Output = ()> + 'static>(
    blocks: fn(&StateCall) -> bool,
    test: impl FnOnce(Arc<Environment>) -> F + 'static,
) {
    run_with_one_store_thread(move |handle, until| async move {
        test(environment(blocks, until, handle).await).await;
    });
}

async fn environment(
    blocks: fn(&StateCall) -> bool,
    until: mpsc::Receiver<()>,
    runtime: Handle,
) -> Arc<Environment> {
    let storage = MemoryStorage::new();
    let until = Mutex::new(until);
    let hook = Blocking { blocks, until };
    let store = Arc::new(Intercepted::state_store_with(storage.state_store(), hook));
    let mut settings = StateSettings::new("test");
    let limit = Duration::from_millis(100);
    settings.recovery_timeout = limit;
    settings.write_timeout = limit;
    settings.circuit_breaker.call_timeout = limit;
    let thread = StoreThread::on_current_arbiter();
    let states = StateHandle::start(store, settings, runtime, &thread);
    states.ready().await.unwrap();
    Arc::new(Environment::of_states(states))
}

/// Waits until something is logged that begins and goes on like this.
async fn logged(log: &Log, beginning: &str, part: &str) {
    let is_it = |entry: &String| entry.starts_with(beginning) && entry.contains(part);
    while !log.take().iter().any(is_it) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn a_plugin_that_blocks_all_threads_of_the_stores_lets_recoveries_fail() {
    let reads = |call: &StateCall| matches!(call, StateCall::Get { .. });
    with_blocked(reads, |environment| async move {
        let log = Log::default();
        let memo = start(Memo::factory("1", &log), move |_| Ok(environment)).unwrap();
        logged(&log, "recovery failed", "did not answer within").await;
        drop(memo);
    });
}

#[test]
fn a_plugin_that_blocks_all_threads_of_the_stores_lets_changes_fail() {
    let upserts = |call: &StateCall| matches!(call, StateCall::Upsert { .. });
    with_blocked(upserts, |environment| async move {
        let log = Log::default();
        let memo = start(Memo::factory("1", &log), move |_| Ok(environment)).unwrap();
        let failed = memo.send(Set(1)).await.unwrap().unwrap_err();
        assert_eq!(kind(&failed), "Unknown");
        logged(&log, "failed 1 at 1: ", "Unknown").await;
    });
    let deletes = |call: &StateCall| matches!(call, StateCall::Delete { .. });
    with_blocked(deletes, |environment| async move {
        let log = Log::default();
        let memo = start(Memo::factory("1", &log), move |_| Ok(environment)).unwrap();
        assert_eq!(memo.send(Set(1)).await.unwrap().unwrap(), Some(1));
        let failed = memo.send(Clear).await.unwrap().unwrap_err();
        assert_eq!(kind(&failed), "Unknown");
        logged(&log, "failed none at 2: ", "Unknown").await;
    });
}
