//! Listing parked ids, retries and requests.

use actix_persistence_storage_api::{
    OffsetStore, ParkedId, ParkedRequest, PersistenceId, ProjectionChange, slice_of,
};

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::odd_texts::odd_ids;
use crate::offset_steps::{
    HELD, OVER, expect_refused, expect_unsupported, fresh_key, registered, step, take,
};
use crate::parking_steps::{
    ALL, MANY, all_parked, expect_request, expect_waiting, failed, id, item, park, parked, request,
    store, with_parked,
};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(list_parked_ids_in_the_order_of_their_bytes, ["O-PARKED-1"]),
    case!(show_what_is_known_of_a_parked_id, ["O-PARKED-2"]),
    case!(count_retries_of_an_id_while_it_is_parked, ["O-RETRY-1"]),
    case!(take_away_no_request_but_for_a_retry, ["O-RETRY-2"]),
    case!(refuse_retries_by_an_old_claim, ["O-RETRY-3"]),
    case!(note_the_latest_reason_and_nothing_else, ["O-RETRY-4"]),
    case!(keep_the_latest_request_of_each_parked_id, ["O-REQUEST-1"]),
    case!(drop_no_item_but_the_first_of_the_request, ["O-REQUEST-2"]),
    case!(refuse_a_request_about_what_is_not_parked, ["O-REQUEST-3"]),
    case!(
        ask_again_for_a_retry_where_nothing_is_asked,
        ["O-REQUEST-4"]
    ),
];

async fn list_parked_ids_in_the_order_of_their_bytes(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let offsets = subject.store();
    let key = registered(offsets, 1).await?;
    let mut ids = odd_ids();
    for key in [&key, &key.clone().with_version(2), &fresh_key()] {
        offsets.register(key, 1, "").await?;
        let mut taken = take(offsets, key, 0, "a").await?;
        // Half of them are parked by a later commit.
        for (offset, half) in [("1", &ids[..ids.len() / 2]), ("2", &ids[ids.len() / 2..])] {
            park(
                offsets,
                &mut taken,
                offset,
                half.iter().map(|id| failed(id, 1)),
            )
            .await?;
        }
        ids.reverse();
        ids.pop();
    }
    let mut expected = odd_ids();
    expected.sort();
    let ids_of = |all: Vec<ParkedId>| -> Vec<_> {
        all.into_iter()
            .map(|parked| parked.persistence_id)
            .collect()
    };
    let found = ids_of(all_parked(offsets, &key).await?);
    expect_eq("parked ids", &found, &expected)?;
    let mut pages = Vec::new();
    loop {
        let after: Option<&PersistenceId> = pages.last();
        let page = offsets.parked(&key, ALL, after, 7).await?;
        if page.is_empty() {
            break;
        }
        pages.extend(ids_of(page));
    }
    expect_eq("parked ids in pages", &pages, &expected)?;
    let slice = slice_of(expected[3].as_str());
    for slices in [slice..=slice, 0..=slice, slice..=1023] {
        let found = ids_of(offsets.parked(&key, slices.clone(), None, MANY).await?);
        let of_slices = expected.iter().filter(|id| slices.contains(&id.slice()));
        expect_eq(
            format!("parked ids of the slices {slices:?}"),
            found,
            of_slices.cloned().collect::<Vec<_>>(),
        )?;
    }
    let none = offsets.parked(&fresh_key(), ALL, None, MANY).await?;
    expect_eq("parked ids of no projection", none, Vec::new())
}

async fn show_what_is_known_of_a_parked_id(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let a = id("a");
    let taken = with_parked(subject.store(), &a, 3).await?;
    let key = taken.claim.projection.clone();
    let mut expected = ParkedId::new(&failed(&a, 1), 3);
    let found = all_parked(subject.store(), &key).await?;
    expect_eq("parked ids", found, vec![expected.clone()])?;
    for _ in 0..2 {
        subject.store().begin_retry(&taken.claim, &a).await?;
    }
    subject
        .store()
        .note_parked(&taken.claim, &a, "still")
        .await?;
    request(subject.store(), &key, Some(&a), ParkedRequest::DropAll).await?;
    let subject = subject.restart().await?;
    expected.attempts = 2;
    expected.reason = "still".to_owned();
    expected.request = Some(ParkedRequest::DropAll);
    let found = all_parked(subject.store(), &key).await?;
    expect_eq("parked ids", found, vec![expected])
}

