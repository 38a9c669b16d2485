//! Parking of ids by commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_persistence_storage_api::{
    OffsetStore, ParkedItem, ProgressCommit, ProjectionChange, SessionWork, Skipped, Timestamp,
    kept_text,
};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::offset_steps::{
    expect_offsets, expect_refused, expect_unsupported, go_on, record, registered, step, take,
};
use crate::parking_steps::{
    MANY, all_parked, expect_waiting, failed, id, item, park, parked, parking, store, with_parked,
};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(
        keep_what_a_commit_parks_in_order,
        ["O-PARK-1", "O-PARKED-3"]
    ),
    case!(park_nothing_of_a_refused_commit, ["O-PARK-1"]),
    case!(remove_items_that_wait_with_the_progress, ["O-PARK-2"]),
    case!(park_an_id_anew_in_the_commit_that_frees_it, ["O-PARK-2"]),
    case!(unpark_no_items_but_the_first_ones, ["O-PARK-3"]),
    case!(run_no_work_if_other_items_come_first, ["O-PARK-3"]).needing(Capability::Transactions),
    case!(park_no_id_of_another_share, ["O-PARK-4"]),
    case!(keep_what_waits_until_progress_is_set, ["O-PARK-5"]),
    case!(
        keep_texts_for_a_person_that_hold_anything,
        ["O-COMMIT-8", "O-HALT-3", "O-RETRY-4"]
    ),
];

/// Returns items with the places that the store gives them.
fn placed(items: &[&ParkedItem]) -> Vec<ParkedItem> {
    let items = (1..).zip(items);
    items
        .map(|(place, &item)| item.clone().with_place(place))
        .collect()
}

async fn keep_what_a_commit_parks_in_order(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let key = registered(subject.store(), 1).await?;
    let mut taken = take(subject.store(), &key, 0, "a").await?;
    let (a, b) = (id("a"), id("b"));
    let items = [failed(&b, 7), failed(&a, 1), item(&b, 8), item(&b, 9)];
    park(subject.store(), &mut taken, "1", items.clone()).await?;
    // A number that begins anew after a purge.
    let later = [item(&a, 2), item(&b, 1)];
    park(subject.store(), &mut taken, "2", later.clone()).await?;
    let subject = subject.restart().await?;
    let offsets = subject.store();
    expect_offsets(offsets, &key, &["2"]).await?;
    let of_a = placed(&[&items[1], &later[0]]);
    let of_b = placed(&[&items[0], &items[2], &items[3], &later[1]]);
    for limit in [MANY, 4, 2, 1, 0] {
        let found = offsets.parked_items(&key, &b, limit).await?;
        expect_eq("items", &found[..], &of_b[..limit.min(4)])?;
    }
    let found = offsets.parked_items(&key, &a, MANY).await?;
    expect_eq("items", found, of_a)?;
    let found = offsets.parked_items(&key, &id("c"), MANY).await?;
    expect_eq("items of none", found, Vec::new())?;
    let shown = parked(offsets, &key, &b).await?;
    expect_eq("number of items", shown.waiting, 4)?;
    expect_eq("parked ids", record(offsets, &key).await?.parked, 2)
}

async fn park_nothing_of_a_refused_commit(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let offsets = subject.store();
    let key = registered(offsets, 1).await?;
    let before = take(offsets, &key, 0, "a").await?;
    go_on(offsets, &before, "1").await?;
    let commit = parking(&before, "2", [failed(&id("a"), 1)]);
    expect_refused(offsets.commit(commit, None).await, &before.claim)?;
    expect_eq("parked ids", all_parked(offsets, &key).await?, Vec::new())?;
    expect_waiting(offsets, &key, &id("a"), []).await
}

