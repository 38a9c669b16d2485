//! Stopping everything while senders do not stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use actix::prelude::*;
use actix_persistence::StopReport;
use actix_persistence::memory::MemoryJournal;
use actix_persistence::prelude::*;
use actix_persistence::storage_api::{Operation, StorageErrorKind};
use actix_persistence_testkit::Intercepted;
use tokio::time::sleep;

use crate::counter::{Count, Counter};

/// The time that a stop gets.
const DEADLINE: Duration = Duration::from_millis(300);
/// The time that a machine which is busy with much else takes for what a stop does after its deadline.
const MARGIN: Duration = Duration::from_secs(15);
/// The time after which the senders end by themselves, so that a stop which waits for that is too late and does not hang.
const LONGEST: Duration = Duration::from_secs(30);

/// More than an actor puts aside, so that there is always one to take, and few enough for the memory of a machine.
const MOST_WAITING: usize = 50_000;

/// The trouble that an actor is in when everything is stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trouble {
    None,
    /// Its first write hangs, and what arrives is put aside.
    Write,
    /// It spawned a future that never ends, and takes its messages straight from the mailbox.
    Future,
    /// Its recovery hangs, and what arrives is put aside.
    Recovery,
    /// Its recovery fails, and it is tried again for ever.
    BackOff,
}

/// Never ends.
#[derive(Message)]
#[rtype(result = "()")]
struct Endless;

impl Handler<Endless> for Counter {
    type Result = ();

    fn handle(&mut self, _: Endless, ctx: &mut Self::Context) {
        ctx.spawn(fut::wrap_future(std::future::pending()));
    }
}

/// A message of a flood; counted as long as it is anywhere.
#[derive(Message)]
#[rtype(result = "()")]
struct Noise(Arc<AtomicUsize>);

impl Drop for Noise {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Handler<Noise> for Counter {
    type Result = ();

    fn handle(&mut self, _: Noise, _: &mut Self::Context) {}
}

/// As long as this lives, threads send to an actor as fast as they can.
struct Flood {
    goes_on: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Flood {
    /// Begins, and waits until each thread sends.
    fn start(counter: &Addr<Counter>) -> Self {
        let (goes_on, waiting) = (Arc::new(AtomicBool::new(true)), Arc::default());
        let ends = Instant::now() + LONGEST;
        let mut threads = Vec::new();
        for _ in 0..2 {
            let (counter, goes_on) = (counter.clone(), Arc::clone(&goes_on));
            let waiting: Arc<AtomicUsize> = Arc::clone(&waiting);
            let has_begun = Arc::new(AtomicBool::new(false));
            let begun = Arc::clone(&has_begun);
            threads.push(std::thread::spawn(move || {
                while goes_on.load(Ordering::Relaxed) {
                    if waiting.fetch_add(1, Ordering::Relaxed) < MOST_WAITING {
                        counter.do_send(Noise(Arc::clone(&waiting)));
                    } else {
                        waiting.fetch_sub(1, Ordering::Relaxed);
                    }
                    begun.store(true, Ordering::Relaxed);
                    if Instant::now() > ends {
                        goes_on.store(false, Ordering::Relaxed);
                    }
                }
            }));
            while !has_begun.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        }
        Self { goes_on, threads }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.goes_on.store(false, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

/// Stops in the middle of a flood to an actor in trouble on the same arbiter; gives what was reported, and when.
async fn stopped(trouble: Trouble) -> (StopReport, Duration) {
    let journal = Intercepted::journal(MemoryJournal::new());
    match trouble {
        Trouble::None | Trouble::Future => {}
        Trouble::Write => {
            journal.on(Operation::WriteMessages).hang();
        }
        Trouble::Recovery => {
            journal.on(Operation::ReadHead).hang();
        }
        Trouble::BackOff => {
            let trouble = StorageErrorKind::Unavailable;
            journal.on(Operation::ReadHead).fail(trouble);
        }
    }
    let persistence = Persistence::builder()
        .journal("troubled", Arc::new(journal))
        .open()
        .await
        .unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    if trouble == Trouble::Future {
        counter.send(Endless).await.unwrap();
    }
    counter.do_send(Count(1));
    let flood = Flood::start(&counter);
    let begun = Instant::now();
    // What the actor does for the senders leaves the arbiter to others before it stops, too.
    for _ in 0..5 {
        sleep(Duration::from_millis(1)).await;
    }
    let report = persistence.stop(DEADLINE).await;
    let elapsed = begun.elapsed();
    assert!(
        flood.goes_on.load(Ordering::Relaxed),
        "the senders ended before"
    );
    (report, elapsed)
}

#[actix::test]
async fn a_stop_keeps_its_deadline_in_the_middle_of_a_flood() {
    for trouble in [
        Trouble::None,
        Trouble::Write,
        Trouble::Future,
        Trouble::Recovery,
        Trouble::BackOff,
    ] {
        let (report, elapsed) = stopped(trouble).await;
        assert!(elapsed < DEADLINE + MARGIN, "{trouble:?}: {elapsed:?}");
        assert_eq!(report.actors, 1);
        // What had arrived may be too much for the time that there was.
        if trouble != Trouble::None {
            assert!(elapsed >= DEADLINE, "{trouble:?}: {elapsed:?}");
            assert_eq!(report.unfinished.len(), 1, "{trouble:?}: {report}");
        }
    }
}
