//! Writes to some streams and states, in every way there is, until it is asked to end.
//!
//! `torture worker KIND ASSIGNMENT`, for every kind that disturbs writers in a way of its own.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::ArbiterHandle;
use actix::prelude::*;
use actix_persistence::error::{ErrorChain, RejectionCause, ReplayError, StorageErrorKind};
use actix_persistence::prelude::*;
use actix_persistence::{Config, cleanup::CleanupError};
use actix_persistence_history::{Answer, Done, Operation};
use anyhow::{Context, bail};
use fastrand::Rng;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::errands::Errand;
use super::kept::{Change, Kept, NO_NOTE, Noted, kept_id};
use super::stream::{Pair, Retaining, Save, Stream, Write, stream_id};
use super::{Scribe, count, fault, self_driven, told_to_end};

/// The time for which the program waits in the end for requests that are under way.
const STOP_DEADLINE: Duration = Duration::from_secs(60);
/// The patience of clients whose server may be away.
const PATIENCE: Duration = Duration::from_secs(100);
/// The largest number of commands that are sent at once.
const LARGEST_GROUP: usize = 4;
/// The largest number of events in one batch.
const LARGEST_BATCH: usize = 5;
/// The share of actors with events that take their id over before they recover: one in this many.
const TAKES_OVER_FIRST: u8 = 4;
/// The share of changes of a state that delete it: one in this many.
const DELETES: u32 = 8;

/// The assignment of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// The path of the config file.
    pub(crate) config: PathBuf,
    /// The number of the process in the history.
    pub(crate) process: u32,
    pub(crate) seed: u64,
    /// The number of streams it writes to; their numbers are 0 and so on.
    pub(crate) streams: u32,
    /// The number of streams that live by themselves; their numbers come after those.
    pub(crate) driven: u32,
    /// The number of states it writes to.
    pub(crate) states: u32,
    pub(crate) retaining: Option<Retaining>,
    /// The largest number of groups of commands that an actor gets before something else is done with its id.
    pub(crate) longest_burst: u32,
    /// The longest pause of a client, which lets others in between.
    pub(crate) longest_pause: Duration,
}

/// The parts that all clients of this process share.
pub(super) struct Process {
    pub(super) assignment: Assignment,
    pub(super) persistence: Persistence,
    pub(super) scribe: Arc<Scribe>,
    pub(super) ended: Cell<bool>,
    /// The arbiters on which actors are started; if there are none, they are started on the one of the clients.
    pub(super) arbiters: RefCell<Vec<ArbiterHandle>>,
    /// The number of commands that an actor had accepted before everything stopped, and that were not answered.
    pub(super) cut_off: Cell<u32>,
    /// True if clients also send actors on errands.
    pub(super) errands: Cell<bool>,
    /// An answer comes, and an id is free, within this time.
    pub(super) patience: Cell<Duration>,
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
        let persistence = opened(&assignment, None).await?;
        let writing = Writing::begin(assignment, persistence);
        // It also ends with the process that started us.
        told_to_end().await?;
        let persistence = writing.end().await?;
        let report = persistence.stop(STOP_DEADLINE).await;
        if !report.is_complete() {
            bail!("{report}");
        }
        Ok(())
    })
}

/// Clients that write until they are asked to end, for kinds that do something to them.
pub(super) struct Writing {
    process: Rc<Process>,
    clients: Vec<JoinHandle<anyhow::Result<()>>>,
}

