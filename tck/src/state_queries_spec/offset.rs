//! The place at which a reader continues.

use std::time::Duration;

use actix_persistence_storage_api::{StateDelete, StateOffset, StatePosition, StateStore};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::parallel::poll_and_drop;
use crate::query_steps::{
    Reader, expect_changes, id_of_slice, of_tck, offsets_of_all_partitions, queries, tck_id,
};
use crate::state_steps::{state, store_up_to};
use crate::subject::Subject;

/// The number of looks after which a reader must have got there: on some databases other writers hold it back for a while.
const LOOKS: usize = 500;

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(go_on_after_each_change_of_a_page, ["D-CHANGES-6"]).needing(Capability::Queries),
    case!(
        give_again_what_changed_again,
        ["D-CHANGES-6", "D-CHANGES-9"]
    )
    .needing(Capability::Queries),
    case!(
        go_on_from_the_text_of_an_offset_over_a_restart,
        ["D-CHANGES-11"]
    )
    .needing(Capability::Queries),
    case!(move_on_over_other_slices, ["D-CHANGES-12"]).needing(Capability::Queries),
    case!(
        reach_where_readers_were_before_a_hard_delete,
        ["D-CHANGES-14"]
    )
    .needing(Capability::Queries),
    case!(refuse_offsets_of_other_stores, ["D-CHANGES-13"]).needing(Capability::Queries),
    case!(
        read_nothing_twice_where_others_are_busy,
        ["D-CHANGES-6", "D-CHANGES-12"]
    )
    .needing(Capability::Queries),
    case!(answer_after_many_dropped_queries, ["D-CHANGES-1"]).needing(Capability::Queries),
];

async fn go_on_after_each_change_of_a_page(subject: Subject<dyn StateStore>) -> CaseResult {
    let store = subject.store();
    let expected: Vec<_> = (0..10).map(|number| (tck_id(number), 1)).collect();
    for (id, _) in &expected {
        store_up_to(store, id, 1).await?;
    }
    for limit in [4, 100] {
        let given = expect_changes(store, of_tck(limit), &expected).await?;
        for (place, change) in given.iter().enumerate() {
            let rest: Vec<_> = given[place + 1..]
                .iter()
                .map(|change| (change.persistence_id.clone(), 1))
                .collect();
            let query = of_tck(3).after(change.offset.clone());
            expect_changes(store, query, &rest).await?;
        }
        let mut reader = Reader::new(of_tck(limit));
        reader.read_until(store, &expected[9]).await?;
        for _ in 0..3 {
            let page = reader.read(store).await?;
            expect_eq("changes after the last page", page.changes.len(), 0)?;
        }
    }
    Ok(())
}

async fn give_again_what_changed_again(subject: Subject<dyn StateStore>) -> CaseResult {
    let store = subject.store();
    let first: Vec<_> = (0..5).map(|number| (tck_id(number), 1)).collect();
    for (id, _) in &first {
        store_up_to(store, id, 1).await?;
    }
    let mut reader = Reader::new(of_tck(2));
    reader.read_until(store, &first[4]).await?;
    let after = reader.query.after;
    store.upsert(state(&tck_id(3), 2)).await?;
    store.delete(StateDelete::new(tck_id(0), 2)).await?;
    store.upsert(state(&tck_id(3), 3)).await?;
    let again = [(tck_id(0), 2), (tck_id(3), 3)];
    expect_changes(store, of_tck(1).after(after), &again).await?;
    let rest = [1, 2, 4].map(|number| (tck_id(number), 1));
    let all = [&rest[..], &again[..]].concat();
    expect_changes(store, of_tck(1), &all).await.map(drop)
}

async fn go_on_from_the_text_of_an_offset_over_a_restart(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let expected: Vec<_> = (0..10).map(|number| (tck_id(number), 1)).collect();
    for (id, _) in &expected {
        store_up_to(subject.store(), id, 1).await?;
    }
    let given = expect_changes(subject.store(), of_tck(100), &expected).await?;
    let text = given[3].offset.to_string();
    let subject = subject.restart().await?;
    store_up_to(subject.store(), &tck_id(10), 1).await?;
    let mut rest: Vec<_> = given[4..]
        .iter()
        .map(|change| (change.persistence_id.clone(), 1))
        .collect();
    rest.push((tck_id(10), 1));
    let offset: StateOffset = text.parse()?;
    for store in [subject.share(), subject.another().await?] {
        let query = of_tck(3).after(offset.clone());
        expect_changes(&*store, query, &rest).await?;
    }
    Ok(())
}

