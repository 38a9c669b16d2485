//! An actor with events that writes down all that it does.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::{EventMeta, Persist, PersistFuture, StoreResponse, error::RejectionCause};
use actix_persistence_history::{Answer, Done, Incarnation, Operation, Recovered, Uid, What, fold};
use serde::{Deserialize, Serialize};

use super::Scribe;
use super::hooks::reached;
use super::odd_names::odd_name;
use super::self_driven::Drive;
use super::versions::{AnyEvent, AnySnapshot};

/// An event: nothing but what identifies it. Programs of [older versions](super::versions) store it in other forms.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(from = "AnyEvent")]
pub(crate) struct Written {
    /// The identity of the event, see [`Uid`].
    pub(crate) uid: u64,
}

impl Event for Written {
    const MANIFEST: &'static str = "torture.written";
    const VERSION: u32 = 2;

    fn upcasters() -> Upcasters<Self> {
        Upcasters::new().unchanged(1)
    }
}

/// A snapshot: all events in 8 bytes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(from = "AnySnapshot")]
pub(crate) struct Digest {
    /// The sum of all events, see [`fold`].
    pub(crate) digest: u64,
}

impl Snapshot for Digest {
    const MANIFEST: &'static str = "torture.digest";
    const VERSION: u32 = 2;

    fn upcasters() -> StateUpcasters<Self> {
        StateUpcasters::new().unchanged(1)
    }
}

/// The snapshots that a stream takes; the events that they cover are deleted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Retaining {
    /// The number of events after which a snapshot is taken.
    pub every: u64,
    /// The number of snapshots that are kept.
    pub keep: usize,
}

/// Gets the reason why a recovery failed.
pub(crate) type Trouble = fn(&RecoveryError);

/// The id of a stream.
pub(crate) fn stream_id(number: u32) -> PersistenceId {
    PersistenceId::of("Stream", &odd_name(number))
}

/// Folds its events, and reports each step.
pub(crate) struct Stream {
    number: u32,
    retaining: Option<Retaining>,
    take_over: TakeOver,
    pub(super) life: Option<Life>,
    /// The number of the last event.
    pub(crate) last: SequenceNr,
    /// The sum of all events so far.
    pub(crate) digest: u64,
    snapshot: Option<(SequenceNr, u64)>,
    seen: Vec<(SequenceNr, Uid)>,
    /// Events up to this number are deleted as soon as the snapshot of this event is stored.
    deletes_to: Option<SequenceNr>,
    /// The number of writes under way for which everything else waits.
    holding: u32,
    /// Makes it live by itself.
    pub(super) drive: Option<Arc<Drive>>,
}

/// A write under way.
pub(super) struct UnderWay {
    call: u64,
    /// True if everything else waits for it.
    holds: bool,
}

/// The hooks that an incarnation has had.
#[derive(Default)]
pub(super) struct Hooks {
    started: bool,
    stopped: bool,
    /// True if the actor has failed, after which it hears nothing more.
    failed: bool,
    /// True if the actor has asked to end without being asked whether it wants to.
    pub(super) terminated: bool,
    /// The event that was persisted when the actor had stopped, and is still to be rejected.
    pub(super) too_late: Option<u64>,
}

/// The records of an incarnation that runs, its end included.
pub(super) struct Life {
    id: String,
    pub(super) scribe: Arc<Scribe>,
    pub(super) hooks: Hooks,
    incarnation: Incarnation,
    trouble: Trouble,
    /// The call of its recovery, until that has ended.
    recovery: Option<u64>,
    /// The calls whose events are under way, by their first event.
    pub(super) writes: HashMap<u64, UnderWay>,
    /// The calls whose snapshots are under way, by their number: several of one number are the same.
    saves: RefCell<HashMap<SequenceNr, Vec<u64>>>,
}

impl Drop for Life {
    fn drop(&mut self) {
        let Hooks {
            started,
            stopped,
            failed,
            too_late,
            ..
        } = self.hooks;
        if started && !stopped && !failed {
            self.scribe.fault(&format!(
                "an actor of {} ended without `stopped`, and nothing had failed",
                self.id
            ));
        }
        if let Some(uid) = too_late {
            self.scribe.fault(&format!(
                "what was persisted in `stopped` is neither stored nor rejected: {uid} of {}",
                self.id
            ));
        }
        self.scribe.say(What::Ended {
            id: self.id.clone(),
            incarnation: self.incarnation,
        });
    }
}

