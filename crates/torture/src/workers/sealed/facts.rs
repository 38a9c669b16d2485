//! The values that sealed actors store: each has a text that follows from its identity, and many are about a person.
//!
//! Whatever reads one looks at it at once: it has the text that was written, its key was asked for just now, and it is
//! shredded if and only if the answer was that the key is destroyed.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_persistence::payload::{
    DecodeError, EncodeError, EncodedPayload, Encoder, FromPayload, Shredded, ToPayload,
};
use actix_persistence::prelude::*;
use actix_persistence_history::Uid;
use fastrand::Rng;
use serde::{Deserialize, Serialize};

use super::keys::{Answered, last_answer};
use super::vault::vault_number;
use crate::workers::fault;

/// The beginning of each text that is about a person.
pub(crate) const PERSONAL: &str = "~personal~";
/// The beginning of each other text.
pub(crate) const PLAIN: &str = "~plain~";
/// The names of events about no one, by their places in a batch.
pub(crate) const PLAIN_FACTS: [&str; 4] = [
    "sealed.plain",
    "sealed.plain.1",
    "sealed.plain.2",
    "sealed.plain.3",
];
/// The names of events about a person, by their places in a batch: what is left of one that is shredded.
pub(crate) const PERSONAL_FACTS: [&str; 4] = [
    "sealed.personal.0",
    "sealed.personal.1",
    "sealed.personal.2",
    "sealed.personal.3",
];
/// The name of an event of older programs that is several events today.
pub(crate) const SEVERAL: &str = "sealed.several";
/// The names of snapshots and states about a person.
pub(crate) const PERSONAL_SHOT: &str = "sealed.shot.personal";
pub(crate) const PERSONAL_KEEP: &str = "sealed.keep.personal";
/// The id of the serializer of today's events.
const PARTS: u32 = 1_000;
/// One call in this many cannot be said in the older form.
const WITHOUT_OLDER_FORM: u64 = 19;
/// The reason why.
pub(crate) const NO_OLDER_FORM: &str = "an older program has no word for it";

/// True if today's events are stored in the older form, because programs are running that read no other.
pub(crate) static WRITES_OLDER: AtomicBool = AtomicBool::new(false);
/// The folder of the digests of snapshots.
pub(crate) static DIGESTS: OnceLock<PathBuf> = OnceLock::new();

/// Returns the text of an identity: short, long and alike, or long and random.
pub(crate) fn text_of(uid: u64, subject: Option<&str>) -> String {
    let mut text = match subject {
        Some(subject) => format!("{PERSONAL}{uid}~{subject}~"),
        None => format!("{PLAIN}{uid}~"),
    };
    let mut rng = Rng::with_seed(uid);
    match rng.u8(..4) {
        0 => text += &"and so on ".repeat(rng.usize(..300)),
        1 => text.extend((0..rng.usize(..2_000)).map(|_| rng.alphanumeric())),
        _ => {}
    }
    text
}

/// Looks at what was read of a value that has this name, or would have it if it were about a person.
fn look(name: &str, uid: u64, subject: Option<&str>, text: &str) {
    let answered = last_answer();
    let is_right = match subject {
        Some(_) => answered == Some(Answered::Key),
        // That of one before which could not be read may still be there.
        None => matches!(answered, None | Some(Answered::Unknown)),
    };
    if !is_right {
        fault(format!(
            "{name} of {} is read after the keys have answered {answered:?}",
            Uid(uid)
        ));
    }
    if text != text_of(uid, subject) {
        fault(format!("{name} of {} has another text", Uid(uid)));
    }
}

/// Looks at whether something may be shredded.
fn look_at_shredded(what: &Shredded<'_>) {
    let answered = last_answer();
    if answered != Some(Answered::Destroyed) {
        fault(format!(
            "{} {} of {:?} is shredded after the keys have answered {answered:?}",
            what.manifest, what.number, what.persistence_id
        ));
    }
}

/// The contents of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fact {
    /// The uid of the first event of its call.
    pub(crate) first: u64,
    /// The place in its call.
    pub(crate) place: u64,
    /// The command that led to it.
    pub(crate) command: u64,
    pub(crate) subject: Option<String>,
    /// The number of today's events that it is, if it is an older one of several; otherwise 0.
    pub(crate) pieces: u64,
    /// The place among these.
    pub(crate) piece: u64,
    text: String,
}

