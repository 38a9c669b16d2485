//! Streams that are asked nothing: they live by timers, by streams and by messages to themselves, in every hook and
//! state, and persist in all of it.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use fastrand::Rng;
use futures_util::stream;
use tokio::time::timeout;

use super::hooks::reached;
use super::stream::{Stream, stream_id};
use super::writers::{Process, tell_of_recovery};
use super::{count, fault};

/// The time between two ticks at most.
const LONGEST_TICK: Duration = Duration::from_millis(12);
/// The longest time for which an actor is let live.
const LONGEST_LIFE: Duration = Duration::from_millis(1_500);
/// The time within which an actor has its next tick, even after a database was away.
const UNTIL_ENDED: Duration = Duration::from_secs(60);
/// The largest number of messages that an actor sends to itself, one after the other.
const MOST_STEPS: u32 = 4;
/// The largest number of items of a stream.
const MOST_ITEMS: u32 = 4;

/// The way in which an actor lives by itself, from one incarnation to the next.
pub(crate) struct Drive {
    tick: Duration,
    seed: AtomicU64,
    /// True if it is to end by itself.
    ends: AtomicBool,
    /// The number of ticks in all its incarnations.
    ticks: AtomicU32,
}

impl Drive {
    fn new(rng: &mut Rng) -> Self {
        Self {
            tick: LONGEST_TICK
                .mul_f64(rng.f64())
                .max(Duration::from_millis(1)),
            seed: AtomicU64::new(rng.u64(..)),
            ends: AtomicBool::new(false),
            ticks: AtomicU32::new(0),
        }
    }

    /// Returns a number below this one.
    fn any(&self, below: u32) -> u32 {
        let seed = self.seed.fetch_add(1, Ordering::Relaxed);
        Rng::with_seed(seed).u32(..below)
    }
}

/// A step of something that the actor goes through by sending itself the next one.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
struct Step(u32);

impl Handler<Step> for Stream {
    type Result = ();

    fn handle(&mut self, Step(left): Step, ctx: &mut Self::Context) {
        self.turn("what it told itself");
        reached("command");
        let Some(drive) = self.drive.clone() else {
            return;
        };
        if drive.any(2) == 0 {
            self.persist_by_itself(&drive, ctx);
        }
        if left == 0 {
            return;
        }
        match drive.any(2) {
            0 => ctx.address().do_send(Step(left - 1)),
            _ => ctx.notify(Step(left - 1)),
        }
    }
}

/// An item of a stream that the actor has begun.
struct Item;

impl StreamHandler<Item> for Stream {
    fn started(&mut self, ctx: &mut Self::Context) {
        self.turn("the begin of a stream");
        self.persist_in_a_stream(ctx);
    }

    fn handle(&mut self, _: Item, ctx: &mut Self::Context) {
        self.turn("an item of a stream");
        reached("stream");
        self.persist_in_a_stream(ctx);
    }

    fn finished(&mut self, ctx: &mut Self::Context) {
        self.turn("the end of a stream");
        self.persist_in_a_stream(ctx);
    }
}

impl Stream {
    pub(super) fn drive_started(&mut self, ctx: &mut PersistentContext<Self>) {
        let Some(drive) = self.drive.clone() else {
            return;
        };
        // Whatever it begins before it is recovered comes afterwards.
        ctx.address().do_send(Step(drive.any(MOST_STEPS)));
        ctx.run_later(drive.tick, |stream, ctx| {
            stream.turn("a timer");
            reached("timer");
            stream.drive_talks(ctx);
        });
    }

    pub(super) fn drive_recovered(&mut self, ctx: &mut PersistentContext<Self>) {
        let Some(drive) = self.drive.clone() else {
            return;
        };
        ctx.run_interval(drive.tick, Self::tick);
        self.drive_talks(ctx);
        if drive.any(2) == 0 {
            self.persist_by_itself(&drive, ctx);
        }
    }

