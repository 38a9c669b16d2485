//! Cases of what commits skip.

use actix_persistence_storage_api::{OffsetStore, Skipped, Timestamp};

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::offset_steps::{fresh_key, go_on, registered, step, take, taken};
use crate::state_steps::refused;
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(keep_what_a_commit_skipped, ["O-COMMIT-5"]),
    case!(keep_nothing_that_a_refused_commit_skipped, ["O-COMMIT-5"]),
    case!(list_what_was_skipped_the_latest_first, ["O-SKIPPED-1"]),
];

fn skipped(item: &str) -> Skipped {
    let reason = format!("{item}: no such account\nü'\"\\");
    Skipped::new(item, "0/1.7", reason, Timestamp::from_micros(1_234_567))
}

async fn keep_what_a_commit_skipped(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let taken = taken(subject.store()).await?;
    let key = taken.claim.projection.clone();
    let items = ["Account|1 7", "Äccount|'2' 8"].map(skipped);
    let mut commit = step(&taken, "1");
    for item in items.clone() {
        commit = commit.with_skipped(item);
    }
    subject.store().commit(commit, None).await?;
    let subject = subject.restart().await?;
    let mut found = subject.store().skipped(&key, 10).await?;
    found.sort_by(|one, other| one.item.cmp(&other.item));
    expect_eq("skipped", found, items.into())
}

async fn keep_nothing_that_a_refused_commit_skipped(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let store = subject.store();
    let before = taken(store).await?;
    go_on(store, &before, "1").await?;
    let commit = step(&before, "2").with_skipped(skipped("a"));
    refused(store.commit(commit, None).await)?;
    let found = store.skipped(&before.claim.projection, 10).await?;
    expect_eq("skipped", found, Vec::new())
}

async fn list_what_was_skipped_the_latest_first(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let (key, other) = (registered(store, 2).await?, registered(store, 1).await?);
    let next = key.clone().with_version(2);
    store.register(&next, 1, "").await?;
    let mut shares = [
        take(store, &key, 0, "a").await?,
        take(store, &key, 1, "a").await?,
    ];
    for (share, offset, items) in [
        (1, "1", &["b", "a"][..]),
        (0, "1", &["d"]),
        (0, "2", &[]),
        (1, "2", &["c"]),
    ] {
        let mut commit = step(&shares[share], offset);
        for item in items {
            commit = commit.with_skipped(skipped(item));
        }
        shares[share].progress = commit.to.clone();
        store.commit(commit, None).await?;
    }
    for key in [&other, &next] {
        let taken = take(store, key, 0, "a").await?;
        let commit = step(&taken, "1").with_skipped(skipped("e"));
        store.commit(commit, None).await?;
    }
    let expected = ["c", "d", "a", "b"].map(skipped);
    for limit in [10, 4, 3, 1, 0] {
        let found = store.skipped(&key, limit).await?;
        let expected = &expected[..limit.min(4)];
        expect_eq("skipped", &found[..], expected)?;
    }
    let found = store.skipped(&fresh_key(), 10).await?;
    expect_eq("skipped by none", found, Vec::new())
}
