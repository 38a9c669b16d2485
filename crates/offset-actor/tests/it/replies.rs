//! There is always exactly one reply.

use actix_persistence_storage_api::{Effect, SessionWork, StorageErrorKind};
use tokio::time::Instant;

use crate::fixture::{Fixture, done, key, now, on_paused_clock, seconds, settle, step};

#[test]
fn a_panic_of_the_store_is_an_answer_of_unknown_effect() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let commit = fixture.commit(0);
        fixture.calls.next().await.panic("scripted");
        let failure = now(commit).await.unwrap_err();
        assert_eq!(failure.effect(), Some(Effect::Unknown));
        let read = fixture.handle.read(key());
        fixture.calls.next().await.panic("scripted");
        assert!(now(read).await.is_err());
        fixture.handle.drained().await;
    });
}

#[test]
fn a_call_that_hangs_is_answered_when_its_time_is_over() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let started = Instant::now();
        let commit = fixture.commit(0);
        fixture.calls.next().await.hang();
        let failure = commit.await.unwrap_err();
        assert_eq!(failure.kind(), StorageErrorKind::Timeout);
        assert_eq!(failure.effect(), Some(Effect::Unknown));
        assert_eq!(started.elapsed(), seconds(10));
        let read = fixture.handle.keys();
        fixture.calls.next().await.hang();
        let failure = read.await.unwrap_err();
        assert_eq!(failure.effect(), None);
    });
}

#[test]
fn a_call_goes_on_after_its_asker_has_left() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let commit = fixture.commit(0);
        let called = fixture.calls.next().await;
        drop(commit);
        settle().await;
        assert!(!called.is_abandoned());
        done(called);
        fixture.handle.drained().await;
    });
}

#[test]
fn work_whose_asker_has_left_before_its_turn_never_runs() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let first = fixture.commit(0);
        let called = fixture.calls.next().await;
        let work = SessionWork::new(|_| Box::pin(async { panic!("it runs") }));
        drop(fixture.handle.commit(step(0), Some(work)));
        done(called);
        assert!(now(first).await.is_ok());
        assert!(fixture.calls.is_quiet().await);
    });
}
