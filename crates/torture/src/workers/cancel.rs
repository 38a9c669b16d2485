//! Begins every public future again and again, and drops it after some polls, beside clients that write.
//!
//! `torture worker cancel ASSIGNMENT`

mod futures;
mod junk;

use std::collections::HashMap;
use std::fs;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use actix::prelude::*;
use actix_persistence::storage_api::{ExtensionError, SessionWork};
use actix_persistence::{Config, Persistence};
use actix_persistence_history::{Answer, Done, Operation};
use anyhow::{Context as _, bail};
use fastrand::Rng;
use tokio::time::{sleep, timeout};

use super::kept::{Change, Kept, kept_id};
use super::stream::{Stream, Write, stream_id};
use super::writers::{Assignment, Process, Writing, opened, tell_of_recovery};
use super::{count, fault, told_to_end};
use crate::last_look::{LONGEST_BUSY, last_look};
use crate::writers::HANDLER;
use futures::FUTURES;

/// The number of tasks that drop futures at once.
const CANCELLERS: u32 = 6;
/// The number of actors that recover at once: a turn that does not come back is soon missed.
const RECOVERIES: u32 = 2;
/// Whatever comes after a dropped future gets through within this time.
const PATIENCE: Duration = Duration::from_secs(30);
/// The largest number of polls before a drop. A future that has not ended by then is dropped after its first poll
/// again.
const MOST_POLLS: usize = 40;
/// The share of futures after which the same is done once more, to its end: one in this many.
const WHOLE: u8 = 16;
/// The share of futures after which something is written: one in this many.
const WRITES: u8 = 4;
/// The share of futures that are left alone for a while before they are dropped: one in this many.
const RESTS: u8 = 6;
/// The longest time for which a future is left alone before it is dropped.
const LONGEST_REST: Duration = Duration::from_millis(2);
/// The stores have nothing to do in the end.
const STOP_DEADLINE: Duration = Duration::from_secs(60);

/// Returns the names of the functions whose futures are dropped.
pub fn dropped_futures() -> impl Iterator<Item = &'static str> {
    FUTURES.iter().map(|future| future.name)
}

/// The things that futures need: the process, its persistence, and ids of their own.
pub(crate) struct Desk {
    process: Rc<Process>,
    persistence: Persistence,
    /// The number of a stream and of a state of its own.
    number: u32,
    stream: Addr<Stream>,
    kept: Addr<Kept>,
    arbiter: ArbiterHandle,
    /// A config of the same stores, without a change handler.
    config: Config,
    is_memory: bool,
}

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [assignment] = arguments else {
        bail!("usage: torture worker cancel ASSIGNMENT");
    };
    let mut assignment: Assignment = serde_json::from_str(assignment)?;
    // The streams and states after those of the clients belong to the cancellers.
    let (all_streams, all_states) = (assignment.streams, assignment.states);
    assignment.streams = all_streams.saturating_sub(CANCELLERS);
    assignment.states = all_states.saturating_sub(CANCELLERS);
    let text = fs::read_to_string(&assignment.config)?;
    let is_memory = !text.contains("url =");
    System::new().block_on(async {
        let persistence = opened(&assignment, Some(RECOVERIES)).await?;
        persistence.ready().await?;
        let mut rng = Rng::with_seed(assignment.seed ^ 2);
        let writing = Writing::begin(assignment, persistence.clone());
        let process = Rc::clone(writing.process());
        process.patience.set(PATIENCE);
        let arbiter = Arbiter::new();
        let mut cancellers = Vec::new();
        for number in 0..CANCELLERS {
            let number = all_streams - CANCELLERS + number;
            let scribe = Arc::clone(&process.scribe);
            let alive = move || Stream::alive(number, None, Arc::clone(&scribe), tell_of_recovery);
            let stream = persistence.start(alive)?;
            let number = all_states - CANCELLERS + (number + CANCELLERS - all_streams);
            let scribe = Arc::clone(&process.scribe);
            let kept = persistence
                .start(move || Kept::alive(number, Arc::clone(&scribe), tell_of_recovery))?;
            let desk = Desk {
                process: Rc::clone(&process),
                persistence: persistence.clone(),
                number: number + all_streams - all_states,
                stream,
                kept,
                arbiter: arbiter.handle(),
                config: Config::from_toml(&text.replace(HANDLER, ""), "torture")?,
                is_memory,
            };
            let canceller = Canceller {
                desk: Rc::new(desk),
                polls: HashMap::new(),
                rng: rng.fork(),
            };
            cancellers.push(actix::spawn(canceller.work()));
        }
        // It also ends with the process that started us.
        told_to_end().await?;
        process.ended.set(true);
        for canceller in cancellers {
            let ended = timeout(8 * PATIENCE, canceller).await;
            ended
                .context("a canceller hangs")?
                .context("a canceller panicked")?;
        }
        writing.end().await?;
        arbiter.stop();
        drained(&persistence).await;
        look_at_all(&process, all_streams, all_states).await;
        let report = persistence.stop(STOP_DEADLINE).await;
        if !report.is_complete() {
            fault(format!("after dropped futures a stop tells: {report}"));
        }
        Ok(())
    })
}

