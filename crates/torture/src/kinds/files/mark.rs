//! A program under test marks what it does, line by line, in a file that is written in order with all others.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;

/// The name of the file, in the folder of the database.
pub(crate) const FILE: &str = "marks";

/// A mark: what the program is about to do, or was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A write of this number of events is asked for; `uid` is used for no other one.
    Asked { id: String, uid: u32, events: u32 },
    /// The write is confirmed; this is the number of its last event.
    Stored { id: String, uid: u32, last: u64 },
    /// The write is certainly not stored.
    NotStored { id: String, uid: u32 },
    /// The write may be stored.
    Unsure { id: String, uid: u32 },
    /// A snapshot with this number is confirmed.
    Saved { id: String, number: u64 },
    /// A delete of events up to this number is asked for.
    Deleting { id: String, to: u64 },
    /// The delete is confirmed.
    Deleted { id: String, to: u64 },
    /// The program is about to reset an id, which forgets everything of it.
    Resetting { id: String },
    /// The reset is confirmed.
    Reset { id: String },
    /// A write of a state, or of a tombstone, is asked for.
    StateAsked { id: String, uid: u32, live: bool },
    /// The state is confirmed, with this revision.
    StateStored { id: String, uid: u32, revision: u64 },
    /// The state is certainly not stored.
    StateNotStored { id: String, uid: u32 },
    /// The state may be stored.
    StateUnsure { id: String, uid: u32 },
}

impl Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked { id, uid, events } => write!(f, "asked {id} {uid} {events}"),
            Self::Stored { id, uid, last } => write!(f, "stored {id} {uid} {last}"),
            Self::NotStored { id, uid } => write!(f, "not-stored {id} {uid}"),
            Self::Unsure { id, uid } => write!(f, "unsure {id} {uid}"),
            Self::Saved { id, number } => write!(f, "saved {id} {number}"),
            Self::Deleting { id, to } => write!(f, "deleting {id} {to}"),
            Self::Deleted { id, to } => write!(f, "deleted {id} {to}"),
            Self::Resetting { id } => write!(f, "resetting {id}"),
            Self::Reset { id } => write!(f, "reset {id}"),
            Self::StateAsked { id, uid, live } => {
                write!(f, "state-asked {id} {uid} {}", u8::from(*live))
            }
            Self::StateStored { id, uid, revision } => {
                write!(f, "state-stored {id} {uid} {revision}")
            }
            Self::StateNotStored { id, uid } => write!(f, "state-not-stored {id} {uid}"),
            Self::StateUnsure { id, uid } => write!(f, "state-unsure {id} {uid}"),
        }
    }
}

impl FromStr for Mark {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> anyhow::Result<Self> {
        let mut words = line.split(' ');
        let what = words.next().unwrap_or_default();
        let id = words.next().context("no id")?.to_owned();
        let mut number =
            || -> anyhow::Result<u64> { Ok(words.next().context("too short")?.parse()?) };
        let mut uid = || -> anyhow::Result<u32> { Ok(u32::try_from(number()?)?) };
        Ok(match what {
            "asked" => Self::Asked {
                id,
                uid: uid()?,
                events: uid()?,
            },
            "stored" => Self::Stored {
                id,
                uid: uid()?,
                last: number()?,
            },
            "not-stored" => Self::NotStored { id, uid: uid()? },
            "unsure" => Self::Unsure { id, uid: uid()? },
            "saved" => Self::Saved {
                id,
                number: number()?,
            },
            "deleting" => Self::Deleting { id, to: number()? },
            "deleted" => Self::Deleted { id, to: number()? },
            "resetting" => Self::Resetting { id },
            "reset" => Self::Reset { id },
            "state-asked" => Self::StateAsked {
                id,
                uid: uid()?,
                live: uid()? == 1,
            },
            "state-stored" => Self::StateStored {
                id,
                uid: uid()?,
                revision: number()?,
            },
            "state-not-stored" => Self::StateNotStored { id, uid: uid()? },
            "state-unsure" => Self::StateUnsure { id, uid: uid()? },
            _ => anyhow::bail!("no mark begins with {what:?}"),
        })
    }
}

/// The file of marks, to which a program under test adds.
#[derive(Clone, Debug)]
pub(crate) struct Marks(Arc<Mutex<File>>);

impl Marks {
    /// Goes on at the end of what is there.
    pub(crate) fn open(folder: &Path) -> std::io::Result<Self> {
        let path = folder.join(FILE);
        let file = File::options().append(true).create(true).open(path)?;
        Ok(Self(Arc::new(Mutex::new(file))))
    }

    /// Writes a mark at once, so that it is there whole or not at all.
    ///
    /// # Panics
    /// If it cannot be written: what is not said is not judged.
    pub(crate) fn say(&self, mark: &Mark) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = format!("{mark}\n");
        let written = file.write_all(line.as_bytes());
        written.expect("no fault meets the file of marks");
    }
}

/// The marks in a file.
pub(crate) fn read(text: &str) -> anyhow::Result<Vec<Mark>> {
    text.lines().map(str::parse).collect()
}
