//! An actor with events that fails in one way or another.

use std::collections::HashMap;
use std::sync::Arc;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::{EventMeta, NoSnapshot, error::RejectionCause};
use actix_persistence_history::{Answer, Done, Incarnation, Operation, Recovered, Uid, What, fold};
use fastrand::Rng;

use crate::workers::kept::Kept;
use crate::workers::stream::{Write, Written, stream_id};
use crate::workers::writers::tell_of_recovery;
use crate::workers::{Scribe, count};

/// The text of the panics that a storm makes on purpose.
pub(super) const PANIC: &str = "a storm";
/// The error of a handler.
pub(super) const REFUSAL: &str = "it does not want to";

/// The fate of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The actor answers, and ends when its address is dropped.
    Calm,
    /// The actor is asked nothing.
    Idle,
    /// A handler returns an error.
    Fails,
    /// A handler panics before it persists anything.
    PanicsBefore,
    /// A handler panics after it has persisted.
    PanicsAfter,
    /// The actor panics when it applies a new event.
    PanicsInEvent,
    /// The actor panics when it applies an old event.
    PanicsInReplay,
    /// The actor panics when it is recovered.
    PanicsRecovered,
    /// The actor stops itself while more is asked of it.
    Stops,
    /// The askers of the actor do not wait.
    Abandoned,
}

impl Fate {
    const ALL: [(Self, &str); 10] = [
        (Self::Calm, "calm"),
        (Self::Idle, "idle"),
        (Self::Fails, "errors of handlers"),
        (Self::PanicsBefore, "panics before a persist"),
        (Self::PanicsAfter, "panics after a persist"),
        (Self::PanicsInEvent, "panics in an event"),
        (Self::PanicsInReplay, "panics in a replay"),
        (Self::PanicsRecovered, "panics when recovered"),
        (Self::Stops, "stops"),
        (Self::Abandoned, "abandoned"),
    ];

    pub(super) fn of(rng: &mut Rng) -> Self {
        Self::ALL[rng.usize(..Self::ALL.len())].0
    }

    pub(super) fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|one| one.0 == self);
        found.map_or("", |one| one.1)
    }
}

/// Folds its events, reports each step, and fails as it is its fate.
pub(super) struct Droplet {
    number: u32,
    fate: Fate,
    scribe: Arc<Scribe>,
    incarnation: Incarnation,
    recovery: Option<u64>,
    /// The calls whose events are under way, by their first event.
    writes: HashMap<u64, u64>,
    digest: u64,
    seen: Vec<(SequenceNr, Uid)>,
}

impl Drop for Droplet {
    fn drop(&mut self) {
        self.scribe.say(What::Ended {
            id: stream_id(self.number).to_string(),
            incarnation: self.incarnation,
        });
    }
}

impl Droplet {
    /// Returns an actor to be started, which recovers now.
    pub(super) fn alive(number: u32, fate: Fate, scribe: Arc<Scribe>) -> Self {
        let incarnation = scribe.incarnation();
        let recovery = scribe.invoke(Operation::Recover {
            id: stream_id(number).to_string(),
            incarnation,
            fences: false,
        });
        Self {
            number,
            fate,
            scribe,
            incarnation,
            recovery: Some(recovery),
            writes: HashMap::new(),
            digest: 0,
            seen: Vec::new(),
        }
    }

    fn has_ended(&mut self, event: &Written, answer: Answer) {
        if let Some(call) = self.writes.remove(&event.uid) {
            self.scribe.answer(call, answer);
        }
    }
}

impl Actor for Droplet {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Droplet {
    type Event = Written;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        stream_id(self.number)
    }

    fn on_event(&mut self, event: &Written) {
        self.digest = fold(self.digest, Uid(event.uid));
    }

    fn on_event_at(&mut self, event: &Written, meta: &EventMeta) {
        let panics = match meta.replayed {
            true => Fate::PanicsInReplay,
            false => Fate::PanicsInEvent,
        };
        assert!(self.fate != panics, "{PANIC}");
        self.on_event(event);
        let (uid, number) = (Uid(event.uid), meta.sequence_nr);
        if meta.replayed {
            self.seen.push((number, uid));
        } else {
            self.scribe.say(What::Handled {
                id: stream_id(self.number).to_string(),
                incarnation: self.incarnation,
                uid,
                number,
            });
        }
    }

    fn on_recovery_completed(&mut self, ctx: &mut PersistentContext<Self>) {
        assert!(self.fate != Fate::PanicsRecovered, "{PANIC}");
        if let Some(call) = self.recovery.take() {
            let done = Done::Recovered(Recovered {
                highest: ctx.last_sequence_nr(),
                events: Some(std::mem::take(&mut self.seen)),
                digest: Some(self.digest),
                ..Recovered::default()
            });
            self.scribe.answer(call, Answer::Ok(done));
        }
    }

    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        match self.fate {
            Fate::PanicsInReplay | Fate::PanicsRecovered => count("recoveries failed"),
            _ => tell_of_recovery(error),
        }
        if let Some(call) = self.recovery.take() {
            self.scribe.answer(call, Answer::Failed);
        }
    }

    fn on_persist_failure(&mut self, error: &PersistError, event: &Written, _: SequenceNr) {
        let answer = match error.is_not_stored() {
            true => Answer::Failed,
            false => Answer::Unknown,
        };
        self.has_ended(event, answer);
    }

    fn on_persist_rejected(
        &mut self,
        _: &RejectionCause,
        event: &Written,
        _: &mut PersistentContext<Self>,
    ) {
        self.has_ended(event, Answer::Rejected);
    }
}

/// Persists, and may panic before or after.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<SequenceNr, PersistError>")]
pub(super) struct Burst(pub(super) Write);

impl Handler<Burst> for Droplet {
    type Result = Reply<Burst>;

    fn handle(&mut self, Burst(write): Burst, ctx: &mut Self::Context) -> Reply<Burst> {
        assert!(self.fate != Fate::PanicsBefore, "{PANIC}");
        let Write {
            uids,
            asynchronously,
        } = write;
        let (count, key) = (uids.len() as u64, uids[0].0);
        let call = self.scribe.invoke(Operation::Persist {
            id: stream_id(self.number).to_string(),
            incarnation: self.incarnation,
            uids: uids.clone(),
        });
        self.writes.insert(key, call);
        let answer = move |droplet: &mut Self, ctx: &mut PersistentContext<Self>| {
            let first = ctx.last_sequence_nr() + 1 - count;
            if let Some(call) = droplet.writes.remove(&key) {
                let done = Done::Persisted { first };
                droplet.scribe.answer(call, Answer::Ok(done));
            }
            Ok(first)
        };
        let events = uids.into_iter().map(|uid| Written { uid: uid.0 });
        let reply = match asynchronously {
            true => ctx.persist_all_async(events).reply_with(answer),
            false => ctx.persist_all(events).reply_with(answer),
        };
        assert!(self.fate != Fate::PanicsAfter, "{PANIC}");
        reply
    }
}

/// A message that is answered with an error.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<(), String>")]
pub(super) struct Fail;

impl Handler<Fail> for Droplet {
    type Result = Result<(), String>;

    fn handle(&mut self, _: Fail, _: &mut Self::Context) -> Self::Result {
        Err(REFUSAL.to_owned())
    }
}

/// The message that stops the actor.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(super) struct Stop;

impl Handler<Stop> for Droplet {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Self::Context) {
        ctx.stop();
    }
}

impl Handler<Stop> for Kept {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Self::Context) {
        ctx.stop();
    }
}