/// Waits until no actor is left.
async fn drained(persistence: &Persistence) {
    for id in persistence.live_ids() {
        if timeout(PATIENCE, persistence.stopped(&id)).await.is_err() {
            fault(format!(
                "{id} has no address, and is not free after {PATIENCE:?}"
            ));
        }
    }
    if timeout(PATIENCE, persistence.drained()).await.is_err() {
        fault(format!("the stores are still busy after {PATIENCE:?}"));
    }
}

/// Sees everything that is stored in the end, which only this process can if it is in memory.
async fn look_at_all(process: &Process, streams: u32, states: u32) {
    let Process {
        persistence,
        scribe,
        ..
    } = process;
    let again = |_: &_| count("last looks begun again");
    for number in 0..streams {
        let id = stream_id(number).to_string();
        let call = scribe.invoke(Operation::Replay { id });
        let retaining = process.assignment.retaining;
        let stream = || Stream::shown(number, retaining);
        match last_look(persistence, LONGEST_BUSY, stream, again).await {
            Ok(mut replayed) => {
                let seen = replayed.actor.recovered(replayed.sequence_nr);
                scribe.answer(call, Answer::Ok(Done::Recovered(seen)));
            }
            Err(error) => fault(format!("in the end: {error}")),
        }
    }
    for number in 0..states {
        let (id, incarnation) = (kept_id(number).to_string(), None);
        let call = scribe.invoke(Operation::Load { id, incarnation });
        let kept = || Kept::shown(number);
        match last_look(persistence, LONGEST_BUSY, kept, again).await {
            Ok(replayed) => {
                let loaded = replayed.actor.loaded(replayed.sequence_nr);
                scribe.answer(call, Answer::Ok(loaded));
            }
            Err(error) => fault(format!("in the end: {error}")),
        }
    }
}