impl Fact {
    pub(crate) fn new(first: u64, place: u64, command: u64, subject: Option<String>) -> Self {
        Self {
            text: text_of(first + place, subject.as_deref()),
            first,
            place,
            command,
            subject,
            pieces: 0,
            piece: 0,
        }
    }

    /// Returns the same as one that is this number of today's events.
    pub(crate) fn in_pieces(mut self, pieces: u64) -> Self {
        self.pieces = pieces;
        self
    }

    fn name(&self) -> &'static str {
        match &self.subject {
            _ if self.pieces > 0 => SEVERAL,
            None => PLAIN_FACTS[self.place as usize],
            Some(_) => PERSONAL_FACTS[self.place as usize],
        }
    }

    fn looked_at(self, name: &str) -> Self {
        let uid = self.first + self.place;
        look(name, uid, self.subject.as_deref(), &self.text);
        if self.name() != name {
            fault(format!("event {} is stored as {name}", Uid(uid)));
        }
        self
    }
}

/// An event, or what is left of it.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    Fact(Fact),
    /// The key is destroyed.
    Shredded {
        /// The place in its call.
        place: u64,
    },
}

impl Seen {
    fn fact(&self) -> Result<&Fact, &'static str> {
        match self {
            Seen::Fact(fact) => Ok(fact),
            Seen::Shredded { .. } => Err("what is shredded is not stored again"),
        }
    }

    fn subject(&self) -> Option<Cow<'_, str>> {
        self.fact().ok()?.subject.as_deref().map(Cow::Borrowed)
    }

    fn left_of(what: &Shredded<'_>) -> Self {
        look_at_shredded(what);
        let mut names = PERSONAL_FACTS.iter();
        let place = names.position(|name| *name == what.manifest);
        if place.is_none() && what.manifest != SEVERAL {
            fault(format!("{} is shredded", what.manifest));
        }
        Seen::Shredded {
            place: place.unwrap_or(0) as u64,
        }
    }

    /// Returns its identity by the metadata beside it, which has to be that of its command.
    pub(crate) fn uid(&self, metadata: &Metadata) -> Result<Uid, String> {
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
        let first = number(metadata.entry(FIRST));
        let command = number(metadata.correlation_id());
        let (Some(first), Some(command)) = (first, command) else {
            return Err(format!("an event has the metadata {metadata:?}"));
        };
        if metadata.entry(NOTE) != Some(&note_of(command)) {
            return Err(format!(
                "the metadata of command {command} has another note"
            ));
        }
        match self {
            Seen::Fact(fact) if (fact.first, fact.command) != (first, command) => Err(format!(
                "an event of call {} of command {} has the metadata of call {first} of command {command}",
                fact.first, fact.command
            )),
            Seen::Fact(Fact { place, .. }) | Seen::Shredded { place } => Ok(Uid(first + place)),
        }
    }
}

/// The entry of metadata with the first event of the call.
pub(crate) const FIRST: &str = "first";
/// The entry of metadata that follows from the command.
pub(crate) const NOTE: &str = "note";

/// Returns the note of a command.
pub(crate) fn note_of(command: u64) -> String {
    format!("of command {command}")
}

/// A form of the events.
pub(crate) trait Form: Event + From<Fact> {
    /// True if one event of this form holds what several events of today's form hold.
    const SEVERAL: bool;

    fn seen(&self) -> &Seen;
}

/// The older form: by serde.
pub(crate) struct Older(Seen);

/// Today's form: by a serializer of its own.
pub(crate) struct Todays(Seen);

impl From<Fact> for Older {
    fn from(fact: Fact) -> Self {
        Self(Seen::Fact(fact))
    }
}

impl From<Fact> for Todays {
    fn from(fact: Fact) -> Self {
        Self(Seen::Fact(fact))
    }
}

impl From<Older> for Todays {
    fn from(Older(seen): Older) -> Self {
        Self(seen)
    }
}

impl TryFrom<&Todays> for Older {
    type Error = &'static str;

    fn try_from(Todays(seen): &Todays) -> Result<Self, Self::Error> {
        let fact = seen.fact()?;
        if fact.first.is_multiple_of(WITHOUT_OLDER_FORM) {
            return Err(NO_OLDER_FORM);
        }
        Ok(Self(seen.clone()))
    }
}

impl ToPayload for Older {
    fn to_payload(&self, encoder: Encoder<'_>) -> Result<EncodedPayload, EncodeError> {
        // Nothing else is persisted.
        let fact = self.0.fact().expect("a fact");
        encoder.with_manifest(fact.name()).serialize(fact)
    }
}

