//! What is logged when something goes wrong, and what never is.

use std::io;
use std::sync::{Arc, Mutex};

use actix_persistence_persistent_actor::DEFAULT_EVENT_LIMIT;
use tracing_subscriber::fmt::MakeWriter;

use crate::scripted_journal::Next;
use crate::tally::{Add, AddLarge, Get, Log, Run, Tally};
use crate::world::{World, run};

#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl Logged {
    /// Collects what this thread logs until the guard is dropped.
    fn collect(&self) -> tracing::subscriber::DefaultGuard {
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(self.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    /// The line that has all these parts.
    fn line(&self, parts: &[&str]) -> String {
        let bytes = self.0.lock().unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let found = text
            .lines()
            .find(|line| parts.iter().all(|part| line.contains(part)));
        found
            .unwrap_or_else(|| panic!("no line with {parts:?} in\n{text}"))
            .to_owned()
    }
}

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Logged {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[test]
fn failures_are_errors_and_rejections_warnings_with_id_number_and_manifest_and_no_payload() {
    run(|| async {
        let logged = Logged::default();
        let _guard = logged.collect();
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
        let with = |first: &[&'static str]| logged.line(&[first, &who].concat());
        with(&["WARN", "rejected", "bytes"]);
        with(&["ERROR", "persisting failed", "could not write events"]);
        logged.line(&["ERROR", "recovery failed", "Tally|1", "test.added:v1"]);
        logged.line(&[
            "ERROR",
            "panicked",
            "Tally|1",
            "sequence_nr=1",
            "in a handler",
        ]);
        let everything = String::from_utf8(logged.0.lock().unwrap().clone()).unwrap();
        assert!(
            !everything.contains("424242"),
            "a payload was logged:\n{everything}"
        );
    });
}
