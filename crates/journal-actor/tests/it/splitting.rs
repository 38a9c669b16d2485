//! Finding the request that is at fault.

use actix_persistence_journal_actor::WriteReply;
use actix_persistence_storage_api::{Effect, Operation, StorageError, StorageErrorKind, WriterId};
use actix_persistence_store_actor::Reply;
use tokio::time::Instant;

use crate::fixture::{
    Fixture, atomic_write, failure, id, is_stored, not_stored, now, on_paused_clock, seconds,
    unknown,
};
use crate::scripted_journal::{Call, settle};

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{n:03}")).collect()
}

/// A group of this many writes, about to be sent.
async fn group(fixture: &mut Fixture, names: &[String]) -> Vec<Reply<WriteReply>> {
    let (busy, _reply) = fixture.busy().await;
    let replies = names.iter().map(|name| fixture.write(name)).collect();
    settle().await;
    busy.works();
    replies
}

#[test]
fn the_guilty_write_fails_alone_and_its_neighbours_are_stored() {
    on_paused_clock(async {
        let names = names(16);
        let mut fixture = Fixture::ready().await;
        let mut replies = group(&mut fixture, &names).await;
        let mut stored = Vec::new();
        let mut calls = 0;
        while !fixture.calls.is_quiet().await {
            let (called, ids) = fixture.calls.next_write().await;
            calls += 1;
            if ids.contains(&names[5]) {
                called.fails(not_stored(StorageErrorKind::Backend));
            } else {
                stored.extend(ids);
                called.works();
            }
        }
        assert_eq!(calls, 9);
        let error = failure(now(replies.remove(5)).await);
        assert_eq!(error.kind(), StorageErrorKind::Backend);
        assert!(error.is_not_stored());
        assert_eq!(error.persistence_id(), Some(&id(&names[5])));
        for reply in replies {
            assert!(is_stored(&now(reply).await));
        }
        stored.sort();
        assert_eq!(stored.len(), 15);

        // A group that worked in part is no failure of the store.
        for _ in 0..12 {
            let replies = group(&mut fixture, &names[4..6]).await;
            fixture
                .calls
                .next()
                .await
                .fails(not_stored(StorageErrorKind::Backend));
            fixture.calls.next().await.works();
            fixture
                .calls
                .next()
                .await
                .fails(not_stored(StorageErrorKind::Backend));
            for reply in replies {
                let _ = now(reply).await;
            }
        }
    });
}

#[test]
fn a_group_of_unknown_outcome_is_never_split_or_repeated() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let replies = group(&mut fixture, &names(8)).await;
        let called = fixture.calls.next().await;
        called.fails(unknown(StorageErrorKind::Backend));
        assert!(fixture.calls.is_quiet().await);
        for reply in replies {
            let error = failure(now(reply).await);
            assert_eq!(error.effect(), Some(Effect::Unknown));
        }
    });
}

#[test]
fn an_outcome_that_becomes_unknown_while_splitting_spares_those_not_tried() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let mut replies = group(&mut fixture, &names(4)).await;
        let called = fixture.calls.next().await;
        called.fails(not_stored(StorageErrorKind::Backend));
        let (called, ids) = fixture.calls.next_write().await;
        assert_eq!(ids, names(2));
        called.fails(unknown(StorageErrorKind::Backend));
        assert!(fixture.calls.is_quiet().await);
        let not_tried = replies.split_off(2);
        for reply in replies {
            assert_eq!(failure(now(reply).await).effect(), Some(Effect::Unknown));
        }
        for reply in not_tried {
            let error = failure(now(reply).await);
            assert_eq!(error.kind(), StorageErrorKind::Unavailable);
            assert!(error.is_not_stored());
        }
    });
}

#[test]
fn the_parts_of_a_split_group_leave_out_writes_that_were_given_up() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _reply) = fixture.busy().await;
        let names = names(8);
        let mut replies: Vec<_> = names
            .iter()
            .map(|name| {
                // The third and the last one have little time.
                let short = *name == names[2] || *name == names[7];
                let deadline = Instant::now() + seconds(if short { 5 } else { 20 });
                fixture.write_until(name, vec![atomic_write(name, 1, 1, 1)], deadline)
            })
            .collect();
        settle().await;
        busy.works();
        let (called, ids) = fixture.calls.next_write().await;
        assert_eq!(ids, names);
        tokio::time::advance(seconds(6)).await;
        // The asker of the second one leaves.
        drop(replies.remove(1));
        called.fails(not_stored(StorageErrorKind::Backend));
        let (called, ids) = fixture.calls.next_write().await;
        assert_eq!(ids, [&*names[0], &*names[3]]);
        called.works();
        let (called, ids) = fixture.calls.next_write().await;
        assert_eq!(ids, names[4..7]);
        called.works();
        assert!(fixture.calls.is_quiet().await);
        for too_late in [replies.remove(6), replies.remove(1)] {
            let error = failure(now(too_late).await);
            assert_eq!(error.kind(), StorageErrorKind::Timeout);
            assert!(error.is_not_stored());
        }
        for reply in replies {
            assert!(is_stored(&now(reply).await));
        }
    });
}

#[test]
fn a_group_that_meets_an_outage_is_not_split() {
    on_paused_clock(async {
        for kind in [
            StorageErrorKind::Unavailable,
            StorageErrorKind::Timeout,
            StorageErrorKind::AccessDenied,
            StorageErrorKind::SchemaMismatch,
        ] {
            let mut fixture = Fixture::ready().await;
            let replies = group(&mut fixture, &names(4)).await;
            fixture.calls.next().await.fails(not_stored(kind));
            assert!(fixture.calls.is_quiet().await);
            for reply in replies {
                let error = failure(now(reply).await);
                assert_eq!(error.kind(), kind);
                assert!(error.is_not_stored());
            }
        }
    });
}

#[test]
fn splitting_stops_when_it_is_the_store_that_fails() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let replies = group(&mut fixture, &names(512)).await;
        let mut calls = 0;
        while !fixture.calls.is_quiet().await {
            calls += 1;
            let called = fixture.calls.next().await;
            called.fails(not_stored(StorageErrorKind::Backend));
        }
        assert!(calls < 30, "{calls} calls");
        for reply in replies {
            assert!(failure(now(reply).await).is_not_stored());
        }
    });
}

#[test]
fn recoveries_are_split_whatever_their_effect() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _reply) = fixture.busy().await;
        let names = names(4);
        let mut replies: Vec<_> = names
            .iter()
            .map(|name| fixture.handle.take_over(id(name), WriterId::NIL))
            .collect();
        settle().await;
        busy.works();
        while !fixture.calls.is_quiet().await {
            let called = fixture.calls.next().await;
            let Call::TakeOver(requests) = &called.call else {
                panic!("unexpected {called:?}");
            };
            if requests.iter().any(|r| r.persistence_id == id(&names[1])) {
                let error = StorageError::new(StorageErrorKind::Corrupt, Operation::TakeOver);
                called.fails(error);
            } else {
                called.works();
            }
        }
        let error = now(replies.remove(1)).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Corrupt);
        for reply in replies {
            assert!(now(reply).await.is_ok());
        }
    });
}
