//! An actor with events about several people, which looks at everything that it is told.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::fs;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::{StoreResponse, error::RejectionCause};
use actix_persistence_history::{Answer, Done, Incarnation, Operation, Recovered, Uid, What, fold};

use tokio::time::sleep;

use super::facts::{
    FIRST, Fact, Form, Policy, Seen, Shot, StoredShot, digest_path, has_own_tags, tag_of_call,
    uid_tag,
};
use super::trouble;
use crate::workers::Scribe;
use crate::workers::odd_names::odd_name;
use crate::workers::stream::Retaining;

/// One call in this many has a tag that no store takes: what comes after it in the same write gets other numbers.
const REFUSED: u64 = 13;
/// The number of people whose data an id has.
const PEOPLE: u64 = 3;
/// The time for which a command is put aside.
const ASIDE: Duration = Duration::from_millis(1);
/// The number of vaults whose numbers are found by their ids.
const MOST_VAULTS: u32 = 16;

/// The id of a vault.
pub(crate) fn vault_id(number: u32) -> PersistenceId {
    PersistenceId::of("Vault", &odd_name(number))
}

/// Returns the number of a vault; `None` if it is none.
pub(crate) fn vault_number(id: &PersistenceId) -> Option<u32> {
    (0..MOST_VAULTS).find(|number| vault_id(*number) == *id)
}

/// Returns whether no store takes the tags of a call that begins with this event.
pub(crate) fn is_refused(first: Uid) -> bool {
    first.0.is_multiple_of(REFUSED)
}

/// Returns a person of an id.
pub(crate) fn person(id: &str, choice: u64) -> String {
    format!("{id}-{}", choice % PEOPLE)
}

/// A call of the persist family: this many events, the first of which has this uid.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) first: Uid,
    pub(crate) count: u64,
    pub(crate) subject: Option<String>,
    pub(crate) asynchronously: bool,
    /// The number of today's events that it is, if that is not one.
    pub(crate) pieces: u64,
}

impl Call {
    fn uids(&self) -> Vec<Uid> {
        let first = self.first.0;
        (first..first + self.count).map(Uid).collect()
    }

    fn events<E: Form>(&self, command: u64) -> Vec<E> {
        let fact = |place| Fact::new(self.first.0, place, command, self.subject.clone());
        let facts = (0..self.count).map(|place| fact(place).in_pieces(self.pieces));
        facts.map(E::from).collect()
    }

    fn tags(&self) -> Vec<String> {
        let too_long = is_refused(self.first).then(|| "x".repeat(300));
        let tags = tag_of_call(self.first.0).into_iter();
        tags.chain(too_long).collect()
    }
}

/// Makes some calls.
#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
pub(crate) struct Enter<E: Form> {
    /// The command that all of it belongs to.
    pub(crate) command: u64,
    pub(crate) calls: VecDeque<Call>,
    /// True if each call is made in the handler of the one before.
    pub(crate) nested: bool,
    /// A command that is sent to another actor in the handler of the last call.
    pub(crate) relay: Option<Box<Relay<E>>>,
    /// True as soon as it was put aside; `None` if it is not to be.
    pub(crate) aside: Option<Arc<AtomicBool>>,
}

/// A command to another actor.
pub(crate) struct Relay<E: Form> {
    pub(crate) to: Addr<Vault<E>>,
    pub(crate) enter: Enter<E>,
}

/// Folds its events, and reports each step.
pub(crate) struct Vault<E> {
    number: u32,
    retaining: Retaining,
    take_over: TakeOver,
    life: Option<Life>,
    last: SequenceNr,
    digest: u64,
    snapshot: Option<(SequenceNr, u64)>,
    seen: Vec<(SequenceNr, Uid)>,
    /// The event that is read in pieces: its number, the next piece, and the number of all.
    in_pieces: Option<(SequenceNr, u64, u64)>,
    form: PhantomData<fn() -> E>,
}

/// An incarnation that runs.
struct Life {
    scribe: Arc<Scribe>,
    id: String,
    incarnation: Incarnation,
    recovery: Option<u64>,
    /// The calls under way, by their first event.
    writes: HashMap<u64, u64>,
    /// The saves under way, by their numbers.
    saves: RefCell<HashMap<SequenceNr, u64>>,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.scribe.say(What::Ended {
            id: self.id.clone(),
            incarnation: self.incarnation,
        });
    }
}

