//! Commands that run beside no change, on a journal with several lanes.

use std::sync::Arc;

use actix_persistence_journal_actor::{JournalHandle, WriteReply};
use actix_persistence_storage_api::{
    CommandRules, CommandTurn, JournalCapabilities, StorageError, StorageErrorKind,
};
use actix_persistence_store_actor::{Reply, StoreThread};
use futures_util::FutureExt;
use tokio::time::timeout;

use crate::fixture::{Fixture, id, is_stored, now, on_paused_clock, seconds, settings, threads};
use crate::scripted_journal::{Call, Called, Probe, ScriptedJournal, settle};

const ALONE: Call = Call::Command(CommandTurn::Alone);

/// A journal with four lanes.
async fn four_lanes() -> Fixture {
    let capabilities = JournalCapabilities::default().with_lanes(4);
    Fixture::ready_with(settings(), capabilities).await
}

/// The calls that are under way, once nothing goes on by itself.
async fn under_way(fixture: &mut Fixture) -> Vec<Called> {
    let mut called = Vec::new();
    while !fixture.calls.is_quiet().await {
        called.push(fixture.calls.next().await);
    }
    called
}

/// Sends a write of each of 32 ids, which are in all lanes.
fn write_everywhere(fixture: &Fixture, sequence_nr: u64) -> Vec<Reply<WriteReply>> {
    // Ids that are numbered through have slices beside each other, and so one lane.
    let write = |n: u32| fixture.write_nr(&format!("{}", n * 7_919), sequence_nr);
    (0..32).map(write).collect()
}

/// Sends a command that may take an hour.
fn ask(fixture: &Fixture) -> impl Future<Output = Result<u64, StorageError>> + use<> {
    let rules = CommandRules::alone().without_breaker(seconds(3_600));
    fixture.handle.ask(Probe(rules))
}

async fn answer<T>(asked: impl Future<Output = T>) -> T {
    settle().await;
    asked.now_or_never().expect("an answer by now")
}

/// Lets every write go on until none is left, and returns the number of calls.
async fn serve_writes(fixture: &mut Fixture) -> usize {
    let mut number = 0;
    while !fixture.calls.is_quiet().await {
        let (called, _) = fixture.calls.next_write().await;
        called.works();
        number += 1;
    }
    number
}

#[test]
fn it_waits_for_the_changes_of_every_lane_and_later_ones_wait() {
    on_paused_clock(async {
        let mut fixture = four_lanes().await;
        let before = write_everywhere(&fixture, 1);
        let asked = ask(&fixture);
        let after = write_everywhere(&fixture, 2);
        let mut writes = under_way(&mut fixture).await;
        assert_eq!(writes.len(), 4);
        let last = writes.pop().unwrap();
        writes.into_iter().for_each(Called::works);
        // The lanes that have halted make no call while the last one is busy.
        let rest = under_way(&mut fixture).await;
        assert!(
            rest.iter()
                .all(|called| called.writes()[0].lowest_sequence_nr() == 1)
        );
        rest.into_iter().for_each(Called::works);
        assert!(fixture.calls.is_quiet().await);
        last.works();
        let mut calls = under_way(&mut fixture).await;
        while calls[0].call != ALONE {
            calls.into_iter().for_each(Called::works);
            calls = under_way(&mut fixture).await;
        }
        assert_eq!(calls.len(), 1);
        for stored in before {
            assert!(is_stored(&now(stored).await));
        }
        calls.remove(0).works();
        assert_eq!(answer(asked).await.unwrap(), 7);
        assert!(serve_writes(&mut fixture).await >= 4);
        for stored in after {
            assert!(is_stored(&now(stored).await));
        }
    });
}

#[test]
fn two_of_them_run_one_after_the_other() {
    on_paused_clock(async {
        let mut fixture = four_lanes().await;
        let before = write_everywhere(&fixture, 1);
        let asked = [ask(&fixture), ask(&fixture)];
        let between = write_everywhere(&fixture, 2);
        let third = ask(&fixture);
        let mut commands = 0;
        while !fixture.calls.is_quiet().await {
            let called = fixture.calls.next().await;
            if called.call == ALONE {
                commands += 1;
                assert!(fixture.calls.is_quiet().await, "it is not alone");
            }
            called.works();
        }
        assert_eq!(commands, 3);
        for stored in before.into_iter().chain(between) {
            assert!(is_stored(&now(stored).await));
        }
        for asked in asked.into_iter().chain([third]) {
            assert_eq!(answer(asked).await.unwrap(), 7);
        }
    });
}