impl FromPayload for Older {
    const MANIFESTS: &'static [&'static str] = &[
        PLAIN_FACTS[1],
        PLAIN_FACTS[2],
        PLAIN_FACTS[3],
        PERSONAL_FACTS[0],
        PERSONAL_FACTS[1],
        PERSONAL_FACTS[2],
        PERSONAL_FACTS[3],
        SEVERAL,
    ];

    fn from_payload(stored: &Stored<'_>) -> Result<Self, DecodeError> {
        let fact: Fact = stored.decode()?;
        Ok(fact.looked_at(stored.manifest()).into())
    }
}

impl Event for Older {
    const MANIFEST: &'static str = PLAIN_FACTS[0];
    const VERSION: u32 = 1;

    fn data_subject(&self) -> Option<Cow<'_, str>> {
        self.0.subject()
    }

    fn shredded(what: &Shredded<'_>) -> Option<Self> {
        Some(Self(Seen::left_of(what)))
    }
}

impl Form for Older {
    const SEVERAL: bool = true;

    fn seen(&self) -> &Seen {
        &self.0
    }
}

impl ToPayload for Todays {
    fn to_payload(&self, encoder: Encoder<'_>) -> Result<EncodedPayload, EncodeError> {
        // Nothing else is persisted.
        let fact = self.0.fact().expect("a fact");
        let encoder = encoder.with_manifest(fact.name());
        encoder.write::<PARTS>(|mut out| Ok(rmp_serde::encode::write(&mut out, fact)?))
    }
}

impl FromPayload for Todays {
    const MANIFESTS: &'static [&'static str] = &[
        PLAIN_FACTS[1],
        PLAIN_FACTS[2],
        PLAIN_FACTS[3],
        PERSONAL_FACTS[0],
        PERSONAL_FACTS[1],
        PERSONAL_FACTS[2],
        PERSONAL_FACTS[3],
    ];

    fn from_payload(stored: &Stored<'_>) -> Result<Self, DecodeError> {
        let bytes = stored.bytes_of::<PARTS>()?;
        let fact = rmp_serde::from_slice::<Fact>(bytes);
        let fact = fact.map_err(|_| stored.refuse("it is no fact"))?;
        Ok(fact.looked_at(stored.manifest()).into())
    }
}

impl Event for Todays {
    const MANIFEST: &'static str = PLAIN_FACTS[0];
    const VERSION: u32 = 2;

    fn upcasters() -> Upcasters<Self> {
        let older = || Chain::of::<Older>(1);
        let upcasters = Upcasters::new().chain(older());
        let mut upcasters = upcasters.split(SEVERAL, older(), |Older(several)| pieces(several));
        for name in Self::MANIFESTS {
            upcasters = upcasters.chain_of(name, older());
        }
        match WRITES_OLDER.load(Ordering::Relaxed) {
            true => upcasters.writes::<Older>(1),
            false => upcasters,
        }
    }

    fn data_subject(&self) -> Option<Cow<'_, str>> {
        self.0.subject()
    }

    fn shredded(what: &Shredded<'_>) -> Option<Self> {
        Some(Self(Seen::left_of(what)))
    }
}

/// Returns the events of today that an older one is.
fn pieces(several: Seen) -> Vec<Todays> {
    match several {
        Seen::Fact(fact) => {
            let piece = |piece| Fact {
                piece,
                ..fact.clone()
            };
            (0..fact.pieces).map(|at| piece(at).into()).collect()
        }
        shredded => vec![Todays(shredded)],
    }
}

impl Form for Todays {
    const SEVERAL: bool = false;

    fn seen(&self) -> &Seen {
        &self.0
    }
}

/// A snapshot: the sum of all events, and a text.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Shot {
    pub(crate) digest: u64,
    subject: Option<String>,
    text: String,
}

impl Shot {
    pub(crate) fn new(digest: u64, subject: Option<String>) -> Self {
        let text = text_of(digest, subject.as_deref());
        Self {
            digest,
            subject,
            text,
        }
    }
}

/// The stored form of a [`Shot`].
pub(crate) struct StoredShot(pub(crate) Shot);

impl ToPayload for StoredShot {
    fn to_payload(&self, encoder: Encoder<'_>) -> Result<EncodedPayload, EncodeError> {
        match self.0.subject {
            Some(_) => encoder.with_manifest(PERSONAL_SHOT).serialize(&self.0),
            None => encoder.serialize(&self.0),
        }
    }
}