    fn tick(&mut self, ctx: &mut PersistentContext<Self>) {
        self.turn("a tick");
        reached("timer");
        let Some(drive) = self.drive.clone() else {
            return;
        };
        drive.ticks.fetch_add(1, Ordering::Relaxed);
        if drive.ends.load(Ordering::Relaxed) {
            let terminates = drive.any(3) == 0;
            if terminates && let Some(life) = &mut self.life {
                life.hooks.terminated = true;
                ctx.terminate();
            } else {
                ctx.stop();
            }
            return;
        }
        match drive.any(6) {
            0 => {
                ctx.add_stream(stream::iter((0..drive.any(MOST_ITEMS)).map(|_| Item)));
            }
            1 => {
                ctx.run_later(drive.tick, |stream, ctx| {
                    stream.turn("a timer");
                    stream.drive_talks(ctx);
                });
            }
            _ => self.persist_by_itself(&drive, ctx),
        }
    }

    /// Sends a message to itself by its own address.
    pub(super) fn drive_talks(&self, ctx: &mut PersistentContext<Self>) {
        if let Some(drive) = &self.drive {
            ctx.address().do_send(Step(drive.any(MOST_STEPS)));
        }
    }

    /// Persists while the actor is asked whether it stops; what it persists here is stored.
    pub(super) fn drive_stopping(&mut self, ctx: &mut PersistentContext<Self>) {
        self.drive_talks(ctx);
        if let Some(drive) = self.drive.clone() {
            self.persist_by_itself(&drive, ctx);
        }
    }

    /// Persists when the actor has stopped; what it persists here is rejected.
    pub(super) fn drive_stopped(&mut self, ctx: &mut PersistentContext<Self>) {
        self.drive_talks(ctx);
        if self.drive.is_some()
            && let Some(life) = &mut self.life
        {
            let uid = life.scribe.uid().0;
            // After a write under way it is not heard of.
            life.hooks.too_late = life.writes.is_empty().then_some(uid);
            self.persist_one(uid, true, ctx).detach();
        }
    }

    fn persist_in_a_stream(&mut self, ctx: &mut PersistentContext<Self>) {
        if let Some(drive) = self.drive.clone() {
            self.persist_by_itself(&drive, ctx);
        }
    }

    /// Persists an event, and may send itself a message when it is stored.
    fn persist_by_itself(&mut self, drive: &Drive, ctx: &mut PersistentContext<Self>) {
        let Some(life) = &self.life else { return };
        let (uid, holds, talks) = (life.scribe.uid().0, drive.any(4) > 0, drive.any(8) == 0);
        let persisted = self.persist_one(uid, holds, ctx);
        persisted
            .then(move |stream, _, ctx| {
                if talks {
                    stream.drive_talks(ctx);
                }
            })
            .detach();
    }
}

/// Starts such an actor again and again, leaves it alone, and sees that it lives until it ends itself.
pub(super) async fn watch(process: Rc<Process>, number: u32, mut rng: Rng) -> anyhow::Result<()> {
    let id = stream_id(number);
    let retaining = process.assignment.retaining;
    while !process.has_ended() {
        let drive = Arc::new(Drive::new(&mut rng));
        let factory = {
            let (drive, scribe) = (Arc::clone(&drive), Arc::clone(&process.scribe));
            move || {
                let scribe = Arc::clone(&scribe);
                Stream::alive(number, retaining, scribe, tell_of_recovery)
                    .driven(Arc::clone(&drive))
            }
        };
        let Some(actor) = process.start(&mut rng, factory).await? else {
            return Ok(());
        };
        // No one needs to know it.
        let address = rng.bool().then_some(actor);
        let length = LONGEST_LIFE.mul_f64(rng.f64());
        let ended = timeout(length, process.persistence.stopped(&id)).await;
        // An arbiter that ends takes its actors along.
        let lives = process.arbiters.borrow().is_empty() && !process.persistence.is_stopping();
        if ended.is_ok() && lives {
            fault(format!(
                "{id} lives by its timers, and has ended after {} ticks although nobody stopped it",
                drive.ticks.load(Ordering::Relaxed)
            ));
        }
        drive.ends.store(true, Ordering::Relaxed);
        let patience = process.patience.get().min(UNTIL_ENDED);
        if timeout(patience, process.persistence.stopped(&id))
            .await
            .is_err()
        {
            fault(format!(
                "{id} is to stop itself at its next tick, and has not within {patience:?}"
            ));
        }
        drop(address);
        count("lives by themselves");
    }
    Ok(())
}