impl Writing {
    /// Sends the clients to work.
    pub(super) fn begin(assignment: Assignment, persistence: Persistence) -> Self {
        let process = Rc::new(Process {
            persistence,
            scribe: Arc::new(Scribe::of(assignment.process)),
            ended: Cell::new(false),
            arbiters: RefCell::default(),
            cut_off: Cell::new(0),
            errands: Cell::new(false),
            patience: Cell::new(PATIENCE),
            assignment,
        });
        let mut rng = Rng::with_seed(process.assignment.seed);
        let client = |number, rng: &mut Rng| Client {
            process: Rc::clone(&process),
            number,
            rng: rng.fork(),
        };
        let mut clients = Vec::new();
        for number in 0..process.assignment.streams {
            clients.push(actix::spawn(client(number, &mut rng).write_events()));
        }
        for number in 0..process.assignment.driven {
            let number = process.assignment.streams + number;
            let (process, rng) = (Rc::clone(&process), rng.fork());
            clients.push(actix::spawn(self_driven::watch(process, number, rng)));
        }
        for number in 0..process.assignment.states {
            clients.push(actix::spawn(client(number, &mut rng).change_states()));
        }
        Self { process, clients }
    }

    /// Returns what the clients share.
    pub(super) fn process(&self) -> &Rc<Process> {
        &self.process
    }

    /// Waits until every client has had its last answers.
    pub(super) async fn end(self) -> anyhow::Result<Persistence> {
        self.process.ended.set(true);
        for client in self.clients {
            client.await.context("a client panicked")??;
        }
        Ok(self.process.persistence.clone())
    }
}

/// Opens the stores of an assignment. At most `recoveries` actors recover at once; `None` leaves that to the default.
pub(super) async fn opened(
    assignment: &Assignment,
    recoveries: Option<u32>,
) -> anyhow::Result<Persistence> {
    let config = Config::from_file(&assignment.config)?;
    let mut builder = Persistence::builder().config(config);
    if let Some(recoveries) = recoveries {
        builder = builder.max_concurrent_recoveries(recoveries);
    }
    Ok(builder.change_handler("noted", Noted).open().await?)
}