impl FromPayload for StoredShot {
    const MANIFESTS: &'static [&'static str] = &[PERSONAL_SHOT];

    fn from_payload(stored: &Stored<'_>) -> Result<Self, DecodeError> {
        let shot: Shot = stored.decode()?;
        let subject = shot.subject.as_deref();
        look(stored.manifest(), shot.digest, subject, &shot.text);
        Ok(Self(shot))
    }
}

impl Snapshot for StoredShot {
    const MANIFEST: &'static str = "sealed.shot";
    const VERSION: u32 = 1;

    fn data_subject(&self) -> Option<Cow<'_, str>> {
        self.0.subject.as_deref().map(Cow::Borrowed)
    }

    fn shredded(what: &Shredded<'_>) -> Option<Self> {
        look_at_shredded(what);
        let vault = vault_number(what.persistence_id)?;
        if !Policy::of(vault).outlives_keys() {
            return None;
        }
        let digest = std::fs::read_to_string(digest_path(vault, what.number));
        match digest.ok().and_then(|digest| digest.parse().ok()) {
            Some(digest) => Some(Self(Shot::new(digest, None))),
            None => {
                let number = what.number;
                fault(format!("a snapshot of {vault} at {number} was never saved"));
                None
            }
        }
    }
}

/// Returns the file with the digest of a snapshot, for when its key is destroyed.
pub(crate) fn digest_path(vault: u32, number: u64) -> PathBuf {
    let folder = DIGESTS
        .get()
        .expect("the folder is set before actors start");
    folder.join(format!("digest-{vault}-{number}"))
}

/// The snapshots of a vault, and what it deletes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Keeps all events: one whose key is destroyed is passed over.
    KeepsEvents,
    /// Deletes events, and snapshots are about no one.
    AboutNoOne,
    /// Deletes events, and puts another snapshot in the place of one whose key is destroyed.
    OutlivesKeys,
}

impl Policy {
    pub(crate) fn of(vault: u32) -> Self {
        match vault % 3 {
            0 => Policy::KeepsEvents,
            1 => Policy::AboutNoOne,
            _ => Policy::OutlivesKeys,
        }
    }

    pub(crate) fn outlives_keys(self) -> bool {
        self == Policy::OutlivesKeys
    }
}

/// A state; `None` if its key is destroyed.
#[derive(Clone)]
pub(crate) struct Keep(pub(crate) Option<Kept>);

/// The contents of a state.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) uid: u64,
    subject: Option<String>,
    text: String,
}

impl Keep {
    pub(crate) fn new(uid: u64, subject: Option<String>) -> Self {
        let text = text_of(uid, subject.as_deref());
        Self(Some(Kept { uid, subject, text }))
    }
}

impl ToPayload for Keep {
    fn to_payload(&self, encoder: Encoder<'_>) -> Result<EncodedPayload, EncodeError> {
        match &self.0 {
            Some(Kept {
                subject: Some(_), ..
            }) => encoder.with_manifest(PERSONAL_KEEP).serialize(&self.0),
            _ => encoder.serialize(&self.0),
        }
    }
}

impl FromPayload for Keep {
    const MANIFESTS: &'static [&'static str] = &[PERSONAL_KEEP];

    fn from_payload(stored: &Stored<'_>) -> Result<Self, DecodeError> {
        let kept: Kept = stored.decode()?;
        let subject = kept.subject.as_deref();
        look(stored.manifest(), kept.uid, subject, &kept.text);
        Ok(Self(Some(kept)))
    }
}

impl State for Keep {
    const MANIFEST: &'static str = "sealed.keep";
    const VERSION: u32 = 1;

    fn data_subject(&self) -> Option<Cow<'_, str>> {
        self.0.as_ref()?.subject.as_deref().map(Cow::Borrowed)
    }

    fn shredded(what: &Shredded<'_>) -> Option<Self> {
        look_at_shredded(what);
        Some(Self(None))
    }

    fn tags(&self) -> Vec<String> {
        self.0.iter().map(|kept| uid_tag(kept.uid)).collect()
    }
}

/// Returns the tag that names an event or a state.
pub(crate) fn uid_tag(uid: u64) -> String {
    format!("uid-{uid}")
}

/// Returns whether an event has tags of its actor.
pub(crate) fn has_own_tags(uid: u64) -> bool {
    !uid.is_multiple_of(3)
}

/// Returns the tag of a call; none of half of them.
pub(crate) fn tag_of_call(first: u64) -> Option<String> {
    first.is_multiple_of(2).then(|| format!("call-{first}"))
}
