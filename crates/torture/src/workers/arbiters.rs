//! Writes to some streams and states whose actors live on arbiters that end, or stand still, at any moment.
//!
//! `torture worker arbiters ASSIGNMENT`

use std::cell::Cell;
use std::rc::Rc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use actix::{Arbiter, ArbiterHandle, System};
use actix_persistence::Persistence;
use anyhow::{Context, bail};
use fastrand::Rng;
use tokio::time::sleep;

use super::stop::BOUND;
use super::stream::{Stream, stream_id};
use super::writers::{Assignment, Process, Writing, opened};
use super::{count, fault, told_to_end};

/// The number of arbiters at once.
const ARBITERS: usize = 3;
/// The longest time between the ends of two arbiters.
const LONGEST_PEACE: Duration = Duration::from_millis(60);
/// The longest time for which an arbiter is blocked; longer than a turn to recover is kept for it.
const LONGEST_BLOCK: Duration = Duration::from_millis(1500);
/// The number of actors that recover at once, lower than that of actors.
const RECOVERIES: u32 = 2;
/// An answer comes, and an id is free, within this time.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest deadline of a stop while arbiters end.
const LONGEST_DEADLINE: Duration = Duration::from_millis(800);
/// In the end everything has stopped by itself; the stop only closes the stores.
const STOP_DEADLINE: Duration = Duration::from_secs(20);

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [assignment] = arguments else {
        bail!("usage: torture worker arbiters ASSIGNMENT");
    };
    let assignment: Assignment = serde_json::from_str(assignment)?;
    let mut rng = Rng::with_seed(assignment.seed ^ 1);
    // Stores outlive the system that has opened them.
    let elsewhere = rng.bool().then(|| open_elsewhere(assignment.clone()));
    let elsewhere = elsewhere.transpose()?;
    System::new().block_on(async {
        let persistence = match elsewhere {
            Some(persistence) => persistence,
            None => opened(&assignment, Some(RECOVERIES)).await?,
        };
        let stops_amid = rng.bool();
        let deadline = LONGEST_DEADLINE.mul_f64(rng.f64());
        let writing = Writing::begin(assignment, persistence.clone());
        let process = Rc::clone(writing.process());
        process.errands.set(true);
        process.patience.set(PATIENCE);
        let ended = Rc::new(Cell::new(false));
        let mut disturbing = Disturbing {
            homes: Vec::new(),
            process: Rc::clone(&process),
            rng,
        };
        let disturbing = actix::spawn({
            let ended = Rc::clone(&ended);
            async move {
                while !ended.get() {
                    disturbing.disturb().await?;
                }
                anyhow::Ok(disturbing)
            }
        });
        // It also ends with the process that started us.
        told_to_end().await?;
        if stops_amid {
            // Those that stand still, or are gone, hold nothing up.
            let since = Instant::now();
            persistence.stop(deadline).await;
            let took = since.elapsed();
            if took > deadline + BOUND {
                fault(format!(
                    "a stop with a deadline of {deadline:?} took {took:?}"
                ));
            }
            count("stops amid ends");
        }
        ended.set(true);
        let disturbing = disturbing.await??;
        writing.end().await?;
        disturbing.end().await?;
        // With its arbiter an actor ends, whatever it was doing.
        let since = Instant::now();
        while !persistence.live_ids().is_empty() {
            if since.elapsed() > PATIENCE {
                fault(format!(
                    "ids whose arbiters have ended are not free: {:?}",
                    persistence.live_ids()
                ));
                break;
            }
            sleep(Duration::from_millis(5)).await;
        }
        let report = persistence.stop(STOP_DEADLINE).await;
        if !stops_amid && !report.is_complete() {
            fault(format!(
                "nothing was left to be done, and a stop tells: {report}"
            ));
        }
        Ok(())
    })
}

/// Opens the stores in an actix system that ends as soon as they are open.
fn open_elsewhere(assignment: Assignment) -> anyhow::Result<Persistence> {
    let opening = thread::spawn(move || {
        System::new().block_on(async { opened(&assignment, Some(RECOVERIES)).await })
    });
    let opened = opening.join();
    let opened = opened.unwrap_or_else(|_| bail!("opening panicked"))?;
    count("systems ended that had opened the stores");
    Ok(opened)
}

