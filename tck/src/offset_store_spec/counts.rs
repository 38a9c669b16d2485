//! The counts of handled items, and the times that shares have reached.

use actix_persistence_storage_api::{OffsetStore, ProjectionChange, ProjectionKey, Timestamp};

use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect_eq};
use crate::offset_steps::{expect_refused, go_on, record, registered, step, take};
use crate::parking_steps::store;
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(add_up_what_commits_have_handled, ["O-COMMIT-7"]),
    case!(keep_the_sum_of_counts_over_changes, ["O-CHANGE-5"]),
    case!(keep_no_time_where_a_share_has_reached_none, ["O-CHANGE-5"]),
];

/// Returns the number of handled items and the time of each share.
async fn counts(
    store: &dyn OffsetStore,
    key: &ProjectionKey,
) -> Result<Vec<(u64, Option<i64>)>, Failure> {
    let shares = record(store, key).await?.shares.into_iter();
    let counts = shares.map(|share| {
        let time = share.reached_time.map(Timestamp::as_micros);
        (share.handled, time)
    });
    Ok(counts.collect())
}

async fn add_up_what_commits_have_handled(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let key = registered(subject.store(), 2).await?;
    let mut taken = take(subject.store(), &key, 1, "a").await?;
    let none = (0, None);
    expect_eq(
        "counts",
        counts(subject.store(), &key).await?,
        vec![none; 2],
    )?;
    for (offset, handled, time, expected) in [
        ("1", 0, None, none),
        ("2", 3, None, (3, None)),
        (
            "3",
            1_000_000_000_000,
            Some(7),
            (1_000_000_000_003, Some(7)),
        ),
        ("4", 2, None, (1_000_000_000_005, Some(7))),
        // Clocks of writers differ.
        ("5", 0, Some(-5), (1_000_000_000_005, Some(-5))),
    ] {
        let mut commit = step(&taken, offset).with_handled(handled);
        commit.reached_time = time.map(Timestamp::from_micros);
        store(subject.store(), &mut taken, commit).await?;
        let found = counts(subject.store(), &key).await?;
        expect_eq("counts", found, vec![none, expected])?;
    }
    let before = taken.clone();
    go_on(subject.store(), &taken, "6").await?;
    let refused = step(&before, "7").with_handled(5);
    expect_refused(subject.store().commit(refused, None).await, &before.claim)?;
    let subject = subject.restart().await?;
    let found = counts(subject.store(), &key).await?;
    let expected = (1_000_000_000_005, Some(-5));
    expect_eq("counts", found, vec![none, expected])
}

async fn keep_the_sum_of_counts_over_changes(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let offsets = subject.store();
    let key = registered(offsets, 2).await?;
    for (share, handled, time) in [(0, 5, 20), (1, 7, 10)] {
        let mut taken = take(offsets, &key, share, "a").await?;
        let commit = step(&taken, "1")
            .with_handled(handled)
            .with_reached_time(Timestamp::from_micros(time));
        store(offsets, &mut taken, commit).await?;
    }
    let (early, late) = (Some(10), Some(20));
    for (number, expected) in [
        (4, vec![(12, late), (0, late), (0, early), (0, early)]),
        (3, vec![(12, late), (0, early), (0, early)]),
        (1, vec![(12, early)]),
        (2, vec![(12, early), (0, early)]),
    ] {
        offsets
            .change(&key, ProjectionChange::Divide(number))
            .await?;
        let found = counts(offsets, &key).await?;
        expect_eq(format!("counts of {number} shares"), found, expected)?;
    }
    let change = ProjectionChange::SetOffset("2".to_owned());
    offsets.change(&key, change).await?;
    let found = counts(offsets, &key).await?;
    expect_eq("counts", found, vec![(12, None), (0, None)])
}

async fn keep_no_time_where_a_share_has_reached_none(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let offsets = subject.store();
    let key = registered(offsets, 2).await?;
    let mut taken = take(offsets, &key, 1, "a").await?;
    let commit = step(&taken, "1").with_reached_time(Timestamp::from_micros(10));
    store(offsets, &mut taken, commit).await?;
    for (number, expected) in [
        (4, vec![(0, None), (0, None), (0, Some(10)), (0, Some(10))]),
        (3, vec![(0, None), (0, None), (0, Some(10))]),
        (1, vec![(0, None)]),
    ] {
        let divide = ProjectionChange::Divide(number);
        offsets.change(&key, divide).await?;
        let found = counts(offsets, &key).await?;
        expect_eq(format!("counts of {number} shares"), found, expected)?;
    }
    Ok(())
}
