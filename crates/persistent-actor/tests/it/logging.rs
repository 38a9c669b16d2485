//! The lines that are logged when something goes wrong, and the data that never is.

use std::cell::RefCell;
use std::io;
use std::sync::{Arc, Once};

use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    DEFAULT_EVENT_LIMIT, Overflow, PersistError, StashPolicy,
};

use crate::scripted_journal::{Next, ScriptedJournal};
use crate::tally::{Add, AddLarge, Get, Log, Run, Tally};
use crate::world::{World, run};

thread_local! {
    /// The lines that this thread has logged; a test and its actors share one.
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// One subscriber for all threads: `tracing` remembers for ever that a place is not listened to if another test, on a
/// thread without a subscriber of its own, comes by first.
pub(crate) fn collect() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
            .with_writer(|| Logged)
            .init();
    });
    LOGGED.with_borrow_mut(Vec::clear);
}

pub(crate) fn logged() -> String {
    LOGGED.with_borrow(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// Checks that a line has all these parts.
pub(crate) fn has_line(parts: &[&str]) {
    let text = logged();
    let has = |line: &str| parts.iter().all(|part| line.contains(part));
    assert!(text.lines().any(has), "no line with {parts:?} in\n{text}");
}

struct Logged;

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| logged.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn failures_and_rejections_are_logged_with_their_event_but_no_payload() {
    run(|| async {
        collect();
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Add(424_242)).await.unwrap().unwrap();
        tally
            .send(AddLarge(424_242, DEFAULT_EVENT_LIMIT))
            .await
            .unwrap()
            .unwrap_err();
        journal.next(Next::FailNotStored);
        tally.send(Add(424_242)).await.unwrap().unwrap_err();
        journal.fail_recoveries(1);
        tally.send(Get).await.unwrap();
        let panicking = Run::new(|_, _| panic!("in a handler"));
        tally.send(panicking).await.unwrap_err();

        let who = ["Tally|1", "sequence_nr=2", "test.added:v1"];
        let with = |first: &[&'static str]| has_line(&[first, &who].concat());
        with(&["WARN", "rejected", "bytes"]);
        with(&["ERROR", "persisting failed", "could not write events"]);
        has_line(&["WARN", "the store does not answer", "journal \\\"test\\\""]);
        has_line(&["DEBUG", "recovery failed", "Tally|1"]);
        has_line(&[
            "ERROR",
            "panicked",
            "Tally|1",
            "sequence_nr=1",
            "in a handler",
        ]);
        let everything = logged();
        assert!(
            !everything.contains("424242"),
            "a payload was logged:\n{everything}"
        );
    });
}

#[test]
fn a_conflict_is_one_warning_with_the_id_and_both_epochs() {
    run(|| async {
        collect();
        let storage = MemoryStorage::new();
        let process = || World::on(storage.clone(), Arc::new(storage.journal()), |_| {});
        let start = |world: World| world.start(Tally::factory("1", &Log::default())).unwrap();
        let first = start(process());
        first.send(Add(1)).await.unwrap().unwrap();
        start(process()).send(Add(1)).await.unwrap().unwrap();
        let lost = first.send(Add(1)).await.unwrap().unwrap_err();
        assert!(matches!(lost, PersistError::Conflict(_)), "{lost}");
        first.send(Get).await.unwrap();
        has_line(&["WARN", "Tally|1", "another writer", "epoch 1", "epoch 2"]);
        let text = logged();
        let told = |level: &str| {
            let of_level = text.lines().filter(|line| line.contains(level));
            of_level.filter(|line| line.contains("Tally|1")).count()
        };
        assert_eq!((told("WARN"), told("ERROR")), (1, 0), "{text}");
    });
}

#[test]
fn messages_that_do_not_fit_are_counted_and_not_logged_one_by_one() {
    run(|| async {
        collect();
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::held(storage.journal());
        let world = World::on(storage, journal.clone(), |environment| {
            environment.stash_policy = StashPolicy::new(2, Overflow::Drop);
        });
        let tally = world.start(Tally::factory("1", &Log::default())).unwrap();
        let asked = tally.send(Add(1));
        while journal.calls().is_empty() {
            tokio::task::yield_now().await;
        }
        for _ in 0..100 {
            tally.do_send(Run::new(|_, _| ()));
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        journal.release(1);
        asked.await.unwrap().unwrap();
        tally.send(Get).await.unwrap();
        has_line(&["WARN", "Tally|1", "dropped=98"]);
        let text = logged();
        let lines = text.lines().filter(|line| line.contains("dropped"));
        assert_eq!(lines.count(), 2, "{text}");
    });
}