/// An arbiter, and the thread that ends it.
enum Home {
    OfThisSystem(Arbiter),
    OfAnother {
        arbiter: ArbiterHandle,
        system: System,
        thread: JoinHandle<()>,
    },
}

impl Home {
    fn of_this_system() -> Self {
        Self::OfThisSystem(Arbiter::new())
    }

    /// Starts an actix system of its own in a thread of its own.
    fn of_another() -> anyhow::Result<Self> {
        let (sender, started) = std::sync::mpsc::sync_channel(1);
        let thread = thread::spawn(move || {
            let runner = System::new();
            let system = System::current();
            // The caller that waits for it is still there.
            let _ = sender.send((system.arbiter().clone(), system));
            let _ = runner.run();
        });
        let (arbiter, system) = started.recv().context("an actix system did not start")?;
        Ok(Self::OfAnother {
            arbiter,
            system,
            thread,
        })
    }

    fn handle(&self) -> ArbiterHandle {
        match self {
            Self::OfThisSystem(arbiter) => arbiter.handle(),
            Self::OfAnother { arbiter, .. } => arbiter.clone(),
        }
    }

    fn stop(&self) {
        match self {
            Self::OfThisSystem(arbiter) => {
                arbiter.stop();
                count("arbiters ended");
            }
            Self::OfAnother { system, .. } => {
                system.stop();
                count("systems ended");
            }
        }
    }

    /// Waits until nothing of it runs any more.
    fn join(self) {
        let joined = match self {
            Self::OfThisSystem(arbiter) => arbiter.join(),
            Self::OfAnother { thread, .. } => thread.join(),
        };
        if joined.is_err() {
            fault("an arbiter panicked in its end");
        }
    }
}

/// Ends arbiters, and starts others.
struct Disturbing {
    homes: Vec<Home>,
    process: Rc<Process>,
    rng: Rng,
}

impl Disturbing {
    async fn disturb(&mut self) -> anyhow::Result<()> {
        while self.homes.len() < ARBITERS {
            self.homes.push(match self.rng.u8(..4) {
                0 => Home::of_another()?,
                _ => Home::of_this_system(),
            });
        }
        self.tell();
        self.strew();
        sleep(LONGEST_PEACE.mul_f64(self.rng.f64())).await;
        let chosen = self.rng.usize(..self.homes.len());
        if self.rng.u8(..12) == 0 {
            let time = LONGEST_BLOCK.mul_f64(self.rng.f64());
            self.homes[chosen]
                .handle()
                .spawn_fn(move || thread::sleep(time));
            count("arbiters blocked");
            return Ok(());
        }
        let home = self.homes.swap_remove(chosen);
        // A caller that starts actors may know of the end or not.
        if self.rng.bool() {
            self.tell();
        }
        home.stop();
        if self.rng.bool() {
            tokio::task::spawn_blocking(move || home.join()).await?;
        }
        Ok(())
    }

    /// Lets actors be started on those that are there.
    fn tell(&self) {
        let handles = self.homes.iter().map(Home::handle);
        *self.process.arbiters.borrow_mut() = handles.collect();
    }

    /// Lets arbiters wait for the stores, when they end, by futures that belong to no actor.
    fn strew(&mut self) {
        for home in &self.homes {
            let persistence = self.process.persistence.clone();
            let number = self.rng.u32(..self.process.assignment.streams);
            let retaining = self.process.assignment.retaining;
            home.handle().spawn(async move {
                // Its own clients judge what is seen; here only the permits and connections count.
                let _ = persistence.replay(Stream::shown(number, retaining)).await;
                let _ = persistence.stopped(&stream_id(number)).await;
            });
        }
    }

    async fn end(self) -> anyhow::Result<()> {
        for home in self.homes {
            home.stop();
            tokio::task::spawn_blocking(move || home.join()).await?;
        }
        Ok(())
    }
}
