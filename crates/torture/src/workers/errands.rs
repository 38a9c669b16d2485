//! Things that a stream does later by itself, and commands that it puts aside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::SequenceNr;
use actix_persistence::prelude::*;
use fastrand::Rng;
use futures_util::{FutureExt, StreamExt, stream};
use tokio::time::sleep;

use super::hooks::reached;
use super::stream::{Stream, Write};

/// The longest time until it is done.
const LONGEST: Duration = Duration::from_millis(4);
/// The share of errands that take far longer: one in this many.
const SLOW: u8 = 16;
/// The longest time of those.
const LONGEST_SLOW: Duration = Duration::from_millis(400);

/// Writes later, in one of these ways.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Errand {
    write: Write,
    way: Way,
    delay: Duration,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Timer,
    Stream,
    Future,
}

/// Writes when it was put aside for a moment.
#[derive(Debug, Message)]
#[rtype(result = "Result<SequenceNr, PersistError>")]
pub(crate) struct Aside {
    write: Write,
    was_aside: Arc<AtomicBool>,
    delay: Duration,
}

impl Errand {
    /// Returns an errand whose end is reported to no asker, or one that is answered.
    pub(crate) fn any(write: Write, rng: &mut Rng) -> Result<Self, Aside> {
        let longest = match rng.u8(..SLOW) {
            0 => LONGEST_SLOW,
            _ => LONGEST,
        };
        let delay = longest.mul_f64(rng.f64());
        let way = match rng.u8(..4) {
            0 => Way::Timer,
            1 => Way::Stream,
            2 => Way::Future,
            _ => {
                return Err(Aside {
                    write,
                    was_aside: Arc::default(),
                    delay,
                });
            }
        };
        Ok(Self { write, way, delay })
    }
}

impl Handler<Errand> for Stream {
    type Result = ();

    fn handle(&mut self, errand: Errand, ctx: &mut Self::Context) {
        self.turn("a command");
        let Errand { write, way, delay } = errand;
        match way {
            Way::Timer => {
                ctx.run_later(delay, |stream, ctx| {
                    stream.turn("a timer");
                    reached("timer");
                    ctx.notify(write);
                });
            }
            Way::Stream => {
                let items = stream::iter([write]).then(move |write| sleep(delay).map(|()| write));
                ctx.add_stream(items.boxed_local());
            }
            Way::Future => {
                ctx.spawn(sleep(delay).into_actor(self).map(|(), stream, ctx| {
                    stream.turn("a future");
                    reached("future");
                    ctx.notify(write);
                }));
            }
        }
    }
}

impl StreamHandler<Write> for Stream {
    fn handle(&mut self, write: Write, ctx: &mut Self::Context) {
        self.turn("an item of a stream");
        reached("stream");
        ctx.notify(write);
    }

    fn finished(&mut self, _: &mut Self::Context) {
        // The actor goes on.
    }
}

impl Handler<Aside> for Stream {
    type Result = Reply<Aside>;

    fn handle(&mut self, aside: Aside, ctx: &mut Self::Context) -> Reply<Aside> {
        self.turn("a command");
        if aside.was_aside.swap(true, Ordering::Relaxed) {
            return self.write(aside.write, ctx);
        }
        reached("stash");
        // A spawned future, which the end of everything waits for.
        ctx.spawn(sleep(aside.delay).into_actor(self).map(|(), _, ctx| {
            ctx.unstash_all();
        }));
        ctx.stash(aside)
    }
}