async fn remove_items_that_wait_with_the_progress(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let offsets = subject.store();
    let (a, b) = (id("a"), id("b"));
    let mut taken = with_parked(offsets, &a, 4).await?;
    let key = taken.claim.projection.clone();
    park(offsets, &mut taken, "1", [failed(&b, 1)]).await?;
    let items = offsets.parked_items(&key, &a, MANY).await?;
    for (unparked, left) in [(0..1, 2..5), (1..3, 4..5), (3..4, 5..5)] {
        // The progress may stay.
        let commit = step(&taken, "2").with_unparked(&items[unparked]);
        store(offsets, &mut taken, commit).await?;
        expect_waiting(offsets, &key, &a, left.clone()).await?;
        if !left.is_empty() {
            let shown = parked(offsets, &key, &a).await?;
            let first = &items[left.start as usize - 1];
            expect_eq("first number", shown.number, first.number)?;
            expect_eq("first item", &shown.item, &first.item)?;
            expect_eq("items that wait", shown.waiting, left.end - left.start)?;
        }
    }
    let all = all_parked(offsets, &key).await?;
    let ids: Vec<_> = all.iter().map(|it| &it.persistence_id).collect();
    expect_eq("parked ids", ids, vec![&b])?;
    expect_waiting(offsets, &key, &b, [1]).await
}

async fn park_an_id_anew_in_the_commit_that_frees_it(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let offsets = subject.store();
    let a = id("a");
    let mut taken = with_parked(offsets, &a, 1).await?;
    let key = taken.claim.projection.clone();
    offsets.begin_retry(&taken.claim, &a).await?;
    let items = offsets.parked_items(&key, &a, MANY).await?;
    let anew = failed(&a, 2).with_reason("another");
    let commit = parking(&taken, "2", [anew.clone(), item(&a, 3)]).with_unparked(&items);
    store(offsets, &mut taken, commit).await?;
    expect_waiting(offsets, &key, &a, [2, 3]).await?;
    let shown = parked(offsets, &key, &a).await?;
    let anew = (anew.reason.unwrap_or_default(), anew.timestamp, 0);
    expect_eq(
        "reason, time and retries",
        (shown.reason, shown.since, shown.attempts),
        anew,
    )
}

async fn unpark_no_items_but_the_first_ones(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let offsets = subject.store();
    let a = id("a");
    let mut taken = with_parked(offsets, &a, 3).await?;
    let key = taken.claim.projection.clone();
    let items = offsets.parked_items(&key, &a, MANY).await?;
    let beyond = items[2].clone().with_place(items[2].place + 1);
    let refused = |items: &[ParkedItem]| step(&taken, "2").with_unparked(items);
    let other = [item(&id("b"), 1).with_place(1)];
    for commit in [
        refused(&items[1..2]),
        refused(&[items[0].clone(), beyond]),
        refused(&other),
    ] {
        // Nothing else of it is stored either.
        let commit = commit.with_parked(failed(&id("c"), 1));
        let stored = expect_refused(offsets.commit(commit, None).await, &taken.claim)?;
        let epoch = (Some("a".to_owned()), taken.claim.epoch);
        expect_eq("stored owner and epoch", stored, epoch)?;
        expect_waiting(offsets, &key, &a, 1..=3).await?;
        expect_offsets(offsets, &key, &["parked"]).await?;
        expect_eq("parked ids", all_parked(offsets, &key).await?.len(), 1)?;
    }
    // Once more, as after a reply that was lost.
    let commit = step(&taken, "parked").with_unparked(&items[..1]);
    store(offsets, &mut taken, commit.clone()).await?;
    expect_refused(offsets.commit(commit, None).await, &taken.claim)?;
    expect_waiting(offsets, &key, &a, 2..=3).await
}

async fn run_no_work_if_other_items_come_first(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let offsets = subject.store();
    let a = id("a");
    let taken = with_parked(offsets, &a, 2).await?;
    let items = offsets.parked_items(&taken.claim.projection, &a, 2).await?;
    let has_run = Arc::new(AtomicBool::new(false));
    let running = Arc::clone(&has_run);
    let work = SessionWork::new(move |_| {
        running.store(true, Ordering::SeqCst);
        Box::pin(async { Ok(()) })
    });
    let commit = step(&taken, "2").with_unparked(&items[1..]);
    expect_refused(offsets.commit(commit, Some(work)).await, &taken.claim)?;
    expect_eq("run of the work", has_run.load(Ordering::SeqCst), false)
}

