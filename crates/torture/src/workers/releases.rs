//! A program of an older version: it writes to the streams that newer ones write to, and refuses what it cannot read.
//!
//! `torture worker rolling older PROGRAM`; with an assignment alone it is the newest program.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::{
    Config, EventMeta, StoreResponse,
    error::{ErrorChain, RejectionCause, ReplayError},
};
use actix_persistence_history::{Answer, Done, Incarnation, Operation, Recovered, Uid, What, fold};
use anyhow::Context;
use fastrand::Rng;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

use super::stream::{Retaining, stream_id};
use super::versions::{
    Bare, Counted, EventForm, Noted, Plain, Raised, Ready, Renamed, Second, SnapshotForm, Version,
};
use super::{Scribe, Told, count, fault, run_until_told, writers};

/// The first argument of a program that is not the newest.
pub(crate) const OLDER: &str = "older";
/// The time for which the program waits in the end for requests that are under way.
const STOP_DEADLINE: Duration = Duration::from_secs(60);
/// The largest number of commands that are sent at once.
const LARGEST_GROUP: usize = 4;
/// The largest number of groups before the actor ends.
const LONGEST_BURST: u32 = 10;

/// An older program, and its settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) version: Version,
    /// The path of the config file.
    pub(crate) config: PathBuf,
    /// The number of the process in the history.
    pub(crate) process: u32,
    pub(crate) seed: u64,
    /// The number of streams it writes to.
    pub(crate) streams: u32,
    pub(crate) retaining: Retaining,
    /// True if it takes an id over before it recovers.
    pub(crate) takes_over_first: bool,
    /// True if a snapshot that it cannot read is passed over.
    pub(crate) snapshot_is_optional: bool,
    /// True if there may be events that it cannot read.
    pub(crate) may_meet_events: bool,
    /// True if there may be such snapshots.
    pub(crate) may_meet_snapshots: bool,
}

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    match arguments {
        [word, program] if word == OLDER => {
            let program: Program = serde_json::from_str(program)?;
            run_until_told(async |told| match program.version {
                Version::Plain => live::<Plain, Bare>(told, program).await,
                Version::Noted => live::<Noted, Counted>(told, program).await,
                Version::Ready => live::<Ready, Bare>(told, program).await,
                Version::Renamed => live::<Renamed, Second>(told, program).await,
                Version::Raised => live::<Raised, Second>(told, program).await,
                Version::Newest => anyhow::bail!("the newest program is not an older one"),
            })
        }
        _ => writers::work(arguments),
    }
}

/// The parts that all of this process share.
struct Shared {
    program: Program,
    scribe: Scribe,
    ended: Cell<bool>,
}

async fn live<E: EventForm, S: SnapshotForm>(told: Told, program: Program) -> anyhow::Result<()> {
    let config = Config::from_file(&program.config)?;
    let persistence = Persistence::open(config).await?;
    persistence.ready().await?;
    let shared = Rc::new(Shared {
        scribe: Scribe::of(program.process),
        ended: Cell::new(false),
        program,
    });
    let mut rng = Rng::with_seed(shared.program.seed);
    let clients: Vec<_> = (0..shared.program.streams)
        .map(|number| {
            let (persistence, shared) = (persistence.clone(), Rc::clone(&shared));
            actix::spawn(write::<E, S>(persistence, shared, number, rng.fork()))
        })
        .collect();
    while !told.is_told() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    shared.ended.set(true);
    for client in clients {
        client.await.context("a client panicked")??;
    }
    let report = persistence.stop(STOP_DEADLINE).await;
    anyhow::ensure!(report.is_complete(), "{report}");
    Ok(())
}

