//! Outages on a paused clock.

use std::sync::atomic::AtomicBool;

use futures_util::FutureExt;

use super::*;
use crate::{BreakerSettings, CircuitBreaker};

/// A store that answers pings from a moment on, or leaves them hanging.
#[derive(Clone, Default)]
struct Scripted {
    works: Arc<AtomicBool>,
    hangs: Arc<AtomicBool>,
    pings: Arc<AtomicUsize>,
}

impl Scripted {
    fn health(&self) -> Arc<StoreHealth> {
        let script = self.clone();
        let ping = move || {
            script.pings.fetch_add(1, Ordering::Relaxed);
            let script = script.clone();
            Box::pin(async move {
                if script.hangs.load(Ordering::Relaxed) {
                    std::future::pending::<()>().await;
                }
                if script.works.load(Ordering::Relaxed) {
                    Ok(())
                } else {
                    Err(unavailable())
                }
            }) as _
        };
        let health = StoreHealth::new("test", Handle::current(), Box::new(ping));
        health.initialized();
        health
    }

    fn pings(&self) -> usize {
        self.pings.load(Ordering::Relaxed)
    }

    fn work(&self, works: bool) {
        self.works.store(works, Ordering::Relaxed);
    }
}

fn unavailable() -> StorageError {
    StorageError::new(StorageErrorKind::Unavailable, Operation::ReadHead)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn waiters_learn_of_the_return_within_two_seconds_after_any_outage() {
    let store = Scripted::default();
    let health = store.health();
    let breaker = CircuitBreaker::new("test", BreakerSettings::journal(), &health);
    for _ in 0..10 {
        breaker.enter().unwrap().ended::<()>(&Err(unavailable()));
    }
    assert!(breaker.check().is_err() && health.accounts_for(&unavailable()));
    let returned = tokio::spawn(health.returned());
    tokio::time::sleep(seconds(25)).await;
    assert!(!returned.is_finished() && store.pings() > 20);
    store.work(true);
    let back = Instant::now();
    returned.await.unwrap();
    assert!(back.elapsed() < seconds(2), "{:?}", back.elapsed());
    assert!(breaker.check().is_ok());
    let pings = store.pings();
    tokio::time::sleep(seconds(60)).await;
    assert_eq!(store.pings(), pings);
}

#[tokio::test(start_paused = true)]
async fn probes_that_hang_are_few_and_do_not_keep_the_return_from_being_noticed() {
    let store = Scripted::default();
    let health = store.health();
    store.hangs.store(true, Ordering::Relaxed);
    health.failed(&unavailable());
    tokio::time::sleep(seconds(3)).await;
    assert_eq!(store.pings(), 2);
    store.hangs.store(false, Ordering::Relaxed);
    store.work(true);
    let back = Instant::now();
    health.returned().await;
    assert!(back.elapsed() < seconds(3), "{:?}", back.elapsed());

    let before = store.pings();
    store.hangs.store(true, Ordering::Relaxed);
    tokio::time::sleep(seconds(60)).await;
    health.failed(&unavailable());
    tokio::time::sleep(seconds(600)).await;
    assert_eq!(store.pings(), before + MAX_UNANSWERED);
}

#[tokio::test(start_paused = true)]
async fn the_pauses_grow_for_a_store_that_answers_probes_and_fails_calls() {
    let store = Scripted::default();
    let health = store.health();
    store.work(true);
    let mut rests = Vec::new();
    for _ in 0..12 {
        health.failed(&unavailable());
        let failed = Instant::now();
        let works = |condition: &Condition| matches!(condition, Condition::Works { .. });
        health.condition.wait_for(works).await;
        rests.push(failed.elapsed());
    }
    assert!(rests[0] < Duration::from_millis(200), "{rests:?}");
    assert!(rests.is_sorted(), "{rests:?}");
    assert!(rests[11] >= LONGEST_REST, "{rests:?}");
    // After good work it is trusted again.
    tokio::time::sleep(seconds(60)).await;
    health.failed(&unavailable());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(matches!(health.condition.get(), Condition::Works { .. }));
}

#[tokio::test(start_paused = true)]
async fn probing_begins_once_the_store_was_ready_and_ends_when_it_closes() {
    let store = Scripted::default();
    let health = store.health();
    health.failed(&unavailable());
    tokio::time::sleep(seconds(5)).await;
    let pings = store.pings();
    assert!(pings > 0);
    drop(health);
    tokio::time::sleep(seconds(60)).await;
    assert_eq!(store.pings(), pings);

    let health = store.health();
    health.failed(&unavailable());
    health.rest();
    tokio::time::sleep(seconds(60)).await;
    assert_eq!(store.pings(), pings);
    // It is used on: what happens then is looked at again.
    health.failed(&unavailable());
    tokio::time::sleep(seconds(60)).await;
    assert!(store.pings() > pings);

    let ping = || panic!("the store is not ready");
    let health = StoreHealth::new("test", Handle::current(), Box::new(ping));
    health.failed(&unavailable());
    let returned = tokio::spawn(health.returned());
    tokio::time::sleep(seconds(60)).await;
    assert!(!returned.is_finished());
    health.initialized();
    returned.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_no_outage_looks_like_begins_none_and_is_accounted_for_by_none() {
    use StorageErrorKind::{Backend, Busy, Corrupt, TooLarge};
    for kind in [Backend, Busy, Corrupt, TooLarge] {
        let health = Scripted::default().health();
        let error = StorageError::new(kind, Operation::ReadHead);
        health.note::<()>(&Err(error.clone()));
        assert!(!health.accounts_for(&unavailable()));
        assert!(health.returned().now_or_never().is_none());
        health.note::<()>(&Err(unavailable()));
        assert!(health.accounts_for(&unavailable()));
        assert!(!health.accounts_for(&error));
    }
}

/// Lets a call fail on another thread just when the store is found to work again.
struct FailsMeanwhile {
    health: Weak<StoreHealth>,
    failing: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl Barrier for FailsMeanwhile {
    fn readmit(&self) {
        let Some(health) = self.health.upgrade() else {
            return;
        };
        let (failed, has_failed) = std::sync::mpsc::channel();
        let failing = std::thread::spawn(move || {
            health.failed(&unavailable());
            let _ = failed.send(());
        });
        // It would be through by then, if it had not to wait for us.
        let _ = has_failed.recv_timeout(Duration::from_millis(100));
        *self.failing.lock().unwrap() = Some(failing);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_while_the_store_comes_back_begins_an_outage() {
    let store = Scripted::default();
    let health = store.health();
    let barrier = Arc::new(FailsMeanwhile {
        health: Arc::downgrade(&health),
        failing: Mutex::default(),
    });
    health.attach(Arc::downgrade(&barrier) as Weak<dyn Barrier>);
    store.work(true);
    health.failed(&unavailable());
    // The first probe comes before.
    tokio::time::sleep(Duration::from_millis(150)).await;
    let failing = barrier.failing.lock().unwrap().take();
    failing.expect("the store came back").join().unwrap();
    assert!(matches!(health.condition.get(), Condition::Fails));
}
