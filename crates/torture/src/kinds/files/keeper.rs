//! The actors of the program under test: each knows every write that is in its state.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::{StoreResponse, error::ErrorChain};
use serde::{Deserialize, Serialize};

use super::mark::{Mark, Marks};

/// Ids that begin so take snapshots and delete the events that these cover.
pub(crate) const RETAINING: char = 'r';
/// Ids that begin so take snapshots, and keep all events.
pub(crate) const SAVING: char = 's';
/// Ids that begin so delete events by hand.
pub(crate) const DELETING: char = 'd';
/// The entity type of every keeper.
pub(crate) const ENTITY_TYPE: &str = "Keeper";

/// An event: who wrote it, as a text that can be found in what is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// The text `<id:uid:index:events>`.
    pub(crate) text: String,
}

impl Event for Kept {
    const MANIFEST: &'static str = "torture.kept";
    const VERSION: u32 = 1;
}

/// Every write that a state consists of, in order: uid and number of events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writes(pub(crate) Vec<(u32, u32)>);

impl Writes {
    /// Returns the number of events that they are.
    pub(crate) fn events(&self) -> u64 {
        self.0.iter().map(|(_, events)| u64::from(*events)).sum()
    }

    /// Adds one more event.
    pub(crate) fn add(&mut self, uid: u32) {
        match self.0.last_mut() {
            Some((last, events)) if *last == uid => *events += 1,
            _ => self.0.push((uid, 1)),
        }
    }

    /// Returns the text `<id=uid*events,uid*events>`.
    pub(crate) fn to_text(&self, id: &str) -> String {
        let mut text = format!("<{id}=");
        for (uid, events) in &self.0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "{uid}*{events},");
        }
        text.push('>');
        text
    }

    /// Returns what a text holds; `None` if the text has another form, or belongs to another id.
    pub(crate) fn of_text(text: &str, id: &str) -> Option<Self> {
        let text = text.strip_prefix('<')?.strip_suffix('>')?;
        let rest = text.strip_prefix(id)?.strip_prefix('=')?;
        let writes = rest.split_terminator(',').map(|write| {
            let (uid, events) = write.split_once('*')?;
            Some((uid.parse().ok()?, events.parse().ok()?))
        });
        Some(Self(writes.collect::<Option<_>>()?))
    }
}

/// A snapshot of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptSnapshot {
    text: String,
}

impl Snapshot for KeptSnapshot {
    const MANIFEST: &'static str = "torture.kept";
    const VERSION: u32 = 1;
}

/// The part of the program that its actors share with it.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// The file for marks; `None` for an actor that only recovers.
    pub(crate) marks: Option<Marks>,
    /// The errors that stores and recoveries returned.
    pub(crate) errors: Arc<Mutex<Vec<String>>>,
}

impl Shared {
    pub(crate) fn new(marks: Option<Marks>) -> Self {
        Self {
            marks,
            errors: Arc::default(),
        }
    }

    pub(crate) fn say(&self, mark: Mark) {
        if let Some(marks) = &self.marks {
            marks.say(&mark);
        }
    }