async fn move_on_over_other_slices(subject: Subject<dyn StateStore>) -> CaseResult {
    let store = subject.store();
    let of_slice_0 = |after| of_tck(3).of_slices(0..=0).after(after);
    let mut after = StateOffset::start();
    let mut given_of_all = Reader::new(of_tck(100));
    for round in 1..=2 {
        let mut last = None;
        // Of the partition of slice 0, however many the store has, and of others.
        for slice in 1..=64 {
            let id = id_of_slice(slice);
            store.upsert(state(&id, round)).await?;
            last = Some((id, round));
        }
        if let Some(last) = last {
            given_of_all.read_until(store, &last).await?;
        }
        let page = queries(store)?.changes(of_slice_0(after.clone())).await?;
        expect_eq("changes of the slice", page.changes.len(), 0)?;
        let moved = page.offset != after;
        expect(moved, "an offset after the changes of other slices")?;
        after = page.offset;
    }
    let id = id_of_slice(0);
    store_up_to(store, &id, 1).await?;
    given_of_all.read_until(store, &(id.clone(), 1)).await?;
    let query = of_slice_0(after.to_string().parse()?);
    let page = queries(store)?.changes(query).await?;
    let found = page.changes.into_iter();
    let found: Vec<_> = found.map(|change| change.persistence_id).collect();
    expect_eq("changes of the slice", found, vec![id])
}

async fn reach_where_readers_were_before_a_hard_delete(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let ids = [1, 2].map(tck_id);
    for id in &ids {
        store_up_to(subject.store(), id, 2).await?;
    }
    let mut early = Reader::new(of_tck(3));
    early
        .read_until(subject.store(), &(ids[1].clone(), 2))
        .await?;
    for id in ids.iter().rev() {
        subject.store().hard_delete(id).await?;
        expect_reach(subject.store(), &early.query.after).await?;
    }
    let subject = subject.restart().await?;
    expect_reach(subject.store(), &early.query.after).await?;
    // Nothing that comes later is passed over.
    store_up_to(subject.store(), &ids[0], 1).await?;
    let later = [(ids[0].clone(), 1)];
    let query = of_tck(3).after(early.query.after);
    expect_changes(subject.store(), query, &later)
        .await
        .map(drop)
}

/// Expects that one who reads from the start gets as far as this, once there is no more.
async fn expect_reach(store: &dyn StateStore, offset: &StateOffset) -> CaseResult {
    let mut reached = StateOffset::start();
    for _ in 0..LOOKS {
        let mut reader = Reader::beside_writers(of_tck(3));
        while reader.read(store).await?.more {}
        reached = reader.query.after;
        if reached.has_reached(offset) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Err(Failure::new(format!(
        "expected an offset as far as {offset}, found {reached}"
    )))
}

async fn refuse_offsets_of_other_stores(subject: Subject<dyn StateStore>) -> CaseResult {
    let store = subject.store();
    store_up_to(store, &tck_id(1), 1).await?;
    let before_all = StatePosition::after_all_of(i64::MIN);
    let mut taken = Vec::new();
    for (of, offset) in offsets_of_all_partitions(&before_all) {
        match queries(store)?.changes(of_tck(10).after(offset)).await {
            Ok(_) => taken.push(of),
            Err(error) => expect(!error.kind().is_transient(), "an error that stays")?,
        }
    }
    expect_eq("numbers of partitions of the store", taken.len(), 1)
}

async fn read_nothing_twice_where_others_are_busy(subject: Subject<dyn StateStore>) -> CaseResult {
    let store = subject.store();
    let (quiet, busy) = (0..=511, 512..=1_023);
    let first = (id_of_slice(7), 1);
    store_up_to(store, &first.0, 1).await?;
    let mut reader = Reader::new(of_tck(10).of_slices(quiet));
    reader.read_until(store, &first).await?;
    let mut of_others = Reader::new(of_tck(10).of_slices(busy));
    for round in 1..=5 {
        for slice in [512, 700, 1_023] {
            store.upsert(state(&id_of_slice(slice), round)).await?;
        }
        of_others
            .read_until(store, &(id_of_slice(1_023), round))
            .await?;
        let page = reader.read(store).await?;
        expect_eq("changes of quiet slices", page.changes.len(), 0)?;
        expect(!page.more, "no more changes of quiet slices")?;
    }
    let last = (id_of_slice(300), 1);
    store_up_to(store, &last.0, 1).await?;
    reader.read_until(store, &last).await?;
    expect_eq("changes after quiet times", reader.revisions().len(), 2)
}

async fn answer_after_many_dropped_queries(subject: Subject<dyn StateStore>) -> CaseResult {
    let id = tck_id(1);
    store_up_to(subject.store(), &id, 2).await?;
    // More often than any pool has connections.
    for turn in 0..40 {
        for polls in [0, 1, 2, 3, 5, 8] {
            let queries = queries(subject.store())?;
            poll_and_drop(queries.changes(of_tck(10)), polls + turn % 3).await;
        }
    }
    expect_changes(subject.store(), of_tck(10), &[(id, 2)])
        .await
        .map(drop)
}