/// Sends commands to one stream until the program ends.
async fn write<E: EventForm, S: SnapshotForm>(
    persistence: Persistence,
    shared: Rc<Shared>,
    number: u32,
    mut rng: Rng,
) -> anyhow::Result<()> {
    let id = stream_id(number);
    while !shared.ended.get() {
        let factory = {
            let shared = Rc::clone(&shared);
            move || Entries::<E, S>::alive(number, &shared)
        };
        let entries = persistence.start_when_stopped(factory).await?;
        for _ in 0..rng.u32(1..=LONGEST_BURST) {
            if shared.ended.get() {
                break;
            }
            let asks = (0..rng.usize(1..=LARGEST_GROUP)).map(|_| {
                let (uid, asynchronously) = (shared.scribe.uid(), rng.bool());
                let call = shared.scribe.invoke(Operation::Ask {
                    id: id.to_string(),
                    sender: u64::from(shared.scribe.process()) << 32 | u64::from(number),
                    uid,
                });
                let sent = entries.send(Enter {
                    uid,
                    asynchronously,
                });
                let shared = Rc::clone(&shared);
                async move {
                    let answer = match sent.await {
                        Ok(Ok(first)) => Answer::Ok(Done::Persisted { first }),
                        Ok(Err(error)) if error.is_not_stored() => Answer::Failed,
                        _ => Answer::Unknown,
                    };
                    shared.scribe.answer(call, answer);
                }
            });
            join_all(asks.collect::<Vec<_>>()).await;
            tokio::time::sleep(Duration::from_millis(rng.u64(..4))).await;
        }
        drop(entries);
        if rng.bool() {
            look::<E, S>(&persistence, &shared, number).await;
        }
    }
    Ok(())
}

/// Sees what is stored, without an actor.
async fn look<E: EventForm, S: SnapshotForm>(
    persistence: &Persistence,
    shared: &Rc<Shared>,
    number: u32,
) {
    let call = shared.scribe.invoke(Operation::Replay {
        id: stream_id(number).to_string(),
    });
    let entries = Entries::<E, S>::new(number, shared);
    match persistence.replay(entries).await {
        Ok(mut replayed) => {
            let seen = replayed.actor.recovered(replayed.sequence_nr);
            let done = Done::Recovered(seen);
            shared.scribe.answer(call, Answer::Ok(done));
            count("looks");
        }
        Err(error) => {
            shared.scribe.answer(call, Answer::Failed);
            match error {
                ReplayError::Recovery(error) => shared.tell_of(&error),
                error => fault(error.to_string()),
            }
        }
    }
}

impl Shared {
    /// Reports a recovery that failed: only what this version cannot read may be a reason, and the error names it.
    fn tell_of(&self, error: &RecoveryError) {
        let Program {
            may_meet_events,
            may_meet_snapshots,
            version,
            ..
        } = self.program;
        let says = ErrorChain(error).to_string();
        let names = |id: &PersistenceId, number: SequenceNr, manifest: &str| {
            // In quotes, as it is written in Rust.
            says.contains(&format!("{:?}", id.as_str()))
                && says.contains(&number.to_string())
                && says.contains(manifest)
        };
        let what = match error {
            RecoveryError::SnapshotNeeded {
                source: Some(source),
                ..
            } => source,
            error => error,
        };
        let is_named = match what {
            error if error.is_transient() => {
                count("recoveries begun again");
                return;
            }
            RecoveryError::Event {
                persistence_id,
                sequence_nr,
                manifest,
                ..
            } if may_meet_events && version.may_refuse_event(manifest) => {
                count("events refused");
                names(persistence_id, *sequence_nr, manifest)
            }
            RecoveryError::Snapshot {
                persistence_id,
                sequence_nr,
                manifest,
                ..
            } if may_meet_snapshots && version.may_refuse_snapshot(manifest) => {
                count("snapshots refused");
                names(persistence_id, *sequence_nr, manifest)
            }
            _ => {
                fault(format!("a program of version {version:?}: {says}"));
                return;
            }
        };
        if !is_named {
            fault(format!(
                "an error does not name what cannot be read: {says}"
            ));
        }
    }
}

/// Folds its events, and reports each step.
struct Entries<E, S> {
    number: u32,
    shared: Rc<Shared>,
    life: Option<Life>,
    last: SequenceNr,
    digest: u64,
    snapshot: Option<(SequenceNr, u64)>,
    seen: Vec<(SequenceNr, Uid)>,
    forms: std::marker::PhantomData<fn() -> (E, S)>,
}