impl Stream {
    /// Returns an actor to be looked at, which writes nothing down.
    pub(crate) fn shown(number: u32, retaining: Option<Retaining>) -> Self {
        Self {
            number,
            retaining,
            take_over: TakeOver::WithFirstWrite,
            life: None,
            last: 0,
            digest: 0,
            snapshot: None,
            seen: Vec::new(),
            deletes_to: None,
            holding: 0,
            drive: None,
        }
    }

    /// Returns an actor to be started, which recovers now.
    pub(crate) fn alive(
        number: u32,
        retaining: Option<Retaining>,
        scribe: Arc<Scribe>,
        trouble: Trouble,
    ) -> Self {
        Self::taking_over(TakeOver::WithFirstWrite, number, retaining, scribe, trouble)
    }

    /// The same, which takes its id over before or after its recovery.
    pub(crate) fn taking_over(
        take_over: TakeOver,
        number: u32,
        retaining: Option<Retaining>,
        scribe: Arc<Scribe>,
        trouble: Trouble,
    ) -> Self {
        let incarnation = scribe.incarnation();
        let id = stream_id(number).to_string();
        let recovery = scribe.invoke(Operation::Recover {
            id: id.clone(),
            incarnation,
            fences: take_over == TakeOver::BeforeRecovery,
        });
        Self {
            take_over,
            life: Some(Life {
                id,
                scribe,
                incarnation,
                trouble,
                hooks: Hooks::default(),
                recovery: Some(recovery),
                writes: HashMap::new(),
                saves: RefCell::default(),
            }),
            ..Self::shown(number, retaining)
        }
    }

    /// The same, which lives by itself.
    pub(super) fn driven(self, drive: Arc<Drive>) -> Self {
        Self {
            drive: Some(drive),
            ..self
        }
    }

    /// Returns the record of a recovery, or of a look.
    pub(crate) fn recovered(&mut self, highest: SequenceNr) -> Recovered {
        Recovered {
            highest,
            deleted_to: None,
            snapshot: self.snapshot.map(|(number, _)| number),
            snapshot_digest: self.snapshot.map(|(_, digest)| digest),
            events: Some(std::mem::take(&mut self.seen)),
            digest: Some(self.digest),
        }
    }

    /// A snapshot is about to be saved, and the events that it covers deleted.
    fn snapshot(&self) -> Digest {
        reached("snapshot");
        let Some(life) = &self.life else {
            return Digest {
                digest: self.digest,
            };
        };
        let (number, digest) = (self.last, self.digest);
        let call = life.scribe.invoke(Operation::SaveSnapshot {
            id: life.id.clone(),
            incarnation: life.incarnation,
            number,
            digest,
        });
        let mut saves = life.saves.borrow_mut();
        saves.entry(number).or_default().push(call);
        // Retention, here or by a clean-up of others, deletes no more than this from now on; who answers that comes
        // later.
        life.scribe.invoke(Operation::Retain {
            id: life.id.clone(),
            to: number,
        });
        life.scribe.invoke(Operation::DeleteSnapshots {
            id: life.id.clone(),
            from: 0,
            to: number.saturating_sub(1),
        });
        Digest { digest }
    }
}

impl Actor for Stream {
    type Context = PersistentContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        reached("started hook");
        if let Some(life) = &mut self.life {
            life.hooks.started = true;
        }
        self.drive_started(ctx);
    }

    fn stopping(&mut self, ctx: &mut Self::Context) -> Running {
        reached("stopping hook");
        if let Some(life) = &self.life
            && life.hooks.terminated
        {
            life.scribe.fault(&format!(
                "{} was terminated, and `stopping` is called",
                life.id
            ));
        }
        self.drive_stopping(ctx);
        Running::Stop
    }

    fn stopped(&mut self, ctx: &mut Self::Context) {
        reached("stopped hook");
        if let Some(life) = &mut self.life {
            life.hooks.stopped = true;
        }
        self.drive_stopped(ctx);
    }
}

impl PersistentActor for Stream {
    type Event = Written;
    type Snapshot = Digest;

    fn persistence_id(&self) -> PersistenceId {
        stream_id(self.number)
    }

    fn retention(&self) -> Option<Retention<Self>> {
        let Retaining { every, keep } = self.retaining?;
        let retention = Retention::snapshot_every(every, Self::snapshot);
        Some(retention.with_kept_snapshots(keep).with_delete_events())
    }

