//! Writes to some streams and states, in every way there is, until it is told to end.
//!
//! `torture worker KIND ASSIGNMENT`, for every kind that disturbs writers in a way of its own.

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::{CleanupError, Config, ReplayError};
use actix_persistence_history::{Answer, Done, Operation};
use anyhow::{Context, bail};
use fastrand::Rng;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

use super::kept::{Change, Kept, Noted, kept_id};
use super::stream::{Retaining, Save, Stream, Write, stream_id};
use super::{Scribe, count, fault, told_to_end};

/// The program waits for so long in the end for requests that are under way.
const STOP_DEADLINE: Duration = Duration::from_secs(60);
/// So many commands are sent at once at most.
const LARGEST_GROUP: usize = 4;
/// So many events are one batch at most.
const LARGEST_BATCH: usize = 5;
/// One change of a state in so many deletes it.
const DELETES: u32 = 8;

/// The assignment of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// A file.
    pub(crate) config: PathBuf,
    /// Its number in the history.
    pub(crate) process: u32,
    pub(crate) seed: u64,
    /// The number of streams it writes to; their numbers are 0 and so on.
    pub(crate) streams: u32,
    /// The number of states it writes to.
    pub(crate) states: u32,
    pub(crate) retaining: Option<Retaining>,
    /// An actor gets so many groups of commands at most before something else is done with its id.
    pub(crate) longest_burst: u32,
    /// The longest pause of a client, which lets others in between.
    pub(crate) longest_pause: Duration,
}

/// The parts that all clients of this process share.
struct Process {
    assignment: Assignment,
    persistence: Persistence,
    scribe: Arc<Scribe>,
    ended: Cell<bool>,
}

/// Someone who sends commands to one id.
struct Client {
    process: Rc<Process>,
    number: u32,
    rng: Rng,
}

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [assignment] = arguments else {
        bail!("usage: torture worker KIND ASSIGNMENT");
    };
    let assignment: Assignment = serde_json::from_str(assignment)?;
    System::new().block_on(async {
        let config = Config::from_file(&assignment.config)?;
        let builder = Persistence::builder().config(config);
        let process = Rc::new(Process {
            persistence: builder.change_handler("noted", Noted).open().await?,
            scribe: Arc::new(Scribe::of(assignment.process)),
            ended: Cell::new(false),
            assignment,
        });
        let mut rng = Rng::with_seed(process.assignment.seed);
        let mut client = |number| Client {
            process: Rc::clone(&process),
            number,
            rng: rng.fork(),
        };
        let mut clients = Vec::new();
        for number in 0..process.assignment.streams {
            clients.push(actix::spawn(client(number).write_events()));
        }
        for number in 0..process.assignment.states {
            clients.push(actix::spawn(client(number).change_states()));
        }
        // It also ends with whoever started us.
        told_to_end().await?;
        process.ended.set(true);
        for client in clients {
            client.await.context("a client panicked")??;
        }
        let report = process.persistence.stop(STOP_DEADLINE).await;
        if !report.is_complete() {
            bail!("{report}");
        }
        Ok(())
    })
}

impl Process {
    /// Waits until the actor of before is gone.
    async fn start<A: PersistentActor>(
        &self,
        factory: impl FnMut() -> A + Unpin + 'static,
    ) -> anyhow::Result<Addr<A>> {
        Ok(self.persistence.start_when_stopped(factory).await?)
    }
}

impl Client {
    fn has_ended(&self) -> bool {
        self.process.ended.get()
    }

    async fn pause(&mut self) {
        if self.rng.bool() {
            let longest = self.process.assignment.longest_pause;
            tokio::time::sleep(longest.mul_f64(self.rng.f64())).await;
        }
    }

    async fn write_events(mut self) -> anyhow::Result<()> {
        let Assignment {
            retaining,
            longest_burst,
            ..
        } = self.process.assignment;
        while !self.has_ended() {
            let (number, scribe) = (self.number, Arc::clone(&self.process.scribe));
            let factory = move || {
                let scribe = Arc::clone(&scribe);
                Stream::alive(number, retaining, scribe, tell_of_recovery)
            };
            let stream = self.process.start(factory).await?;
            for _ in 0..self.rng.u32(1..=longest_burst) {
                if self.has_ended() {
                    return Ok(());
                }
                self.ask_group(&stream).await;
                self.pause().await;
            }
            match self.rng.u8(..5) {
                0 => self.look().await,
                // What it was sent is done before the actor ends.
                1 if retaining.is_some() => stream.do_send(Save {
                    then_delete: self.rng.bool(),
                }),
                2 => self.clean_up().await,
                // A look beside the retention of this process.
                3 => {
                    let write = self.ask(&stream, false);
                    tokio::join!(self.look(), write);
                }
                // The actor ends when its address is dropped, and recovers again.
                _ => {}
            }
        }
        Ok(())
    }

    /// Sends some commands at once; those after the first wait in the mailbox or in the actor.
    async fn ask_group(&mut self, stream: &Addr<Stream>) {
        let size = self.rng.usize(1..=LARGEST_GROUP);
        let mut asks = Vec::new();
        for _ in 0..size {
            asks.push(match self.rng.u8(..4) {
                0 => self.ask_batch(stream),
                choice => self.ask(stream, choice == 1),
            });
        }
        join_all(asks).await;
    }