#[test]
fn a_read_that_follows_a_write_which_waits_sees_that_write() {
    on_paused_clock(async {
        let mut fixture = four_lanes().await;
        let asked = ask(&fixture);
        let command = fixture.calls.next().await;
        let write = fixture.write("a");
        settle().await;
        let read = fixture.handle.read_highest_sequence_nr(id("a"));
        let other = fixture.handle.read_highest_sequence_nr(id("b"));
        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::ReadHighest(id("b")));
        called.works();
        assert!(now(other).await.is_ok());
        assert!(fixture.calls.is_quiet().await);
        command.works();
        assert_eq!(answer(asked).await.unwrap(), 7);
        fixture.calls.next_write().await.0.works();
        assert!(is_stored(&now(write).await));
        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::ReadHighest(id("a")));
        called.works();
        assert!(now(read).await.is_ok());
    });
}

#[test]
fn the_lanes_go_on_when_its_time_is_over_before_its_turn() {
    on_paused_clock(async {
        let mut fixture = four_lanes().await;
        let (busy, _write) = fixture.busy().await;
        let rules = CommandRules::alone().without_breaker(seconds(5));
        let asked = fixture.handle.ask(Probe(rules));
        let writes = write_everywhere(&fixture, 1);
        assert!(fixture.calls.is_quiet().await);
        tokio::time::advance(seconds(5)).await;
        let error = answer(asked).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Timeout);
        assert!(error.is_not_stored());
        // But for the lane that is busy.
        assert_eq!(serve_writes(&mut fixture).await, 3);
        busy.works();
        assert_eq!(serve_writes(&mut fixture).await, 1);
        for stored in writes {
            assert!(is_stored(&now(stored).await));
        }
    });
}

#[test]
fn changes_wait_for_a_late_one_until_it_can_hardly_have_an_effect() {
    on_paused_clock(async {
        let mut fixture = four_lanes().await;
        let asked = fixture.handle.ask(Probe(CommandRules::alone()));
        let hanging = fixture.calls.next().await;
        tokio::time::advance(seconds(10)).await;
        let error = answer(asked).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Timeout);
        assert!(!error.is_not_stored());
        let write = fixture.write("a");
        assert!(fixture.calls.is_quiet().await);
        tokio::time::advance(seconds(10)).await;
        fixture.calls.next_write().await.0.works();
        assert!(is_stored(&now(write).await));
        hanging.works();
    });
}

#[test]
fn it_waits_for_a_late_write_even_if_the_journal_is_let_go() {
    on_paused_clock(async {
        let mut fixture = four_lanes().await;
        let write = fixture.write("a");
        let (late, _) = fixture.calls.next_write().await;
        tokio::time::advance(seconds(10)).await;
        assert!(!is_stored(&now(write).await));
        let asked = ask(&fixture);
        let after = fixture.write("b");
        settle().await;
        let Fixture { handle, mut calls } = fixture;
        drop(handle);
        assert!(calls.is_quiet().await);
        late.works();
        let called = calls.next().await;
        assert_eq!(called.call, ALONE);
        called.works();
        assert_eq!(answer(asked).await.unwrap(), 7);
        calls.next_write().await.0.works();
        assert!(is_stored(&now(after).await));
    });
}

#[test]
fn it_waits_for_a_late_write_that_may_still_be_stored() {
    on_paused_clock(async {
        let mut fixture = four_lanes().await;
        let write = fixture.write("a");
        let (late, _) = fixture.calls.next_write().await;
        tokio::time::advance(seconds(10)).await;
        assert!(!is_stored(&now(write).await));
        let asked = ask(&fixture);
        assert!(fixture.calls.is_quiet().await);
        late.works();
        let called = fixture.calls.next().await;
        assert_eq!(called.call, ALONE);
        called.works();
        assert_eq!(answer(asked).await.unwrap(), 7);
    });
}

#[test]
fn those_of_several_threads_do_not_wait_for_each_other_in_turn() {
    let runtime = threads(2);
    let thread = StoreThread::start("stores").unwrap();
    let capabilities = JournalCapabilities::default().with_lanes(16);
    let (journal, mut calls) = ScriptedJournal::new(capabilities);
    let journal = Arc::new(journal);
    let handle = JournalHandle::start(journal, settings(), runtime.handle().clone(), &thread);
    runtime.block_on(async { calls.next().await.works() });
    runtime.block_on(handle.ready()).unwrap();
    runtime.spawn(async move {
        loop {
            calls.next().await.works();
        }
    });
    let ask = || {
        let rules = CommandRules::alone().without_breaker(seconds(3_600));
        handle.ask(Probe(rules))
    };
    let asked: Vec<_> = std::thread::scope(|scope| {
        let askers = [(); 2].map(|()| scope.spawn(|| (0..500).map(|_| ask()).collect::<Vec<_>>()));
        let asked = askers.into_iter().flat_map(|asker| asker.join().unwrap());
        asked.collect()
    });
    for asked in asked {
        let answer = runtime.block_on(async { timeout(seconds(60), asked).await });
        assert_eq!(answer.expect("an answer").unwrap(), 7);
    }
}