impl<E: Form> Vault<E> {
    /// Returns an actor to be looked at, which writes nothing down.
    pub(crate) fn shown(number: u32, retaining: Retaining) -> Self {
        Self {
            number,
            retaining,
            take_over: TakeOver::WithFirstWrite,
            life: None,
            last: 0,
            digest: 0,
            snapshot: None,
            seen: Vec::new(),
            in_pieces: None,
            form: PhantomData,
        }
    }

    /// Returns an actor to be started, which recovers now.
    pub(crate) fn alive(
        number: u32,
        retaining: Retaining,
        take_over: TakeOver,
        scribe: &Arc<Scribe>,
    ) -> Self {
        let incarnation = scribe.incarnation();
        let id = vault_id(number).to_string();
        let recovery = scribe.invoke(Operation::Recover {
            id: id.clone(),
            incarnation,
            fences: take_over == TakeOver::BeforeRecovery,
        });
        Self {
            take_over,
            life: Some(Life {
                scribe: Arc::clone(scribe),
                id,
                incarnation,
                recovery: Some(recovery),
                writes: HashMap::new(),
                saves: RefCell::default(),
            }),
            ..Self::shown(number, retaining)
        }
    }

    /// Returns the record of a recovery, or of a look.
    pub(crate) fn recovered(&mut self, highest: SequenceNr) -> Recovered {
        self.has_all_pieces();
        Recovered {
            highest,
            deleted_to: None,
            snapshot: self.snapshot.map(|(number, _)| number),
            snapshot_digest: self.snapshot.map(|(_, digest)| digest),
            events: Some(std::mem::take(&mut self.seen)),
            digest: Some(self.digest),
        }
    }

    fn fault(&self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        let id = vault_id(self.number);
        crate::workers::fault(format!("{id}: {sentence}"));
    }

    fn snapshot(&self) -> StoredShot {
        let (number, digest) = (self.last, self.digest);
        let policy = Policy::of(self.number);
        if let Some(life) = &self.life {
            let call = life.scribe.invoke(Operation::SaveSnapshot {
                id: life.id.clone(),
                incarnation: life.incarnation,
                number,
                digest,
            });
            life.saves.borrow_mut().insert(number, call);
            // Retention deletes no more than this from now on; who answers that comes later.
            if policy != Policy::KeepsEvents {
                let id = life.id.clone();
                life.scribe.invoke(Operation::Retain { id, to: number });
            }
            life.scribe.invoke(Operation::DeleteSnapshots {
                id: life.id.clone(),
                from: 0,
                to: number.saturating_sub(1),
            });
        }
        if policy.outlives_keys() {
            // Each number has one digest, whoever saves it.
            let (path, process) = (digest_path(self.number, number), std::process::id());
            let begun = path.with_extension(format!("new-{process}"));
            let written = fs::write(&begun, digest.to_string());
            if let Err(error) = written.and_then(|()| fs::rename(begun, path)) {
                self.fault(format!("a digest cannot be stored: {error}"));
            }
        }
        let is_personal = policy != Policy::AboutNoOne;
        let subject = is_personal.then(|| person(&format!("vault-{}", self.number), digest));
        StoredShot(Shot::new(digest, subject))
    }

    /// Reports an event that was read in pieces of which some are missing.
    fn has_all_pieces(&mut self) {
        if let Some((number, next, all)) = self.in_pieces.take()
            && next != all
        {
            self.fault(format!("of event {number} came {next} pieces of {all}"));
        }
    }

    /// Returns whether this is the first that is seen of an event.
    fn begins(&mut self, number: SequenceNr, seen: &Seen) -> bool {
        let (piece, pieces) = match seen {
            Seen::Fact(fact) if !E::SEVERAL => (fact.piece, fact.pieces),
            _ => (0, 0),
        };
        if piece > 0 {
            if self.in_pieces != Some((number, piece, pieces)) {
                self.fault(format!("piece {piece} of event {number} is not the next"));
            }
            self.in_pieces = Some((number, piece + 1, pieces));
            return false;
        }
        self.has_all_pieces();
        if pieces > 0 {
            self.in_pieces = Some((number, 1, pieces));
        }
        true
    }