/// An incarnation that runs.
struct Life {
    shared: Rc<Shared>,
    id: String,
    incarnation: Incarnation,
    recovery: Option<u64>,
    writes: HashMap<u64, u64>,
    saves: RefCell<HashMap<SequenceNr, u64>>,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.shared.scribe.say(What::Ended {
            id: self.id.clone(),
            incarnation: self.incarnation,
        });
    }
}

impl<E: EventForm, S: SnapshotForm> Entries<E, S> {
    fn new(number: u32, shared: &Rc<Shared>) -> Self {
        Self {
            number,
            shared: Rc::clone(shared),
            life: None,
            last: 0,
            digest: 0,
            snapshot: None,
            seen: Vec::new(),
            forms: std::marker::PhantomData,
        }
    }

    fn alive(number: u32, shared: &Rc<Shared>) -> Self {
        let (scribe, id) = (&shared.scribe, stream_id(number).to_string());
        let incarnation = scribe.incarnation();
        let recovery = scribe.invoke(Operation::Recover {
            id: id.clone(),
            incarnation,
            fences: shared.program.takes_over_first,
        });
        let life = Life {
            shared: Rc::clone(shared),
            id,
            incarnation,
            recovery: Some(recovery),
            writes: HashMap::new(),
            saves: RefCell::default(),
        };
        Self {
            life: Some(life),
            ..Self::new(number, shared)
        }
    }

    fn recovered(&mut self, highest: SequenceNr) -> Recovered {
        Recovered {
            highest,
            deleted_to: None,
            snapshot: self.snapshot.map(|(number, _)| number),
            snapshot_digest: self.snapshot.map(|(_, digest)| digest),
            events: Some(std::mem::take(&mut self.seen)),
            digest: Some(self.digest),
        }
    }

    fn to_be_saved(&self) -> S {
        let (number, digest) = (self.last, self.digest);
        if let Some(Life {
            shared,
            id,
            incarnation,
            saves,
            ..
        }) = &self.life
        {
            let call = shared.scribe.invoke(Operation::SaveSnapshot {
                id: id.clone(),
                incarnation: *incarnation,
                number,
                digest,
            });
            saves.borrow_mut().insert(number, call);
            // Retention deletes no more than this from now on; who answers that comes later.
            let id = id.clone();
            shared.scribe.invoke(Operation::Retain { id, to: number });
            shared.scribe.invoke(Operation::DeleteSnapshots {
                id: stream_id(self.number).to_string(),
                from: 0,
                to: number.saturating_sub(1),
            });
        }
        S::of(digest, number)
    }

    /// Answers the call of a write that did not go well.
    fn write_has_failed(&mut self, event: &E, answer: Answer) {
        if let Some(life) = &mut self.life
            && let Some(call) = life.writes.remove(&event.uid())
        {
            life.shared.scribe.answer(call, answer);
        }
    }
}

impl<E: EventForm, S: SnapshotForm> Actor for Entries<E, S> {
    type Context = PersistentContext<Self>;
}

impl<E: EventForm, S: SnapshotForm> PersistentActor for Entries<E, S> {
    type Event = E;
    type Snapshot = S;

    fn persistence_id(&self) -> PersistenceId {
        stream_id(self.number)
    }

    fn retention(&self) -> Option<Retention<Self>> {
        let Retaining { every, keep } = self.shared.program.retaining;
        let retention = Retention::snapshot_every(every, Self::to_be_saved);
        Some(retention.with_kept_snapshots(keep).with_delete_events())
    }

    fn recovery(&self) -> Recovery {
        Recovery::default().with_snapshot_is_optional(self.shared.program.snapshot_is_optional)
    }

    fn take_over(&self) -> TakeOver {
        match self.shared.program.takes_over_first {
            true => TakeOver::BeforeRecovery,
            false => TakeOver::WithFirstWrite,
        }
    }

    fn on_event(&mut self, event: &E) {
        self.digest = fold(self.digest, Uid(event.uid()));
    }