async fn park_no_id_of_another_share(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let offsets = subject.store();
    let key = registered(offsets, 2).await?;
    let mut shares = [
        take(offsets, &key, 0, "a").await?,
        take(offsets, &key, 1, "a").await?,
    ];
    let a = id("a");
    let own = usize::from(a.slice() > 511);
    let commit = parking(&shares[1 - own], "1", [failed(&a, 1)]);
    expect_unsupported(offsets.commit(commit, None).await)?;
    expect_eq("parked ids", all_parked(offsets, &key).await?, Vec::new())?;
    park(offsets, &mut shares[own], "1", [failed(&a, 1)]).await?;
    let items = offsets.parked_items(&key, &a, MANY).await?;
    let other = &shares[1 - own];
    let commit = step(other, "2").with_unparked(&items);
    expect_unsupported(offsets.commit(commit, None).await)?;
    expect_unsupported(offsets.begin_retry(&other.claim, &a).await)?;
    expect_unsupported(offsets.note_parked(&other.claim, &a, "no").await)?;
    let shown = parked(offsets, &key, &a).await?;
    expect_eq("retries", shown.attempts, 0)?;
    expect_eq("reason", Some(shown.reason), failed(&a, 1).reason)?;
    expect_waiting(offsets, &key, &a, [1]).await
}

async fn keep_what_waits_until_progress_is_set(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let offsets = subject.store();
    let a = id("a");
    let taken = with_parked(offsets, &a, 2).await?;
    let key = taken.claim.projection.clone();
    let before = all_parked(offsets, &key).await?;
    for change in [
        ProjectionChange::Divide(3),
        ProjectionChange::Pause,
        ProjectionChange::Resume,
        ProjectionChange::Divide(1),
    ] {
        offsets.change(&key, change).await?;
        expect_eq("parked ids", &all_parked(offsets, &key).await?, &before)?;
        expect_waiting(offsets, &key, &a, 1..=2).await?;
    }
    let apart = with_parked(offsets, &a, 2).await?.claim.projection;
    let change = ProjectionChange::SetOffset("anew".to_owned());
    offsets.change(&key, change).await?;
    expect_eq("parked ids", all_parked(offsets, &key).await?, Vec::new())?;
    expect_waiting(offsets, &key, &a, []).await?;
    // The same items come again.
    let mut taken = take(offsets, &key, 0, "a").await?;
    park(offsets, &mut taken, "1", [failed(&a, 1)]).await?;
    expect_waiting(offsets, &key, &a, [1]).await?;
    offsets.change(&key, ProjectionChange::Remove).await?;
    expect_eq("parked ids", all_parked(offsets, &key).await?, Vec::new())?;
    offsets.register(&key, 1, "").await?;
    expect_waiting(offsets, &key, &a, []).await?;
    expect_waiting(offsets, &apart, &a, 1..=2).await
}

async fn keep_texts_for_a_person_that_hold_anything(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let offsets = subject.store();
    let a = id("a");
    for text in ["a\0b".to_owned(), "ü".repeat(70_000)] {
        let key = registered(offsets, 1).await?;
        let mut taken = take(offsets, &key, 0, "a").await?;
        let mut given = failed(&a, 1).with_reason(&*text);
        given.item.clone_from(&text);
        let skipped = Skipped::new(&*text, "1", &*text, Timestamp::from_micros(1));
        let commit: ProgressCommit = step(&taken, "1").with_skipped(skipped).with_parked(given);
        store(offsets, &mut taken, commit).await?;
        let kept = kept_text(&text);
        let found = offsets.skipped(&key, 1).await?;
        expect_eq("skipped item", &*found[0].item, &*kept)?;
        expect_eq("reason of what was skipped", &*found[0].reason, &*kept)?;
        let found = offsets.parked_items(&key, &a, 1).await?;
        expect_eq("parked item", &*found[0].item, &*kept)?;
        let reason = found[0].reason.as_deref();
        expect_eq("reason of the item", reason, Some(&*kept))?;
        let reason = parked(offsets, &key, &a).await?.reason;
        expect_eq("reason of the id", &*reason, &*kept)?;
        offsets.note_parked(&taken.claim, &a, "short").await?;
        offsets.note_parked(&taken.claim, &a, &text).await?;
        let reason = parked(offsets, &key, &a).await?.reason;
        expect_eq("reason of the retry", &*reason, &*kept)?;
        offsets.halt(&taken.claim, &text).await?;
        let halted = record(offsets, &key).await?.shares[0].halted.clone();
        expect_eq("reason of the halt", halted.as_deref(), Some(&*kept))?;
    }
    Ok(())
}
