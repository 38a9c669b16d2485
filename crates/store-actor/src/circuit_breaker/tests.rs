//! The breaker on a paused clock.

use tokio::time::advance;

use super::*;

const RESET: Duration = Duration::from_secs(30);

fn breaker(settings: BreakerSettings) -> Arc<CircuitBreaker> {
    CircuitBreaker::new("test", settings, &away())
}

/// Returns the health of a store that never answers a probe.
fn away() -> Arc<StoreHealth> {
    let ping = || Box::pin(std::future::pending()) as _;
    StoreHealth::new("test", tokio::runtime::Handle::current(), Box::new(ping))
}

fn fail(breaker: &Arc<CircuitBreaker>, times: u32) {
    for _ in 0..times {
        breaker.enter().expect("closed").failed();
    }
}

fn remaining(breaker: &Arc<CircuitBreaker>) -> Duration {
    breaker.check().expect_err("open").remaining
}

#[tokio::test(start_paused = true)]
async fn opens_after_so_many_failures_in_a_row() {
    let breaker = breaker(BreakerSettings::journal());
    fail(&breaker, 9);
    breaker.enter().unwrap().succeeded();
    fail(&breaker, 9);
    assert!(breaker.check().is_ok());
    fail(&breaker, 1);
    assert_eq!(remaining(&breaker), RESET);
    advance(RESET - Duration::from_millis(1)).await;
    assert_eq!(remaining(&breaker), Duration::from_millis(1));
}

#[tokio::test(start_paused = true)]
async fn lets_exactly_one_trial_through() {
    let breaker = breaker(BreakerSettings::journal());
    fail(&breaker, 10);
    advance(RESET).await;
    let trial = breaker.enter().expect("the trial");
    for _ in 0..10 {
        assert!(breaker.enter().is_err());
    }
    trial.succeeded();
    fail(&breaker, 9);
    assert!(breaker.check().is_ok());
}

#[tokio::test(start_paused = true)]
async fn calls_that_never_came_to_the_store_count_as_neither() {
    let busy = Err::<(), _>(StorageError::new(
        StorageErrorKind::Busy,
        actix_persistence_storage_api::Operation::WriteMessages,
    ));
    let breaker = breaker(BreakerSettings::journal());
    for _ in 0..40 {
        breaker.enter().expect("closed").ended(&busy);
    }
    // They do not make up for failures, either: while a store hangs, most calls find no connection.
    for _ in 0..10 {
        breaker.enter().expect("closed").ended(&busy);
        fail(&breaker, 1);
    }
    assert_eq!(remaining(&breaker), RESET);
    advance(RESET).await;
    breaker.enter().expect("the trial").ended(&busy);
    assert_eq!(remaining(&breaker), RESET);
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_is_dropped_counts_as_failed() {
    let breaker = breaker(BreakerSettings::journal());
    fail(&breaker, 10);
    advance(RESET).await;
    drop(breaker.enter().expect("the trial"));
    assert_eq!(remaining(&breaker), RESET);
    advance(RESET).await;
    assert!(breaker.enter().is_ok());
}

#[tokio::test(start_paused = true)]
async fn ignores_results_from_before_it_changed() {
    let breaker = breaker(BreakerSettings::journal());
    let (late_success, late_failure) = (breaker.enter().unwrap(), breaker.enter().unwrap());
    fail(&breaker, 10);
    late_success.succeeded();
    assert_eq!(remaining(&breaker), RESET);
    advance(RESET).await;
    let trial = breaker.enter().expect("the trial");
    late_failure.failed();
    trial.succeeded();
    assert!(breaker.check().is_ok());
}

#[tokio::test(start_paused = true)]
async fn stays_open_longer_after_each_failed_trial_up_to_the_longest() {
    let breaker = breaker(BreakerSettings {
        max_reset_timeout: Duration::from_secs(100),
        exponential_backoff: 2.0,
        ..BreakerSettings::journal()
    });
    fail(&breaker, 10);
    for seconds in [30, 60, 100, 100] {
        let open_for = Duration::from_secs(seconds);
        assert_eq!(remaining(&breaker), open_for);
        advance(open_for).await;
        breaker.enter().expect("the trial").failed();
    }
    advance(Duration::from_secs(100)).await;
    breaker.enter().expect("the trial").succeeded();
    fail(&breaker, 10);
    assert_eq!(remaining(&breaker), RESET);
}

#[test]
fn no_setting_makes_the_time_to_stay_open_overflow() {
    let settings = BreakerSettings {
        exponential_backoff: f64::MAX,
        random_factor: f64::MAX,
        ..BreakerSettings::journal()
    };
    assert_eq!(settings.open_for(u32::MAX), settings.max_reset_timeout);
    let jittered = BreakerSettings {
        random_factor: 0.2,
        ..BreakerSettings::journal()
    };
    for _ in 0..100 {
        let open_for = jittered.open_for(7);
        assert!(open_for >= RESET && open_for <= RESET.mul_f64(1.2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_breaker_stays_open_without_end_if_it_is_told_to() {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);

    let breaker = breaker(BreakerSettings {
        reset_timeout: Duration::MAX,
        ..BreakerSettings::journal()
    });
    fail(&breaker, 10);
    assert!(remaining(&breaker) > YEAR);
    advance(YEAR).await;
    assert!(remaining(&breaker) > YEAR);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_names_the_breaker_and_the_time_left() {
    use actix_persistence_storage_api::{Operation, PersistenceId};

    let breaker = CircuitBreaker::new(
        "writes of journal \"sqlite\"",
        BreakerSettings::journal(),
        &away(),
    );
    fail(&breaker, 10);
    let refusal = Refusal::from(breaker.check().unwrap_err());
    let error = refusal.error(Operation::WriteMessages, Some(&PersistenceId::of("T", "1")));
    assert!(error.is_not_stored());
    assert_eq!(
        error.to_string(),
        "could not write events of \"T|1\": the store is not available: \
         the circuit breaker for writes of journal \"sqlite\" is open for another 30s"
    );
}

#[tokio::test(start_paused = true)]
async fn a_probe_lets_all_calls_through_and_the_next_failure_opens_it_again() {
    let breaker = breaker(BreakerSettings {
        exponential_backoff: 2.0,
        ..BreakerSettings::journal()
    });
    fail(&breaker, 10);
    let late = breaker.position.lock().unwrap().generation;
    breaker.readmit();
    let calls: Vec<_> = (0..5).map(|_| breaker.enter().expect("closed")).collect();
    // A call that began before the probe shows nothing any more.
    breaker.report(late, End::Failure);
    assert!(breaker.check().is_ok());
    fail(&breaker, 1);
    // A failed trial, as it were.
    assert_eq!(remaining(&breaker), RESET * 2);
    calls.into_iter().for_each(Entry::succeeded);
    assert_eq!(remaining(&breaker), RESET * 2);

    breaker.readmit();
    breaker.enter().unwrap().succeeded();
    fail(&breaker, 9);
    assert!(breaker.check().is_ok());
    fail(&breaker, 1);
    assert_eq!(remaining(&breaker), RESET);
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_hangs_when_a_probe_works_delays_no_call() {
    let breaker = breaker(BreakerSettings::journal());
    fail(&breaker, 10);
    advance(RESET).await;
    let trial = breaker.enter().expect("the trial");
    assert!(breaker.check().is_err());
    breaker.readmit();
    assert!(breaker.check().is_ok());
    trial.failed();
    assert!(breaker.check().is_ok());
}