    /// Persists the events of a call; when they are handled, `after` runs.
    fn persist(
        &mut self,
        command: u64,
        call: Call,
        ctx: &mut PersistentContext<Self>,
        after: impl FnOnce(&mut Self, &mut PersistentContext<Self>) + 'static,
    ) -> actix_persistence::Persist<Self, NoEvent> {
        let (first, count) = (call.first.0, call.count);
        let (metadata, text) = (ctx.metadata(), first.to_string());
        if metadata.entry(FIRST) != Some(&text) {
            let changed = metadata.with_entry(FIRST, text).expect("short texts");
            ctx.set_metadata(changed);
        }
        if let Some(life) = &mut self.life {
            let under_way = life.scribe.invoke(Operation::Persist {
                id: life.id.clone(),
                incarnation: life.incarnation,
                uids: call.uids(),
            });
            life.writes.insert(first, under_way);
        }
        let mut events = call.events::<E>(command);
        let done = move |vault: &mut Self, ctx: &mut PersistentContext<Self>| {
            vault.has_stored(command, first, count, ctx);
            after(vault, ctx);
        };
        let tagged = ctx.tagged(call.tags());
        match (call.count, call.asynchronously) {
            (1, true) => tagged.persist_async(events.remove(0)).on_complete(done),
            (1, false) => tagged.persist(events.remove(0)).on_complete(done),
            (_, true) => tagged.persist_all_async(events).on_complete(done),
            (_, false) => tagged.persist_all(events).on_complete(done),
        }
    }

    /// The handlers of a call have run.
    fn has_stored(
        &mut self,
        command: u64,
        first: u64,
        count: u64,
        ctx: &mut PersistentContext<Self>,
    ) {
        let last = ctx.last_sequence_nr();
        self.write_has_ended(
            first,
            Answer::Ok(Done::Persisted {
                first: last + 1 - count,
            }),
        );
        let metadata = ctx.metadata();
        self.check_command(command, &metadata);
        let cause = format!("{}#{last}", ctx.persistence_id());
        if metadata.causation_id() != Some(&cause) {
            self.fault(format!("the cause after {cause} is another: {metadata:?}"));
        }
        if metadata.entry(FIRST) != Some(&first.to_string()) {
            self.fault(format!("the handler of call {first} has that of another"));
        }
    }

    /// Checks that code which runs for a command has its metadata.
    fn check_command(&self, command: u64, metadata: &Metadata) {
        if metadata.correlation_id() != Some(&command.to_string()) {
            self.fault(format!("command {command} has the metadata {metadata:?}"));
        }
    }

    fn write_has_ended(&mut self, first: u64, answer: Answer) {
        if let Some(life) = &mut self.life
            && let Some(call) = life.writes.remove(&first)
        {
            life.scribe.answer(call, answer);
        }
    }

    /// Makes each call in the handler of the one before, and answers then.
    fn nest(
        &mut self,
        command: u64,
        mut calls: VecDeque<Call>,
        relay: Option<Box<Relay<E>>>,
        ctx: &mut PersistentContext<Self>,
    ) {
        let Some(call) = calls.pop_front() else {
            pass_on(relay);
            // The asker may be gone.
            let _ = ctx.reply_to::<Enter<E>>().send(Ok(()));
            return;
        };
        let next = move |vault: &mut Self, ctx: &mut PersistentContext<Self>| {
            vault.nest(command, calls, relay, ctx);
        };
        self.persist(command, call, ctx, next).detach();
    }
}

fn pass_on<E: Form>(relay: Option<Box<Relay<E>>>) {
    if let Some(relay) = relay {
        let Relay { to, enter } = *relay;
        to.do_send(enter);
    }
}

impl<E: Form> Actor for Vault<E> {
    type Context = PersistentContext<Self>;
}

impl<E: Form> PersistentActor for Vault<E> {
    type Event = E;
    type Snapshot = StoredShot;

    fn persistence_id(&self) -> PersistenceId {
        vault_id(self.number)
    }

    fn retention(&self) -> Option<Retention<Self>> {
        let Retaining { every, keep } = self.retaining;
        let retention = Retention::snapshot_every(every, Self::snapshot).with_kept_snapshots(keep);
        Some(match Policy::of(self.number) {
            Policy::KeepsEvents => retention,
            _ => retention.with_delete_events(),
        })
    }

    fn take_over(&self) -> TakeOver {
        self.take_over
    }

