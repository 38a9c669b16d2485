//! Timestamps and numbers only go forward.

use actix_persistence_storage_api::{StateDelete, Timestamp};

use crate::Tables;

use super::{id, state, store, timestamp_of};

/// A store whose clock is a day slower than that of the last writer goes on a microsecond after it, even after a
/// tombstone.
///
/// # Panics
/// If it does not.
pub async fn no_timestamp_goes_back_with_the_clock(tables: &dyn Tables) {
    const DAY: i64 = 24 * 60 * 60 * 1_000_000;
    let states = tables.open().await;
    store(&*states, state("a", 1)).await;
    let first = timestamp_of(&*states, "a").await.as_micros();
    let sql = format!("UPDATE durable_state SET timestamp = timestamp + {DAY}");
    tables.run(&sql).await;
    store(&*states, state("a", 2)).await;
    let after = |micros| Timestamp::from_micros(first + DAY + micros);
    assert_eq!(timestamp_of(&*states, "a").await, after(1));
    states
        .delete(StateDelete::new(id("a"), 3))
        .await
        .expect("it can be deleted");
    let stored = tables.number("SELECT timestamp FROM durable_state").await;
    assert_eq!(Timestamp::from_micros(stored), after(2));
    let elsewhere = tables.open().await;
    store(&*elsewhere, state("a", 4)).await;
    assert_eq!(timestamp_of(&*elsewhere, "a").await, after(3));
    // With a clock that is right the time is that of the clock.
    let before = Timestamp::now();
    store(&*states, state("b", 1)).await;
    let stored = timestamp_of(&*states, "b").await;
    assert!(before <= stored && stored <= Timestamp::now(), "{stored:?}");
}

/// Every change of an id has a higher number than the one before, even if the rows with the highest were removed.
///
/// # Panics
/// If it has not.
pub async fn no_number_of_a_change_is_used_again(tables: &dyn Tables) {
    const NUMBER: &str = "SELECT ordering FROM durable_state";
    let states = tables.open().await;
    let mut last = 0;
    for round in 0..3 {
        for revision in 1..=3 {
            if revision == 3 {
                states
                    .delete(StateDelete::new(id("a"), 3))
                    .await
                    .expect("it can be deleted");
            } else {
                store(&*states, state("a", revision)).await;
            }
            let number = tables.number(NUMBER).await;
            assert!(number > last, "{number} after {last} in round {round}");
            last = number;
        }
        let removed = states.hard_delete(&id("a")).await;
        assert!(removed.expect("it can be removed"));
    }
    // Neither has what was refused.
    store(&*states, state("a", 1)).await;
    let number = tables.number(NUMBER).await;
    assert!(states.upsert(state("a", 1)).await.is_err());
    assert_eq!(tables.number(NUMBER).await, number);
}