    /// Sends a command of one event, and tells what it was answered.
    fn ask(
        &self,
        stream: &Addr<Stream>,
        asynchronously: bool,
    ) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
        let scribe = Arc::clone(&self.process.scribe);
        let uid = scribe.uid();
        let call = scribe.invoke(Operation::Ask {
            id: stream_id(self.number).to_string(),
            sender: u64::from(scribe.process()) << 32 | u64::from(self.number),
            uid,
        });
        let uids = vec![uid];
        let sent = stream.send(Write {
            uids,
            asynchronously,
        });
        Box::pin(async move {
            let outcome = sent.await;
            let answer = match &outcome {
                Ok(Ok(first)) => Answer::Ok(Done::Persisted { first: *first }),
                Ok(Err(error)) if error.is_certainly_not_stored() => Answer::Failed,
                _ => Answer::Unknown,
            };
            scribe.answer(call, answer);
            count_outcome(&outcome);
        })
    }

    /// Sends a command of several events, of which the actor itself tells.
    fn ask_batch(&mut self, stream: &Addr<Stream>) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
        let size = self.rng.usize(2..=LARGEST_BATCH);
        let sent = stream.send(Write {
            uids: (0..size).map(|_| self.process.scribe.uid()).collect(),
            asynchronously: self.rng.bool(),
        });
        Box::pin(async move {
            count_outcome(&sent.await);
        })
    }

    /// Sees what is stored, without an actor.
    async fn look(&self) {
        let Process {
            scribe,
            persistence,
            assignment,
            ..
        } = &*self.process;
        let call = scribe.invoke(Operation::Replay {
            id: stream_id(self.number).to_string(),
        });
        let stream = Stream::shown(self.number, assignment.retaining);
        match persistence.replay(stream).await {
            Ok(mut replayed) => {
                let seen = replayed.actor.recovered(replayed.sequence_nr);
                scribe.answer(call, Answer::Ok(Done::Recovered(seen)));
                count("looks");
            }
            Err(error) => {
                scribe.answer(call, Answer::Failed);
                match error {
                    ReplayError::Recovery(error) => tell_of_recovery(&error),
                    error => fault(error.to_string()),
                }
            }
        }
    }

    /// Deletes what the latest snapshot covers, as the retention of each process does; the savers of snapshots have
    /// announced it.
    async fn clean_up(&self) {
        let id = stream_id(self.number);
        let cleanup = self.process.persistence.cleanup();
        match cleanup.cleanup_before_snapshot(&id).await {
            Ok(()) => count("clean-ups"),
            // The database is busy with others.
            Err(CleanupError::Storage(error)) => eprintln!("cleanup of {id}: {error}"),
            Err(error) => fault(format!("cleanup of {id}: {error}")),
        }
    }

    async fn change_states(mut self) -> anyhow::Result<()> {
        let longest_burst = self.process.assignment.longest_burst;
        while !self.has_ended() {
            let (number, scribe) = (self.number, Arc::clone(&self.process.scribe));
            let factory = move || Kept::alive(number, Arc::clone(&scribe), tell_of_recovery);
            let kept = self.process.start(factory).await?;
            for _ in 0..self.rng.u32(1..=longest_burst) {
                if self.has_ended() {
                    return Ok(());
                }
                let size = self.rng.usize(1..=LARGEST_GROUP);
                let changes = (0..size).map(|_| Change {
                    uid: self.process.scribe.uid(),
                    deletes: self.rng.u32(..DELETES) == 0,
                });
                let sent: Vec<_> = changes.map(|change| kept.send(change)).collect();
                for outcome in join_all(sent).await {
                    count_outcome(&outcome);
                }
                self.pause().await;
            }
            if self.rng.bool() {
                self.load().await;
            }
        }
        Ok(())
    }

    /// Sees what is stored, without an actor.
    async fn load(&self) {
        let Process {
            scribe,
            persistence,
            ..
        } = &*self.process;
        let call = scribe.invoke(Operation::Load {
            id: kept_id(self.number).to_string(),
            incarnation: None,
        });
        match persistence.replay(Kept::shown(self.number)).await {
            Ok(replayed) => {
                let loaded = replayed.actor.loaded(replayed.sequence_nr);
                scribe.answer(call, Answer::Ok(loaded));
                count("looks");
            }
            Err(error) => {
                scribe.answer(call, Answer::Failed);
                match error {
                    ReplayError::Recovery(error) => tell_of_recovery(&error),
                    error => fault(error.to_string()),
                }
            }
        }
    }
}

/// Counts what did not go well; the history has all else.
pub(super) fn count_outcome<T>(outcome: &Result<Result<T, PersistError>, MailboxError>) {
    match outcome {
        Ok(Ok(_)) => {}
        Ok(Err(PersistError::Conflict(_))) => count("conflicts"),
        Ok(Err(error)) if error.is_certainly_not_stored() => count("not stored"),
        Ok(Err(_)) | Err(_) => count("unknown"),
    }
}

/// A database that is busy, and events that were deleted meanwhile, are no faults: the actor recovers once more.
pub(super) fn tell_of_recovery(error: &RecoveryError) {
    if error.is_curable_by_waiting() || matches!(error, RecoveryError::Overtaken { .. }) {
        count("recoveries begun again");
    } else {
        fault(error.to_string());
    }
}