    fn tags(&self, event: &E) -> Vec<String> {
        match event.seen() {
            Seen::Fact(fact) if has_own_tags(fact.first + fact.place) => {
                let uid = uid_tag(fact.first + fact.place);
                vec![uid.clone(), format!("after-{}", self.last), uid]
            }
            _ => Vec::new(),
        }
    }

    fn on_event(&mut self, _: &E) {
        // All is in the call below.
    }

    fn on_event_at(&mut self, event: &E, meta: &EventMeta) {
        let number = meta.sequence_nr;
        if !self.begins(number, event.seen()) {
            return;
        }
        self.last = number;
        let uid = match event.seen().uid(&meta.metadata) {
            Ok(uid) => uid,
            Err(sentence) => return self.fault(format!("event {number}: {sentence}")),
        };
        self.digest = fold(self.digest, uid);
        match &self.life {
            Some(life) if !meta.replayed => life.scribe.say(What::Handled {
                id: life.id.clone(),
                incarnation: life.incarnation,
                uid,
                number,
            }),
            _ => self.seen.push((number, uid)),
        }
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<StoredShot>) {
        self.last = offer.metadata.sequence_nr;
        self.digest = offer.snapshot.0.digest;
        self.snapshot = Some((self.last, self.digest));
    }

    fn on_recovery_completed(&mut self, ctx: &mut PersistentContext<Self>) {
        let recovered = self.recovered(ctx.last_sequence_nr());
        if let Some(life) = &mut self.life
            && let Some(call) = life.recovery.take()
        {
            let done = Done::Recovered(recovered);
            life.scribe.answer(call, Answer::Ok(done));
        }
    }

    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        trouble::of_recovery(error);
        if let Some(life) = &mut self.life
            && let Some(call) = life.recovery.take()
        {
            life.scribe.answer(call, Answer::Failed);
        }
    }

    fn on_persist_failure(&mut self, error: &PersistError, event: &E, _: SequenceNr) {
        trouble::of_write(error);
        if let Seen::Fact(fact) = event.seen() {
            let answer = match error.is_not_stored() {
                true => Answer::Failed,
                false => Answer::Unknown,
            };
            self.write_has_ended(fact.first, answer);
        }
    }

    fn on_persist_rejected(&mut self, cause: &RejectionCause, event: &E, _: &mut Self::Context) {
        trouble::of_rejection(cause);
        if let Seen::Fact(fact) = event.seen() {
            self.write_has_ended(fact.first, Answer::Rejected);
        }
    }

    fn on_store_response(&mut self, response: StoreResponse, _: &mut Self::Context) {
        let Some(life) = &self.life else { return };
        let save = |number| life.saves.borrow_mut().remove(&number);
        match response {
            StoreResponse::SaveSnapshotSuccess { metadata } => {
                if let Some(call) = save(metadata.sequence_nr) {
                    life.scribe.answer(call, Answer::Ok(Done::Done));
                }
            }
            StoreResponse::SaveSnapshotFailure { metadata, .. } => {
                if let Some(call) = save(metadata.sequence_nr) {
                    life.scribe.answer(call, Answer::Unknown);
                }
            }
            StoreResponse::DeleteMessagesSuccess { to_sequence_nr: to } => {
                let (id, covered) = (life.id.clone(), true);
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

impl<E: Form> Handler<Enter<E>> for Vault<E> {
    type Result = Reply<Enter<E>>;

    fn handle(&mut self, enter: Enter<E>, ctx: &mut Self::Context) -> Reply<Enter<E>> {
        self.check_command(enter.command, &ctx.metadata());
        if let Some(was_aside) = &enter.aside
            && !was_aside.swap(true, Ordering::Relaxed)
        {
            // A spawned future, which the end of everything waits for.
            ctx.spawn(sleep(ASIDE).into_actor(self).map(|(), _, ctx| {
                ctx.unstash_all();
            }));
            return ctx.stash(enter);
        }
        let Enter {
            command,
            mut calls,
            nested,
            relay,
            ..
        } = enter;
        if nested {
            self.nest(command, calls, relay, ctx);
            return Reply::deferred();
        }
        let last = calls.pop_back().expect("a command makes at least one call");
        for call in calls {
            self.persist(command, call, ctx, |_, _| {}).detach();
        }
        self.persist(command, last, ctx, |_, _| pass_on(relay))
            .reply(|_| Ok(()))
    }
}
