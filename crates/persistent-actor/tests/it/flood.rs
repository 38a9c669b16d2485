//! Senders that do not stop neither take an arbiter away from others nor keep an actor from ending.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use actix::Addr;
use tokio::time::sleep;

use crate::history::with_events;
use crate::tally::{Log, Run, Tally, stop};
use crate::world::{World, run_in_real_time};

/// As long as this lives, a thread sends to an actor as fast as it can.
///
/// It ends by itself after some time, so that a test whose arbiter they take away fails and does not hang.
struct Flood {
    goes_on: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Flood {
    /// Begins, and waits until messages come.
    fn start(tally: &Addr<Tally>) -> Self {
        const LONGEST: Duration = Duration::from_secs(60);

        let (goes_on, sent) = (
            Arc::new(AtomicBool::new(true)),
            Arc::new(AtomicUsize::new(0)),
        );
        let began = Instant::now();
        let thread = || {
            let (tally, goes_on, sent) = (tally.clone(), Arc::clone(&goes_on), Arc::clone(&sent));
            std::thread::spawn(move || {
                while goes_on.load(Ordering::Relaxed) {
                    tally.do_send(Run::new(|_, _| ()));
                    sent.fetch_add(1, Ordering::Relaxed);
                    if began.elapsed() > LONGEST {
                        goes_on.store(false, Ordering::Relaxed);
                    }
                }
            })
        };
        let thread = Some(thread());
        while sent.load(Ordering::Relaxed) < 1_000 {
            std::thread::yield_now();
        }
        Self { goes_on, thread }
    }

    /// Fails if it has ended by itself before.
    fn end(self) {
        assert!(self.goes_on.load(Ordering::Relaxed), "it came to its end");
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.goes_on.store(false, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Runs a test on the clock that senders on other threads go by, and one at a time, because each takes a processor.
fn run<F: Future<Output = ()> + 'static>(test: impl FnOnce() -> F + 'static) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    run_in_real_time(async { test().await });
}

#[test]
fn a_flood_of_messages_that_are_refused_leaves_the_arbiter_to_others() {
    run(|| async {
        let (world, log) = with_events(1).await;
        let shared = log.clone();
        let tally = world.start(move || Tally {
            poison: Some(1),
            ..Tally::new("1", &shared)
        });
        let tally = tally.unwrap();
        while !log
            .take()
            .iter()
            .any(|entry| entry.starts_with("recovery failed"))
        {
            tokio::task::yield_now().await;
        }
        let flood = Flood::start(&tally);
        for _ in 0..20 {
            sleep(Duration::from_millis(1)).await;
        }
        // It stops meanwhile, too.
        world.environment.live_ids.drain().finished().await;
        flood.end();
    });
}

#[test]
fn everything_stops_in_the_middle_of_a_flood() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Run::new(|_, _| ())).await.unwrap();
        let flood = Flood::start(&tally);
        let drain = world.environment.live_ids.drain();
        drain.finished().await;
        assert!(drain.unfinished().is_empty(), "what had arrived is done");
        flood.end();
    });
}

#[test]
fn an_actor_that_stops_in_the_middle_of_a_flood_closes_its_address() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Run::new(|_, _| ())).await.unwrap();
        tally.do_send(Run::new(stop));
        let flood = Flood::start(&tally);
        while tally.connected() {
            sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(log.take().last().unwrap(), "stopped");
        flood.end();
    });
}

/// The number of times that a message sends another one.
const TIMES: usize = 100_000;

/// Sends itself to its actor again when it is dropped, as often as are left.
struct Again {
    to: Addr<Tally>,
    left: Arc<AtomicUsize>,
}

impl Again {
    fn send(to: &Addr<Tally>, left: &Arc<AtomicUsize>) {
        let again = Self {
            to: to.clone(),
            left: Arc::clone(left),
        };
        to.do_send(Run::new(move |_, _| drop(again)));
    }
}

impl Drop for Again {
    fn drop(&mut self) {
        let left = self.left.load(Ordering::Relaxed);
        if left > 0 && self.to.connected() {
            self.left.store(left - 1, Ordering::Relaxed);
            Self::send(&self.to, &self.left);
        }
    }
}

#[test]
fn messages_that_send_others_when_refused_leave_the_arbiter_to_others() {
    crate::world::run(|| async {
        let (world, log) = with_events(1).await;
        let shared = log.clone();
        let tally = world.start(move || Tally {
            poison: Some(1),
            ..Tally::new("1", &shared)
        });
        let tally = tally.unwrap();
        while log.take().is_empty() {
            tokio::task::yield_now().await;
        }
        let left = Arc::new(AtomicUsize::new(TIMES));
        Again::send(&tally, &left);
        while left.load(Ordering::Relaxed) == TIMES {
            tokio::task::yield_now().await;
        }
        assert_ne!(left.load(Ordering::Relaxed), 0, "no one else had a turn");
    });
}

#[test]
fn an_actor_that_ends_drops_no_message_before_its_address_is_closed() {
    crate::world::run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Run::new(|_, _| ())).await.unwrap();
        let left = Arc::new(AtomicUsize::new(TIMES));
        tally.do_send(Run::new(stop));
        Again::send(&tally, &left);
        while tally.connected() {
            tokio::task::yield_now().await;
        }
        assert_eq!(left.load(Ordering::Relaxed), TIMES);
        assert_eq!(log.take().last().unwrap(), "stopped");
    });
}
