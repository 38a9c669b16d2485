//! Cases of reading a projection.

use actix_persistence_storage_api::{
    OffsetStore, Progress, ProjectionRecord, ShareRecord, shares_of,
};

use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect_eq};
use crate::offset_steps::{
    START, expect_offsets, fresh_key, go_on, record, registered, still, take,
};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(return_the_slices_of_every_share_in_order, ["O-READ-1"]),
    case!(return_what_was_committed_last, ["O-READ-2", "O-COMMIT-1"]),
    case!(change_nothing_by_reading, ["O-READ-2"]),
    case!(keep_every_byte_of_an_offset, ["O-READ-2"]),
];

async fn return_the_slices_of_every_share_in_order(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let store = subject.store();
    for number in [1, 2, 7, 12, 1024] {
        let key = registered(store, number).await?;
        let slices = shares_of(number).ok_or_else(|| Failure::new("expected shares"))?;
        let progress = slices
            .into_iter()
            .map(|slices| Progress::new(slices, START));
        let shares = progress.map(ShareRecord::new).collect();
        let mut expected = ProjectionRecord::new(false, shares, Vec::new());
        expected.live = true;
        expect_eq("projection", record(store, &key).await?, expected)?;
    }
    Ok(())
}

async fn return_what_was_committed_last(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let other = subject.another().await?;
    let key = registered(subject.store(), 2).await?;
    expect_offsets(&*other, &key, &[START, START]).await?;
    let taken = take(subject.store(), &key, 1, "a").await?;
    let taken = go_on(subject.store(), &taken, "1").await?;
    expect_offsets(&*other, &key, &[START, "1"]).await?;
    go_on(subject.store(), &taken, "2").await?;
    for store in [subject.store(), &*other] {
        expect_offsets(store, &key, &[START, "2"]).await?;
    }
    drop(other);
    let subject = subject.restart().await?;
    expect_offsets(subject.store(), &key, &[START, "2"]).await
}

async fn change_nothing_by_reading(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let (key, unknown) = (registered(store, 2).await?, fresh_key());
    let taken = take(store, &key, 1, "a").await?;
    store.count_attempt(&taken.claim).await?;
    let before = still(store, &key).await?;
    for _ in 0..2 {
        expect_eq("projection", still(store, &key).await?, before.clone())?;
        expect_eq("other projection", store.read(&unknown).await?, None)?;
    }
    go_on(store, &taken, "1").await.map(drop)
}

async fn keep_every_byte_of_an_offset(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let long = "0/1.7,".repeat(1_000);
    for offset in ["", " ", " a ", "A", "a", "0-3 1:x,", "ü'\"\\%_\n", &long] {
        let key = fresh_key();
        store.register(&key, 1, offset).await?;
        expect_offsets(store, &key, &[offset]).await?;
        let taken = take(store, &key, 0, "a").await?;
        let after = format!("{offset}.");
        let taken = go_on(store, &taken, &after).await?;
        expect_offsets(store, &key, &[&after]).await?;
        go_on(store, &taken, offset).await?;
        expect_offsets(store, &key, &[offset]).await?;
    }
    Ok(())
}