/// Polls so often at most, rests, and drops the future; returns whether it had ended.
pub(crate) async fn cut(future: impl Future, most_polls: usize, rest: Option<Duration>) -> bool {
    let mut future = pin!(future);
    let mut polls = 0;
    let ended = poll_fn(|cx| {
        if polls == most_polls {
            return Poll::Ready(false);
        }
        polls += 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(_) => Poll::Ready(true),
            Poll::Pending if polls == most_polls => Poll::Ready(false),
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
    if !ended && let Some(rest) = rest {
        sleep(rest).await;
    }
    ended
}

/// Drops a future as [`cut`] does, in code that runs in a transaction.
pub(crate) async fn cut_inside<T>(
    statement: impl Future<Output = T>,
    polls: usize,
) -> Result<bool, ExtensionError> {
    Ok(cut(statement, polls, None).await)
}

/// Someone who begins futures and drops them.
struct Canceller {
    desk: Rc<Desk>,
    /// The number of polls after which each future is dropped the next time.
    polls: HashMap<&'static str, usize>,
    rng: Rng,
}

impl Canceller {
    async fn work(mut self) {
        let weights: u32 = FUTURES.iter().map(|future| future.weight).sum();
        while !self.desk.process.has_ended() {
            let mut chosen = self.rng.u32(..weights);
            let future = FUTURES.iter().find(|future| {
                let is_chosen = chosen < future.weight;
                chosen = chosen.wrapping_sub(if is_chosen { 0 } else { future.weight });
                is_chosen
            });
            let Some(future) = future else { continue };
            if self.desk.is_memory && future.needs_sql {
                continue;
            }
            self.cancel(future).await;
            if self.rng.u8(..WRITES) == 0 {
                self.write().await;
            }
        }
        self.still_works().await;
    }

    /// Whatever was dropped, its actors store in the end, and so does a transaction.
    async fn still_works(&self) {
        let desk = &self.desk;
        let process = &desk.process;
        let events = async || {
            let write = Write {
                uids: vec![process.scribe.uid()],
                asynchronously: false,
            };
            matches!(
                process.answered(desk.stream.send(write), false).await,
                Ok(Ok(_))
            )
        };
        self.succeeds("a command with an event", events).await;
        let state = async || {
            let change = Change {
                uid: process.scribe.uid(),
                deletes: false,
            };
            matches!(
                process.answered(desk.kept.send(change), false).await,
                Ok(Ok(_))
            )
        };
        self.succeeds("a change of a state", state).await;
        if desk.is_memory {
            return;
        }
        let transaction = async || {
            let select = "SELECT times FROM cut_off";
            let work = SessionWork::new(move |session| {
                Box::pin(async move {
                    session.select(select, []).await?;
                    Ok(())
                })
            });
            desk.persistence.transact(None, work).await.is_ok()
        };
        self.succeeds("a transaction", transaction).await;
    }

    /// Checks that an attempt succeeds, at last when the database is no longer busy.
    async fn succeeds(&self, what: &str, mut attempt: impl AsyncFnMut() -> bool) {
        let since = Instant::now();
        while !self.within("everything", what, attempt()).await {
            if since.elapsed() > PATIENCE {
                fault(format!(
                    "after dropped futures {what} fails for {PATIENCE:?}"
                ));
                return;
            }
            sleep(LONGEST_REST).await;
        }
        count("what still works");
    }

    async fn cancel(&mut self, future: &'static futures::PublicFuture) {
        let polls = self.polls.get(future.name).copied().unwrap_or(0);
        let rests = self.rng.u8(..RESTS) == 0;
        let rest = rests.then(|| LONGEST_REST.mul_f64(self.rng.f64()));
        if let Some(prepare) = future.prepare {
            self.within(
                future.name,
                "its preparation",
                prepare(Rc::clone(&self.desk)),
            )
            .await;
        }
        let begun = (future.begin)(Rc::clone(&self.desk), polls);
        let ended = if future.drops_inside {
            self.within(future.name, "the transaction around it", begun)
                .await
        } else {
            let limit = if future.ends { PATIENCE } else { LONGEST_REST };
            let cut = timeout(limit, cut(begun, polls, rest)).await;
            if cut.is_err() && future.ends {
                fault(format!("{} does not go on within {limit:?}", future.name));
            }
            cut.unwrap_or(false)
        };
        if ended || polls >= MOST_POLLS {
            self.polls.insert(future.name, 0);
        } else {
            self.polls.insert(future.name, polls + 1);
        }
        if !ended {
            count("cancellations");
        }
        if future.ends && self.rng.u8(..WHOLE) == 0 {
            let whole = (future.begin)(Rc::clone(&self.desk), usize::MAX);
            self.within(future.name, "the next one", whole).await;
        }
    }

    /// Whatever it is, it ends; returns what it does.
    async fn within<T: Default>(
        &self,
        name: &str,
        what: &str,
        future: impl Future<Output = T>,
    ) -> T {
        timeout(PATIENCE, future).await.unwrap_or_else(|_| {
            fault(format!(
                "after dropped futures of {name}, {what} does not end within {PATIENCE:?}"
            ));
            T::default()
        })
    }

    /// Commands of the actor get through.
    async fn write(&self) {
        let scribe = &self.desk.process.scribe;
        let write = Write {
            uids: vec![scribe.uid()],
            asynchronously: false,
        };
        let sent = self.desk.stream.send(write);
        let outcome = self.desk.process.answered(sent, false).await;
        match outcome {
            Ok(Ok(_)) => {}
            other => eprintln!("a write between dropped futures: {other:?}"),
        }
    }
}