async fn count_retries_of_an_id_while_it_is_parked(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let offsets = subject.store();
    let (a, b) = (id("a"), id("b"));
    let mut taken = with_parked(offsets, &a, 2).await?;
    let key = taken.claim.projection.clone();
    park(offsets, &mut taken, "1", [failed(&b, 1)]).await?;
    for expected in 1..=3 {
        let found = offsets.begin_retry(&taken.claim, &a).await?;
        expect_eq("retries", found, expected)?;
        taken = take(offsets, &key, 0, "a").await?;
    }
    // Beyond the first item.
    let items = offsets.parked_items(&key, &a, MANY).await?;
    let commit = step(&taken, "2").with_unparked(&items[..1]);
    store(offsets, &mut taken, commit).await?;
    let found = offsets.begin_retry(&taken.claim, &a).await?;
    expect_eq("retries", found, 4)?;
    let found = offsets.begin_retry(&taken.claim, &b).await?;
    expect_eq("retries of another id", found, 1)?;
    let commit = step(&taken, "3").with_unparked(&items[1..]);
    store(offsets, &mut taken, commit).await?;
    expect_unsupported(offsets.begin_retry(&taken.claim, &a).await)?;
    park(offsets, &mut taken, "4", [failed(&a, 3)]).await?;
    let found = offsets.begin_retry(&taken.claim, &a).await?;
    expect_eq("retries after it was parked anew", found, 1)
}

async fn take_away_no_request_but_for_a_retry(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let offsets = subject.store();
    let (a, b) = (id("a"), id("b"));
    let mut taken = with_parked(offsets, &a, 2).await?;
    let key = taken.claim.projection.clone();
    park(offsets, &mut taken, "1", [failed(&b, 1)]).await?;
    use ParkedRequest::{DropAll, DropFirst, Retry};
    for (asked, left) in [
        (Retry, None),
        (DropFirst, Some(DropFirst)),
        (DropAll, Some(DropAll)),
    ] {
        request(offsets, &key, Some(&a), asked).await?;
        request(offsets, &key, Some(&b), Retry).await?;
        offsets.begin_retry(&taken.claim, &a).await?;
        expect_request(offsets, &key, &a, left).await?;
        expect_request(offsets, &key, &b, Some(Retry)).await?;
    }
    Ok(())
}

async fn refuse_retries_by_an_old_claim(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let offsets = subject.store();
    let a = id("a");
    let mut old = with_parked(offsets, &a, 1).await?;
    let key = old.claim.projection.clone();
    offsets.release_share(&old.claim).await?;
    old = offsets.take_share(&key, 0, "a", OVER).await?;
    take(offsets, &key, 0, "b").await?;
    request(offsets, &key, Some(&a), ParkedRequest::Retry).await?;
    let before = all_parked(offsets, &key).await?;
    expect_refused(offsets.begin_retry(&old.claim, &a).await, &old.claim)?;
    expect_refused(offsets.note_parked(&old.claim, &a, "no").await, &old.claim)?;
    expect_eq("parked ids", all_parked(offsets, &key).await?, before)
}

async fn note_the_latest_reason_and_nothing_else(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let offsets = subject.store();
    let a = id("a");
    let taken = with_parked(offsets, &a, 2).await?;
    let key = taken.claim.projection.clone();
    request(offsets, &key, Some(&a), ParkedRequest::DropFirst).await?;
    let mut expected = parked(offsets, &key, &a).await?;
    let items = offsets.parked_items(&key, &a, MANY).await?;
    for reason in ["one", "", "two"] {
        offsets.note_parked(&taken.claim, &a, reason).await?;
        expected.reason = reason.to_owned();
        expect_eq("parked id", &parked(offsets, &key, &a).await?, &expected)?;
        let found = offsets.parked_items(&key, &a, MANY).await?;
        expect_eq("items", &found, &items)?;
    }
    expect_unsupported(offsets.note_parked(&taken.claim, &id("b"), "no").await)
}

async fn keep_the_latest_request_of_each_parked_id(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let other = subject.another().await?;
    let offsets = subject.store();
    let (a, b, c) = (id("a"), id("b"), id("c"));
    let mut taken = with_parked(offsets, &b, 1).await?;
    let key = taken.claim.projection.clone();
    let apart = with_parked(offsets, &a, 1).await?.claim.projection;
    park(offsets, &mut taken, "1", [failed(&a, 1)]).await?;
    use ParkedRequest::{DropAll, DropFirst, Retry};
    expect_request(offsets, &key, &a, None).await?;
    request(&*other, &key, Some(&a), DropAll).await?;
    expect_request(offsets, &key, &a, Some(DropAll)).await?;
    expect_request(offsets, &key, &b, None).await?;
    for all in [Retry, DropFirst, DropAll, Retry] {
        request(&*other, &key, None, all).await?;
        expect_request(offsets, &key, &a, Some(all)).await?;
        expect_request(offsets, &key, &b, Some(all)).await?;
    }
    expect_request(offsets, &apart, &a, None).await?;
    // Only of those that are parked when it is asked for.
    park(offsets, &mut taken, "2", [failed(&c, 1), item(&a, 2)]).await?;
    expect_request(offsets, &key, &c, None).await?;
    expect_request(offsets, &key, &a, Some(Retry)).await?;
    let items = offsets.parked_items(&key, &a, MANY).await?;
    let commit = step(&taken, "3").with_unparked(&items);
    store(offsets, &mut taken, commit).await?;
    park(offsets, &mut taken, "4", [failed(&a, 3)]).await?;
    expect_request(offsets, &key, &a, None).await
}

