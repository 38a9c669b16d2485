//! The forms in which programs of several versions store the same events and snapshots.
//!
//! The newest program is that of every other kind: [`Stream`](super::stream::Stream) reads all of these.

use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

use super::stream::{Digest, Written};

/// An event in any form.
#[derive(Deserialize)]
pub(super) struct AnyEvent {
    #[serde(default)]
    uid: u64,
    entry: Option<u64>,
}

impl From<AnyEvent> for Written {
    fn from(any: AnyEvent) -> Self {
        let uid = any.entry.unwrap_or(any.uid);
        Self { uid }
    }
}

/// A snapshot in any form.
#[derive(Deserialize)]
pub(super) struct AnySnapshot {
    digest: u64,
    folded: Option<u64>,
}

impl From<AnySnapshot> for Digest {
    fn from(any: AnySnapshot) -> Self {
        let digest = any.folded.unwrap_or(any.digest);
        Self { digest }
    }
}

/// A form of an event.
pub(crate) trait EventForm: Event {
    fn of(uid: u64) -> Self;
    fn uid(&self) -> u64;
}

/// A form of a snapshot.
pub(crate) trait SnapshotForm: Snapshot {
    fn of(digest: u64, last: u64) -> Self;
    fn state(&self) -> u64;
}

/// The first form of an event.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plain {
    uid: u64,
}

/// A form with one more field, which programs of before ignore, and do not write.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Noted {
    uid: u64,
    #[serde(default)]
    note: Option<String>,
}

/// Reads the field under its next name as well, and writes the old one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ready {
    #[serde(alias = "entry")]
    uid: u64,
}

/// A field has another name, which programs of before do not know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Renamed {
    #[serde(alias = "uid")]
    entry: u64,
}

/// A snapshot with one more field.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Counted {
    digest: u64,
    #[serde(default)]
    last: Option<u64>,
}

/// The first form of a snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Bare {
    digest: u64,
}

/// Needs a higher version: programs of before would take the old field for the event.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "AnyEvent")]
pub(crate) struct Raised {
    /// A field without a meaning any more.
    uid: u64,
    entry: u64,
}

impl From<AnyEvent> for Raised {
    fn from(any: AnyEvent) -> Self {
        let Written { uid: entry } = any.into();
        Self { uid: 0, entry }
    }
}

/// A snapshot that needs a higher version, for the same reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "AnySnapshot")]
pub(crate) struct Second {
    /// A field without a meaning any more.
    digest: u64,
    folded: u64,
}

impl From<AnySnapshot> for Second {
    fn from(any: AnySnapshot) -> Self {
        let Digest { digest: folded } = any.into();
        Self { digest: 0, folded }
    }
}

macro_rules! forms {
    ($($form:ident $version:literal $(after $older:literal)?: $of:expr, $uid:expr;)*) => {
        $(
            impl Event for $form {
                const MANIFEST: &'static str = Written::MANIFEST;
                const VERSION: u32 = $version;

                fn upcasters() -> Upcasters<Self> {
                    Upcasters::new()$(.unchanged($older))?
                }
            }

            impl EventForm for $form {
                fn of(uid: u64) -> Self {
                    $of(uid)
                }

                fn uid(&self) -> u64 {
                    $uid(self)
                }
            }
        )*
    };
}

forms! {
    Plain 1: |uid| Self { uid }, |event: &Self| event.uid;
    Noted 1: |uid| Self { uid, note: Some(format!("of {uid}")) }, |event: &Self| event.uid;
    Ready 1: |uid| Self { uid }, |event: &Self| event.uid;
    Renamed 1: |entry| Self { entry }, |event: &Self| event.entry;
    Raised 2 after 1: |entry| Self { uid: 0, entry }, |event: &Self| event.entry;
}

impl Snapshot for Bare {
    const MANIFEST: &'static str = Digest::MANIFEST;
    const VERSION: u32 = 1;
}

impl SnapshotForm for Bare {
    fn of(digest: u64, _: u64) -> Self {
        Self { digest }
    }

    fn state(&self) -> u64 {
        self.digest
    }
}

impl Snapshot for Counted {
    const MANIFEST: &'static str = Digest::MANIFEST;
    const VERSION: u32 = 1;
}

impl SnapshotForm for Counted {
    fn of(digest: u64, last: u64) -> Self {
        Self {
            digest,
            last: Some(last),
        }
    }

    fn state(&self) -> u64 {
        self.digest
    }
}

impl Snapshot for Second {
    const MANIFEST: &'static str = Digest::MANIFEST;
    const VERSION: u32 = 2;

    fn upcasters() -> StateUpcasters<Self> {
        StateUpcasters::new().unchanged(1)
    }
}

impl SnapshotForm for Second {
    fn of(folded: u64, _: u64) -> Self {
        Self { digest: 0, folded }
    }

    fn state(&self) -> u64 {
        self.folded
    }
}

/// A program by its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Version {
    /// The program with the oldest form.
    Plain,
    /// The program with one more field in events and in snapshots, which others do without.
    Noted,
    /// Reads a field of events by its next name, and writes it by the old one.
    Ready,
    /// Writes the next name, and snapshots of the next version.
    Renamed,
    /// Writes events of the next version, too.
    Raised,
    /// Writes other events of that version.
    Newest,
}

impl Version {
    /// The versions, in the order in which they were released.
    pub(crate) const ALL: [Self; 6] = [
        Self::Plain,
        Self::Noted,
        Self::Ready,
        Self::Renamed,
        Self::Raised,
        Self::Newest,
    ];

    /// Returns whether a program of this version reads what one of another has written as events.
    pub(crate) fn reads_events_of(self, other: Self) -> bool {
        match other {
            Self::Plain | Self::Noted | Self::Ready => true,
            Self::Renamed => self >= Self::Ready,
            Self::Raised | Self::Newest => self >= Self::Raised,
        }
    }

    /// Returns whether it may refuse an event that is stored under this manifest: some program has written one so that it cannot
    /// read.
    pub(crate) fn may_refuse_event(self, manifest: &str) -> bool {
        self < if is_second(manifest) {
            Self::Raised
        } else {
            Self::Ready
        }
    }

    /// Returns whether it may refuse a snapshot that is stored under this manifest.
    pub(crate) fn may_refuse_snapshot(self, manifest: &str) -> bool {
        is_second(manifest) && self < Self::Renamed
    }

    /// Returns whether it reads the snapshots of another one.
    pub(crate) fn reads_snapshots_of(self, other: Self) -> bool {
        other < Self::Renamed || self >= Self::Renamed
    }
}

/// Returns whether it is of the second version of a form.
fn is_second(manifest: &str) -> bool {
    manifest.ends_with(":v2")
}