    fn take_over(&self) -> TakeOver {
        self.take_over
    }

    fn on_event(&mut self, event: &Written) {
        self.digest = fold(self.digest, Uid(event.uid));
    }

    fn on_event_at(&mut self, event: &Written, meta: &EventMeta) {
        reached(if meta.replayed { "recovery" } else { "event" });
        self.on_event(event);
        self.last = meta.sequence_nr;
        let uid = Uid(event.uid);
        match &self.life {
            Some(life) if !meta.replayed => life.scribe.say(What::Handled {
                id: life.id.clone(),
                incarnation: life.incarnation,
                uid,
                number: meta.sequence_nr,
            }),
            _ => self.seen.push((meta.sequence_nr, uid)),
        }
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<Digest>) {
        self.last = offer.metadata.sequence_nr;
        self.digest = offer.snapshot.digest;
        self.snapshot = Some((self.last, self.digest));
    }

    fn on_recovery_completed(&mut self, ctx: &mut PersistentContext<Self>) {
        reached("end of a recovery");
        let recovered = self.recovered(ctx.last_sequence_nr());
        if let Some(life) = &mut self.life
            && let Some(call) = life.recovery.take()
        {
            let done = Done::Recovered(recovered);
            life.scribe.answer(call, Answer::Ok(done));
        }
        self.drive_recovered(ctx);
    }

    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        if let Some(life) = &mut self.life {
            life.hooks.failed = true;
            (life.trouble)(error);
            if let Some(call) = life.recovery.take() {
                life.scribe.answer(call, Answer::Failed);
            }
        }
    }

    fn on_persist_failure(&mut self, error: &PersistError, event: &Written, _: SequenceNr) {
        if let Some(life) = &mut self.life {
            life.hooks.failed = true;
        }
        if let Some(life) = &mut self.life
            && let Some(UnderWay { call, .. }) = life.writes.remove(&event.uid)
        {
            let answer = match error.is_not_stored() {
                true => Answer::Failed,
                false => Answer::Unknown,
            };
            life.scribe.answer(call, answer);
        }
    }

    fn on_persist_rejected(
        &mut self,
        _: &RejectionCause,
        event: &Written,
        _: &mut PersistentContext<Self>,
    ) {
        self.has_ended(event.uid, Answer::Rejected);
    }

    fn on_store_response(&mut self, response: StoreResponse, ctx: &mut PersistentContext<Self>) {
        self.turn("the answer of a store");
        reached("response of a store");
        self.drive_talks(ctx);
        let Some(life) = &self.life else { return };
        let save = |number| life.saves.borrow_mut().get_mut(number)?.pop();
        match response {
            StoreResponse::SaveSnapshotSuccess { metadata } => {
                if let Some(call) = save(&metadata.sequence_nr) {
                    life.scribe.answer(call, Answer::Ok(Done::Done));
                }
                if self.deletes_to == Some(metadata.sequence_nr) {
                    self.deletes_to = None;
                    reached("delete");
                    ctx.delete_messages(metadata.sequence_nr);
                }
            }
            StoreResponse::SaveSnapshotFailure { metadata, .. } => {
                if let Some(call) = save(&metadata.sequence_nr) {
                    life.scribe.answer(call, Answer::Unknown);
                }
            }
            StoreResponse::DeleteMessagesSuccess { to_sequence_nr } => {
                reached("delete");
                let (id, to) = (life.id.clone(), to_sequence_nr);
                let covered = true;
                let call = life
                    .scribe
                    .invoke(Operation::DeleteEvents { id, to, covered });
                life.scribe.answer(call, Answer::Ok(Done::Done));
            }
            // Deletes that fail, and those of snapshots, may be done or not.
            _ => {}
        }
    }
}

/// Persists these, several as one batch; the answer is the number of the first.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<SequenceNr, PersistError>")]
pub(crate) struct Write {
    /// The events to persist, at least one.
    pub(crate) uids: Vec<Uid>,
    /// True if commands after it do not wait for it.
    pub(crate) asynchronously: bool,
}

impl Handler<Write> for Stream {
    type Result = Reply<Write>;

    fn handle(&mut self, write: Write, ctx: &mut Self::Context) -> Reply<Write> {
        self.turn("a command");
        self.write(write, ctx)
    }
}

