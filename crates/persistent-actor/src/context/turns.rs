//! A stream whose items are turns of the actor.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix::{ActorFuture, AsyncContext};
use futures_util::stream::{self, LocalBoxStream};
use futures_util::{Stream, StreamExt};
use tokio::time::{Instant, interval_at};

use crate::metadata::carried::Carried;
use crate::time_slice::yield_to_others;
use crate::{PersistentActor, PersistentContext};

/// The number of items of a stream that always has another one, after which others have their turn; as in actix.
const TURNS_PER_POLL: usize = 16;

/// Runs code for the items of a stream, one after the other: an item waits until the actor has persisted what the code
/// for the one before asked for.
///
/// The intervals and streams of actix do not always look whether their actor waits, so that late ticks, or the first
/// item of a stream, would run in the middle of persisting.
pub(crate) struct Turns<T, F> {
    items: LocalBoxStream<'static, T>,
    turn: F,
}

impl<T, F> Turns<T, F> {
    pub(crate) fn new(items: impl Stream<Item = T> + 'static, turn: F) -> Self {
        Self {
            items: items.boxed_local(),
            turn,
        }
    }
}

/// A call of a [`StreamHandler`](actix::StreamHandler).
pub(crate) enum StreamStep<T> {
    Started,
    Item(T),
    Finished,
}

/// Returns the steps of a stream, each to be a turn of its own.
pub(crate) fn steps<S: Stream>(items: S) -> impl Stream<Item = StreamStep<S::Item>> {
    let alone = |step| stream::once(std::future::ready(step));
    alone(StreamStep::Started)
        .chain(items.map(StreamStep::Item))
        .chain(alone(StreamStep::Finished))
}

/// Returns a stream of ticks: the first at `start`, and then one after every period. Ticks that are late come one after
/// the other, as in actix.
pub(crate) fn ticks(start: Instant, period: Duration) -> impl Stream<Item = ()> {
    // As often as possible, where there is no time in between.
    let mut ticks = interval_at(start, period.max(Duration::from_nanos(1)));
    stream::poll_fn(move |cx| ticks.poll_tick(cx).map(|_| Some(())))
}

impl<A, T, F> ActorFuture<A> for Turns<T, F>
where
    A: PersistentActor,
    F: FnMut(T, &mut A, &mut PersistentContext<A>) + Unpin,
{
    type Output = ();

    fn poll(
        mut self: Pin<&mut Self>,
        actor: &mut A,
        ctx: &mut PersistentContext<A>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        for _ in 0..TURNS_PER_POLL {
            let Some(item) = ready!(self.items.poll_next_unpin(cx)) else {
                return Poll::Ready(());
            };
            // The turn for one item has nothing of that for another, nor of what added the stream.
            let scope = Carried::NOTHING.enter();
            (self.turn)(item, actor, ctx);
            drop(scope);
            ctx.tag_events(actor);
            ctx.cause = None;
            if ctx.waiting() {
                // The context polls again when it does not any more.
                return Poll::Pending;
            }
        }
        yield_to_others(cx);
        Poll::Pending
    }
}