impl Process {
    pub(super) fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// Waits until the actor of before is gone; `None` if everything stops.
    pub(super) async fn start<A: PersistentActor>(
        &self,
        rng: &mut Rng,
        factory: impl FnMut() -> A + Clone + Send + Unpin + 'static,
    ) -> anyhow::Result<Option<Addr<A>>> {
        let since = Instant::now();
        loop {
            let patience = self.patience.get();
            if since.elapsed() > patience {
                fault("an id is not free although nobody has it");
                return Ok(None);
            }
            let factory = factory.clone();
            let arbiter = rng.choice(&*self.arbiters.borrow()).cloned();
            let started = match arbiter {
                None => self.persistence.start(factory),
                Some(arbiter) => self.persistence.start_in(&arbiter, factory).await,
            };
            match started {
                Ok(actor) => return Ok(Some(actor)),
                Err(StartError::Stopping) => return Ok(None),
                Err(StartError::AlreadyRunning(id)) => {
                    let stopped = timeout(patience, self.persistence.stopped(&id)).await;
                    if stopped.is_err() {
                        fault(format!(
                            "{id} is not free {patience:?} after its last address"
                        ));
                    }
                }
                Err(StartError::ArbiterStopped) => tokio::task::yield_now().await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for an answer, which always comes; notes a command that was accepted and is not answered by its actor.
    pub(super) async fn answered<T>(
        &self,
        sent: impl Future<Output = Result<T, MailboxError>>,
        accepted: bool,
    ) -> Result<T, MailboxError> {
        let patience = self.patience.get();
        let outcome = timeout(patience, sent).await.unwrap_or_else(|_| {
            fault(format!("a command is not answered within {patience:?}"));
            Err(MailboxError::Timeout)
        });
        if accepted && matches!(outcome, Err(MailboxError::Closed)) {
            self.cut_off.set(self.cut_off.get() + 1);
        }
        outcome
    }
}

impl Client {
    fn has_ended(&self) -> bool {
        self.process.has_ended()
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
            let take_over = match self.rng.u8(..TAKES_OVER_FIRST) {
                0 => TakeOver::BeforeRecovery,
                _ => TakeOver::WithFirstWrite,
            };
            let factory = move || {
                let scribe = Arc::clone(&scribe);
                Stream::taking_over(take_over, number, retaining, scribe, tell_of_recovery)
            };
            let Some(stream) = Rc::clone(&self.process)
                .start(&mut self.rng, factory)
                .await?
            else {
                return Ok(());
            };
            for _ in 0..self.rng.u32(1..=longest_burst) {
                if self.has_ended() {
                    return Ok(());
                }
                self.ask_group(&stream).await;
                if self.process.errands.get() {
                    self.send_on_errand(&stream).await;
                }
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
            asks.push(match self.rng.u8(..6) {
                0 => self.ask_batch(stream),
                1 => self.ask_pair(stream),
                choice => self.ask(stream, choice == 2),
            });
        }
        join_all(asks).await;
    }

    /// Sends a command of one event, and reports the answer.
    fn ask(
        &self,
        stream: &Addr<Stream>,
        asynchronously: bool,
    ) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
        let process = Rc::clone(&self.process);
        let scribe = Arc::clone(&process.scribe);
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
        Self::answer_of(process, call, sent)
    }

    /// Sends a command of two events, one after the other, and reports the answer: that the first one is certainly
    /// not stored is reported for the whole.
    fn ask_pair(&self, stream: &Addr<Stream>) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
        let process = Rc::clone(&self.process);
        let scribe = Arc::clone(&process.scribe);
        let (first, second) = (scribe.uid(), scribe.uid());
        let call = scribe.invoke(Operation::Ask {
            id: stream_id(self.number).to_string(),
            sender: u64::from(scribe.process()) << 32 | u64::from(self.number),
            uid: first,
        });
        let sent = stream.send(Pair { first, second });
        Self::answer_of(process, call, sent)
    }

    /// Waits for the answer of an ask, and reports it.
    fn answer_of<M>(
        process: Rc<Process>,
        call: u64,
        sent: Request<Stream, M>,
    ) -> std::pin::Pin<Box<dyn Future<Output = ()>>>
    where
        M: Message<Result = Result<SequenceNr, PersistError>> + Send + 'static,
        Stream: Handler<M>,
    {
        let accepted = !process.persistence.is_stopping();
        let scribe = Arc::clone(&process.scribe);
        Box::pin(async move {
            let outcome = process.answered(sent, accepted).await;
            let answer = match &outcome {
                Ok(Ok(first)) => Answer::Ok(Done::Persisted { first: *first }),
                Ok(Err(error)) if error.is_not_stored() => Answer::Failed,
                _ => Answer::Unknown,
            };
            scribe.answer(call, answer);
            count_outcome(&outcome);
        })
    }

    /// Sends a command of several events, which the actor itself reports.
    fn ask_batch(&mut self, stream: &Addr<Stream>) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
        let size = self.rng.usize(2..=LARGEST_BATCH);
        let sent = stream.send(Write {
            uids: (0..size).map(|_| self.process.scribe.uid()).collect(),
            asynchronously: self.rng.bool(),
        });
        let process = Rc::clone(&self.process);
        let accepted = !process.persistence.is_stopping();
        Box::pin(async move {
            count_outcome(&process.answered(sent, accepted).await);
        })
    }