    pub(crate) fn error(&self, error: &(dyn std::error::Error + 'static)) {
        let text = ErrorChain(error).to_string();
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.push(text);
    }

    /// Takes the errors given until now.
    pub(crate) fn take_errors(&self) -> Vec<String> {
        std::mem::take(&mut *self.errors.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An actor that keeps events.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    pub(crate) id: String,
    pub(crate) writes: Writes,
    /// Events that do not belong here.
    pub(crate) strange: Vec<String>,
    shared: Shared,
}

impl Keeper {
    pub(crate) fn new(id: &str, shared: &Shared) -> Self {
        Self {
            id: id.to_owned(),
            writes: Writes::default(),
            strange: Vec::new(),
            shared: shared.clone(),
        }
    }
}

impl Actor for Keeper {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Keeper {
    type Event = Kept;
    type Snapshot = KeptSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of(ENTITY_TYPE, &self.id)
    }

    fn retention(&self) -> Option<Retention<Self>> {
        let snapshot = |keeper: &Self| KeptSnapshot {
            text: keeper.writes.to_text(&keeper.id),
        };
        let saves = Retention::snapshot_every(4, snapshot).with_kept_snapshots(1);
        match self.id.chars().next() {
            Some(RETAINING) => Some(saves.with_delete_events()),
            Some(SAVING) => Some(saves),
            _ => None,
        }
    }

    fn on_event(&mut self, event: &Kept) {
        match uid_of(&event.text, &self.id) {
            Some(uid) => self.writes.add(uid),
            None => self.strange.push(event.text.clone()),
        }
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<KeptSnapshot>) {
        match Writes::of_text(&offer.snapshot.text, &self.id) {
            Some(writes) => self.writes = writes,
            None => self.strange.push(offer.snapshot.text),
        }
    }

    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        self.shared.error(error);
    }

    fn on_store_response(&mut self, response: StoreResponse, _: &mut Self::Context) {
        let id = self.id.clone();
        match response {
            StoreResponse::SaveSnapshotSuccess { metadata } => {
                let number = metadata.sequence_nr;
                self.shared.say(Mark::Saved { id, number });
            }
            StoreResponse::DeleteMessagesSuccess { to_sequence_nr: to } => {
                self.shared.say(Mark::Deleted { id, to });
            }
            other => {
                if let Some(error) = other.error() {
                    self.shared.error(error);
                }
            }
        }
    }
}

/// The write that an event belongs to; none if it does not belong to the id.
fn uid_of(text: &str, id: &str) -> Option<u32> {
    let text = text.strip_prefix('<')?.strip_prefix(id)?;
    text.strip_prefix(':')?.split(':').next()?.parse().ok()
}

/// Stores this number of events at once; answers with the number of the last one.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<SequenceNr, PersistError>")]
pub(crate) struct Put {
    pub(crate) uid: u32,
    pub(crate) events: u32,
}

impl Handler<Put> for Keeper {
    type Result = Reply<Put>;

    fn handle(&mut self, put: Put, ctx: &mut Self::Context) -> Reply<Put> {
        let Put { uid, events } = put;
        let id = self.id.clone();
        let first = ctx.last_sequence_nr() + 1;
        let last = first + u64::from(events) - 1;
        self.shared.say(Mark::Asked {
            id: id.clone(),
            uid,
            events,
        });
        // Some are larger than a page.
        let padding = if uid.is_multiple_of(7) { 5_000 } else { 0 };
        let text = |index| format!("<{id}:{uid}:{index}:{events}>{:padding$}", "");
        let kept: Vec<_> = (0..events)
            .map(|index| Kept { text: text(index) })
            .collect();
        ctx.persist_all(kept).reply(move |_| Ok(last))
    }
}

/// Deletes events by hand, all but this number.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct DeleteAllBut(pub(crate) u64);

impl Handler<DeleteAllBut> for Keeper {
    type Result = ();

    fn handle(&mut self, DeleteAllBut(spared): DeleteAllBut, ctx: &mut Self::Context) {
        let to = ctx.last_sequence_nr().saturating_sub(spared);
        if to > 0 {
            self.shared.say(Mark::Deleting {
                id: self.id.clone(),
                to,
            });
            ctx.delete_messages(to);
        }
    }
}

/// A state: who wrote it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Card {
    /// The text `<id:uid>`.
    pub(crate) text: String,
}

impl State for Card {
    const MANIFEST: &'static str = "torture.card";
    const VERSION: u32 = 1;
}

/// An actor that keeps a state.
#[derive(Clone, Debug)]
pub(crate) struct Holder {
    pub(crate) id: String,
    pub(crate) card: Option<Card>,
    shared: Shared,
}

impl Holder {
    pub(crate) fn new(id: &str, shared: &Shared) -> Self {
        Self {
            id: id.to_owned(),
            card: None,
            shared: shared.clone(),
        }
    }
}

impl Actor for Holder {
    type Context = PersistentContext<Self>;
}

impl DurableState for Holder {
    type State = Card;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of(ENTITY_TYPE, &self.id)
    }

    fn on_state(&mut self, state: Option<&Card>) {
        self.card = state.cloned();
    }

    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        self.shared.error(error);
    }
}

/// Stores a state, or none; answers with its revision.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<Revision, PersistError>")]
pub(crate) struct Hold {
    pub(crate) uid: u32,
    pub(crate) live: bool,
}

impl Handler<Hold> for Holder {
    type Result = Reply<Hold>;

    fn handle(&mut self, hold: Hold, ctx: &mut Self::Context) -> Reply<Hold> {
        let Hold { uid, live } = hold;
        let revision = ctx.revision() + 1;
        let id = self.id.clone();
        self.shared.say(Mark::StateAsked {
            id: id.clone(),
            uid,
            live,
        });
        if live {
            let text = format!("<{id}:{uid}>");
            ctx.persist(Card { text }).reply(move |_| Ok(revision))
        } else {
            ctx.delete().reply(move |_| Ok(revision))
        }
    }
}