async fn drop_no_item_but_the_first_of_the_request(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let offsets = subject.store();
    let a = id("a");
    let mut taken = with_parked(offsets, &a, 3).await?;
    let key = taken.claim.projection.clone();
    let items = offsets.parked_items(&key, &a, MANY).await?;
    use ParkedRequest::{DropAll, DropFirst, Retry};
    request(offsets, &key, Some(&a), DropFirst).await?;
    park(offsets, &mut taken, "1", [item(&a, 4)]).await?;
    expect_request(offsets, &key, &a, Some(DropFirst)).await?;
    let commit = step(&taken, "2").with_unparked(&items[..1]);
    store(offsets, &mut taken, commit).await?;
    expect_request(offsets, &key, &a, Some(Retry)).await?;
    // That is taken away as any other.
    offsets.begin_retry(&taken.claim, &a).await?;
    expect_request(offsets, &key, &a, None).await?;
    request(offsets, &key, None, DropFirst).await?;
    expect_request(offsets, &key, &a, Some(DropFirst)).await?;
    request(offsets, &key, None, DropAll).await?;
    let commit = step(&taken, "3").with_unparked(&items[1..2]);
    store(offsets, &mut taken, commit).await?;
    expect_request(offsets, &key, &a, Some(DropAll)).await
}

async fn ask_again_for_a_retry_where_nothing_is_asked(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let offsets = subject.store();
    let (a, b) = (id("a"), id("b"));
    let mut taken = with_parked(offsets, &a, 2).await?;
    let key = taken.claim.projection.clone();
    park(offsets, &mut taken, "1", [failed(&b, 1)]).await?;
    let again = |id: &PersistenceId| ProjectionChange::RetryAgain(id.clone());
    use ParkedRequest::{DropAll, DropFirst, Retry};
    for asked in [DropFirst, DropAll, Retry] {
        request(offsets, &key, Some(&a), asked).await?;
        offsets.change(&key, again(&a)).await?;
        expect_request(offsets, &key, &a, Some(asked)).await?;
        expect_request(offsets, &key, &b, None).await?;
    }
    offsets.begin_retry(&taken.claim, &a).await?;
    expect_request(offsets, &key, &a, None).await?;
    let before = parked(offsets, &key, &a).await?;
    offsets.change(&key, again(&a)).await?;
    let mut expected = before.clone();
    expected.request = Some(Retry);
    expect_eq("parked id", parked(offsets, &key, &a).await?, expected)?;
    expect_request(offsets, &key, &b, None).await?;
    // It is a request as any other.
    offsets.begin_retry(&taken.claim, &a).await?;
    expect_request(offsets, &key, &a, None).await?;
    // Of an id that is not parked, or no longer.
    offsets.change(&key, again(&id("c"))).await?;
    let items = offsets.parked_items(&key, &a, MANY).await?;
    let commit = step(&taken, "2").with_unparked(&items);
    store(offsets, &mut taken, commit).await?;
    offsets.change(&key, again(&a)).await?;
    park(offsets, &mut taken, "3", [failed(&a, 3)]).await?;
    expect_request(offsets, &key, &a, None).await?;
    expect_unsupported(offsets.change(&fresh_key(), again(&a)).await)
}

async fn refuse_a_request_about_what_is_not_parked(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let offsets = subject.store();
    let a = id("a");
    let mut taken = with_parked(offsets, &a, 1).await?;
    let key = taken.claim.projection.clone();
    let about = |id: Option<&PersistenceId>| ProjectionChange::RequestParked {
        persistence_id: id.cloned(),
        request: ParkedRequest::DropAll,
    };
    expect_unsupported(offsets.change(&key, about(Some(&id("b")))).await)?;
    expect_unsupported(offsets.change(&fresh_key(), about(None)).await)?;
    expect_request(offsets, &key, &a, None).await?;
    let items = offsets.parked_items(&key, &a, MANY).await?;
    let commit = step(&taken, "1").with_unparked(&items);
    store(offsets, &mut taken, commit).await?;
    expect_unsupported(offsets.change(&key, about(Some(&a))).await)?;
    // All of none.
    offsets.change(&key, about(None)).await?;
    expect_waiting(offsets, &key, &a, []).await?;
    offsets.attend(&key, "a", HELD).await.map(drop)?;
    Ok(())
}