    /// Lets an actor do something later by itself, or puts a command aside there.
    async fn send_on_errand(&mut self, stream: &Addr<Stream>) {
        let write = Write {
            uids: vec![self.process.scribe.uid()],
            asynchronously: self.rng.bool(),
        };
        let accepted = !self.process.persistence.is_stopping();
        match Errand::any(write, &mut self.rng) {
            Ok(errand) => stream.do_send(errand),
            Err(aside) => {
                let outcome = self.process.answered(stream.send(aside), accepted).await;
                count_outcome(&outcome);
            }
        }
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
            // The database is busy with others, or another writer has come between.
            Err(CleanupError::Storage(error))
                if error.kind().is_transient()
                    || error.kind() == StorageErrorKind::SequenceConflict =>
            {
                eprintln!("cleanup of {id}: {error}");
            }
            Err(error) => fault(format!("cleanup of {id}: {error}")),
        }
    }

    async fn change_states(mut self) -> anyhow::Result<()> {
        let longest_burst = self.process.assignment.longest_burst;
        while !self.has_ended() {
            let (number, scribe) = (self.number, Arc::clone(&self.process.scribe));
            let factory = move || Kept::alive(number, Arc::clone(&scribe), tell_of_recovery);
            let Some(kept) = Rc::clone(&self.process)
                .start(&mut self.rng, factory)
                .await?
            else {
                return Ok(());
            };
            for _ in 0..self.rng.u32(1..=longest_burst) {
                if self.has_ended() {
                    return Ok(());
                }
                let size = self.rng.usize(1..=LARGEST_GROUP);
                let changes = (0..size).map(|_| Change {
                    uid: self.process.scribe.uid(),
                    deletes: self.rng.u32(..DELETES) == 0,
                });
                let accepted = !self.process.persistence.is_stopping();
                let sent = changes.map(|change| self.process.answered(kept.send(change), accepted));
                let sent: Vec<_> = sent.collect();
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

/// Counts what did not go well, and reports what only damage explains; the history has all else.
pub(super) fn count_outcome<T>(outcome: &Result<Result<T, PersistError>, MailboxError>) {
    if let Ok(Err(error)) = outcome
        && is_damage(error)
    {
        fault(format!("a write failed: {}", ErrorChain(error)));
    }
    match outcome {
        Ok(Ok(_)) => {}
        Ok(Err(PersistError::Conflict(_))) => count("conflicts"),
        Ok(Err(error)) if error.is_not_stored() => count("not stored"),
        Ok(Err(_)) | Err(_) => count("unknown"),
    }
}

/// Returns whether a write failed for a reason that no fault of a process, a server or a network has.
fn is_damage(error: &PersistError) -> bool {
    let cause = match error {
        PersistError::NotStored(cause)
        | PersistError::Unknown(cause)
        | PersistError::Rejected(RejectionCause::Storage(cause)) => cause,
        PersistError::PartlyStored(rest) => return is_damage(rest),
        _ => return false,
    };
    match cause.kind() {
        StorageErrorKind::Corrupt
        | StorageErrorKind::SchemaMismatch
        | StorageErrorKind::AccessDenied
        | StorageErrorKind::TooLarge
        | StorageErrorKind::Unsupported
        | StorageErrorKind::Constraint => true,
        StorageErrorKind::Extension => ErrorChain(cause).to_string().contains(NO_NOTE),
        _ => false,
    }
}

/// A database that is busy, and events that were deleted meanwhile, are no faults: the actor recovers once more.
pub(super) fn tell_of_recovery(error: &RecoveryError) {
    if error.is_transient() || matches!(error, RecoveryError::Overtaken { .. }) {
        count("recoveries begun again");
    } else {
        fault(error.to_string());
    }
}

#[cfg(test)]
mod tests {
    use actix_persistence::storage_api::{Operation, StorageError};

    use super::*;

    #[test]
    fn a_write_that_only_damage_explains_is_told_of() {
        let error = |kind| StorageError::new(kind, Operation::WriteMessages);
        for (kind, is_told) in [
            (StorageErrorKind::Corrupt, true),
            (StorageErrorKind::Constraint, true),
            (StorageErrorKind::Unavailable, false),
            (StorageErrorKind::SequenceConflict, false),
            (StorageErrorKind::Extension, false),
        ] {
            let failed = PersistError::NotStored(error(kind));
            assert_eq!(is_damage(&failed), is_told, "{kind:?}");
            let partly = PersistError::PartlyStored(Arc::new(failed));
            assert_eq!(is_damage(&partly), is_told, "{kind:?} in part");
        }
        let missing = std::io::Error::other(format!("{NO_NOTE} 3 of Kept|0"));
        let missing = error(StorageErrorKind::Extension).with_source(missing);
        assert!(is_damage(&PersistError::NotStored(missing)));
    }
}