/// Persists the second event when the first one is stored; the answer is the number of the first.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<SequenceNr, PersistError>")]
pub(crate) struct Pair {
    pub(crate) first: Uid,
    pub(crate) second: Uid,
}

impl Handler<Pair> for Stream {
    type Result = Reply<Pair>;

    fn handle(&mut self, Pair { first, second }: Pair, ctx: &mut Self::Context) -> Reply<Pair> {
        self.turn("a command");
        reached("command");
        self.persist_one(first.0, true, ctx)
            .then(move |stream, _, ctx| {
                let number = ctx.last_sequence_nr();
                stream
                    .persist_one(second.0, true, ctx)
                    .then(move |_, _, ctx| {
                        // The asker may be gone.
                        let _ = ctx.reply_to::<Pair>().send(Ok(number));
                    })
                    .detach();
            })
            .detach();
        Reply::deferred()
    }
}

impl Stream {
    /// Reports a fault if something begins between a command and the handlers of its events.
    pub(super) fn turn(&self, what: &str) {
        if self.holding > 0
            && let Some(life) = &self.life
        {
            life.scribe.fault(&format!(
                "{what} came to {} before the handlers of what was persisted",
                stream_id(self.number)
            ));
        }
    }

    /// A write begins; its first event names it.
    fn begins(&mut self, uids: Vec<Uid>, holds: bool) {
        if let Some(life) = &mut self.life {
            let key = uids[0].0;
            let call = life.scribe.invoke(Operation::Persist {
                id: life.id.clone(),
                incarnation: life.incarnation,
                uids,
            });
            life.writes.insert(key, UnderWay { call, holds });
            self.holding += u32::from(holds);
        }
    }

    /// A write has ended, and the actor goes on.
    fn has_ended(&mut self, key: u64, answer: Answer) {
        if let Some(life) = &mut self.life
            && let Some(UnderWay { call, holds }) = life.writes.remove(&key)
        {
            self.holding -= u32::from(holds);
            life.hooks.too_late.take_if(|uid| *uid == key);
            life.scribe.answer(call, answer);
        }
    }

    /// Persists these events; the answer is the number of the first.
    pub(super) fn write<M>(&mut self, write: Write, ctx: &mut PersistentContext<Self>) -> Reply<M>
    where
        M: Message<Result = Result<SequenceNr, PersistError>> + 'static,
    {
        reached("command");
        let Write {
            uids,
            asynchronously,
        } = write;
        let (count, key) = (uids.len() as u64, uids[0].0);
        self.begins(uids.clone(), !asynchronously);
        let answer = move |stream: &mut Self, ctx: &mut PersistentContext<Self>| {
            let first = ctx.last_sequence_nr() + 1 - count;
            stream.has_ended(key, Answer::Ok(Done::Persisted { first }));
            Ok(first)
        };
        let events = uids.into_iter().map(|uid| Written { uid: uid.0 });
        match asynchronously {
            true => ctx.persist_all_async(events).reply_with(answer),
            false => ctx.persist_all(events).reply_with(answer),
        }
    }

    /// Persists one event, by one of the calls.
    pub(super) fn persist_one(
        &mut self,
        uid: u64,
        holds: bool,
        ctx: &mut PersistentContext<Self>,
    ) -> Persist<Self> {
        self.begins(vec![Uid(uid)], holds);
        let event = Written { uid };
        let persisted = match holds {
            true => ctx.persist(event),
            false => ctx.persist_async(event),
        };
        persisted.then(move |stream, _, ctx| {
            let first = ctx.last_sequence_nr();
            stream.has_ended(uid, Answer::Ok(Done::Persisted { first }));
        })
    }

    /// Persists this event; returns the future of the call.
    pub(super) fn persisting(
        &mut self,
        uid: u64,
        ctx: &mut PersistentContext<Self>,
    ) -> PersistFuture {
        self.persist_one(uid, true, ctx).into_future()
    }
}

/// Saves a snapshot, beside those of retention, and deletes what it covers if that is wanted.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Save {
    /// True if the events up to it are deleted when it is stored.
    pub(crate) then_delete: bool,
}

impl Handler<Save> for Stream {
    type Result = ();

    fn handle(&mut self, save: Save, ctx: &mut Self::Context) {
        self.turn("a command");
        if self.last > 0 {
            if save.then_delete {
                self.deletes_to = Some(self.last);
            }
            let snapshot = self.snapshot();
            ctx.save_snapshot(&snapshot);
        }
    }
}