    fn on_event_at(&mut self, event: &E, meta: &EventMeta) {
        self.on_event(event);
        self.last = meta.sequence_nr;
        let uid = Uid(event.uid());
        match &self.life {
            Some(life) if !meta.replayed => life.shared.scribe.say(What::Handled {
                id: life.id.clone(),
                incarnation: life.incarnation,
                uid,
                number: meta.sequence_nr,
            }),
            _ => self.seen.push((meta.sequence_nr, uid)),
        }
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<S>) {
        self.last = offer.metadata.sequence_nr;
        self.digest = offer.snapshot.state();
        self.snapshot = Some((self.last, self.digest));
    }

    fn on_recovery_completed(&mut self, ctx: &mut PersistentContext<Self>) {
        let done = Done::Recovered(self.recovered(ctx.last_sequence_nr()));
        if let Some(life) = &mut self.life
            && let Some(call) = life.recovery.take()
        {
            life.shared.scribe.answer(call, Answer::Ok(done));
        }
    }

    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        self.shared.tell_of(error);
        if let Some(life) = &mut self.life
            && let Some(call) = life.recovery.take()
        {
            life.shared.scribe.answer(call, Answer::Failed);
        }
    }

    fn on_persist_failure(&mut self, error: &PersistError, event: &E, _: SequenceNr) {
        let answer = match error.is_not_stored() {
            true => Answer::Failed,
            false => Answer::Unknown,
        };
        self.write_has_failed(event, answer);
    }

    fn on_persist_rejected(&mut self, _: &RejectionCause, event: &E, _: &mut Self::Context) {
        self.write_has_failed(event, Answer::Rejected);
    }

    fn on_store_response(&mut self, response: StoreResponse, _: &mut Self::Context) {
        let Some(life) = &self.life else { return };
        let (scribe, saves) = (&life.shared.scribe, &life.saves);
        match response {
            StoreResponse::SaveSnapshotSuccess { metadata } => {
                if let Some(call) = saves.borrow_mut().remove(&metadata.sequence_nr) {
                    scribe.answer(call, Answer::Ok(Done::Done));
                }
            }
            StoreResponse::SaveSnapshotFailure { metadata, .. } => {
                if let Some(call) = saves.borrow_mut().remove(&metadata.sequence_nr) {
                    scribe.answer(call, Answer::Unknown);
                }
            }
            StoreResponse::DeleteMessagesSuccess { to_sequence_nr: to } => {
                let (id, covered) = (life.id.clone(), true);
                let call = scribe.invoke(Operation::DeleteEvents { id, to, covered });
                scribe.answer(call, Answer::Ok(Done::Done));
            }
            // Deletes that fail, and those of snapshots, may be done or not.
            _ => {}
        }
    }
}

/// Persists an event; the answer is its number.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<SequenceNr, PersistError>")]
struct Enter {
    uid: Uid,
    asynchronously: bool,
}

impl<E: EventForm, S: SnapshotForm> Handler<Enter> for Entries<E, S> {
    type Result = Reply<Enter>;

    fn handle(&mut self, enter: Enter, ctx: &mut Self::Context) -> Reply<Enter> {
        let Enter {
            uid,
            asynchronously,
        } = enter;
        if let Some(life) = &mut self.life {
            let call = life.shared.scribe.invoke(Operation::Persist {
                id: life.id.clone(),
                incarnation: life.incarnation,
                uids: vec![uid],
            });
            life.writes.insert(uid.0, call);
        }
        let answer = move |entries: &mut Self, ctx: &mut PersistentContext<Self>| {
            let first = ctx.last_sequence_nr();
            if let Some(life) = &mut entries.life
                && let Some(call) = life.writes.remove(&uid.0)
            {
                let done = Done::Persisted { first };
                life.shared.scribe.answer(call, Answer::Ok(done));
            }
            Ok(first)
        };
        match asynchronously {
            true => ctx.persist_async(E::of(uid.0)).reply_with(answer),
            false => ctx.persist(E::of(uid.0)).reply_with(answer),
        }
    }
}
