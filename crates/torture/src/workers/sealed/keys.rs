//! Keys of data subjects in a folder that several processes share, where others make and destroy them at any moment.
//!
//! `key-ID` is a key that was given out, `current-SUBJECT` another name of the same file, and `gone-ID` stands for a key
//! that was destroyed. Nothing is synchronized with the disk: processes are killed here, and no machine.

use std::cell::Cell;
use std::error::Error;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use actix_persistence::payload::{CurrentKey, EncryptionKey, FoundKey, KeyId, KeyStore};
use fastrand::Rng;

use crate::run::hold;

/// The error of a key store that cannot say anything for a moment.
pub(crate) const NOT_NOW: &str = "the keys cannot be read at this moment";
/// The share of questions for a present key that are not answered: one in this many.
const SILENT_ABOUT_SUBJECTS: u32 = 40;
/// The share of questions for the key of an id that are not answered: one in this many.
const SILENT_ABOUT_IDS: u32 = 800;
/// The share of questions for the key of an id for which it is not there for a moment, as if it were lost.
const LOST: u32 = 1_200;
/// The same two of a query, which asks far less often.
const SILENT_TO_QUERIES: u32 = 8;
const LOST_TO_QUERIES: u32 = 20;
/// The bytes of an id.
const ID: usize = 16;

/// The last answer that a key store gave on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// The key was there.
    Key,
    /// The key was destroyed.
    Destroyed,
    /// The key was never there.
    Unknown,
}

thread_local! {
    static LAST_ANSWER: Cell<Option<Answered>> = const { Cell::new(None) };
    static QUERYING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a part of a query, to which keys are silent more often.
pub(crate) fn querying<T>(part: impl FnOnce() -> T) -> T {
    QUERYING.set(true);
    let result = part();
    QUERYING.set(false);
    result
}

/// Returns the answer that the value at hand is read with, and forgets it: each value has to ask again.
pub(crate) fn last_answer() -> Option<Answered> {
    LAST_ANSWER.take()
}

/// Reads the folder for each question, and sometimes fails, or has lost a key for a moment.
pub(crate) struct FolderKeys {
    folder: PathBuf,
    /// Decides which questions fail; none if it is `None`.
    trouble: Option<Mutex<Rng>>,
}

impl FolderKeys {
    pub(crate) fn new(folder: &Path, trouble: Option<Rng>) -> Self {
        Self {
            folder: folder.to_owned(),
            trouble: trouble.map(Mutex::new),
        }
    }

    /// Returns true once in this many times.
    fn happens(&self, share: u32) -> bool {
        let happens = |rng: &Mutex<Rng>| hold(rng).u32(..share) == 0;
        self.trouble.as_ref().is_some_and(happens)
    }

    fn try_now(&self, silent: u32) -> Result<(), Box<dyn Error + Send + Sync>> {
        match self.happens(silent) {
            true => Err(NOT_NOW.into()),
            false => Ok(()),
        }
    }

    /// Makes a key of a subject; `None` if another process was faster.
    fn make(&self, subject: &str) -> io::Result<Option<CurrentKey>> {
        let (key, random) = (EncryptionKey::random()?, EncryptionKey::random()?);
        let id = random.as_bytes()[..ID / 2].iter();
        let id: String = id.map(|byte| format!("{byte:02x}")).collect();
        let path = key_path(&self.folder, &id);
        // Whole under another name, before anyone can find it.
        let begun = self.folder.join(format!("new-{id}"));
        fs::write(&begun, [id.as_bytes(), key.as_bytes()].concat())?;
        fs::rename(&begun, &path)?;
        match fs::hard_link(&path, current_path(&self.folder, subject)) {
            Ok(()) => Ok(Some(CurrentKey {
                id: key_id(&id)?,
                key,
            })),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                fs::remove_file(&path)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl KeyStore for FolderKeys {
    fn current_key(&self, subject: &str) -> Result<CurrentKey, Box<dyn Error + Send + Sync>> {
        self.try_now(SILENT_ABOUT_SUBJECTS)?;
        loop {
            if let Some(bytes) = read(&current_path(&self.folder, subject))? {
                let (id, key) = parsed(&bytes)?;
                return Ok(CurrentKey {
                    id: key_id(&id)?,
                    key,
                });
            }
            if let Some(made) = self.make(subject)? {
                return Ok(made);
            }
        }
    }

    fn find_key(&self, id: &KeyId) -> Result<FoundKey, Box<dyn Error + Send + Sync>> {
        LAST_ANSWER.set(None);
        let (silent, lost) = match QUERYING.get() {
            true => (SILENT_TO_QUERIES, LOST_TO_QUERIES),
            false => (SILENT_ABOUT_IDS, LOST),
        };
        self.try_now(silent)?;
        if self.happens(lost) {
            LAST_ANSWER.set(Some(Answered::Unknown));
            return Ok(FoundKey::Unknown);
        }
        let id = String::from_utf8_lossy(id.as_bytes());
        if let Some(bytes) = read(&key_path(&self.folder, &id))? {
            LAST_ANSWER.set(Some(Answered::Key));
            return Ok(FoundKey::Key(parsed(&bytes)?.1));
        }
        if is_destroyed(&self.folder, &id) {
            LAST_ANSWER.set(Some(Answered::Destroyed));
            return Ok(FoundKey::Destroyed);
        }
        LAST_ANSWER.set(Some(Answered::Unknown));
        Ok(FoundKey::Unknown)
    }
}

/// Destroys one of the present keys; returns whether there was one.
///
/// By one thread only, so that what is destroyed is what was chosen.
pub(crate) fn destroy_any(folder: &Path, rng: &mut Rng) -> io::Result<bool> {
    let mut subjects = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.starts_with("current-")) {
            subjects.push(path);
        }
    }
    subjects.sort();
    let Some(current) = rng.choice(&subjects) else {
        return Ok(false);
    };
    let Some(bytes) = read(current)? else {
        return Ok(false);
    };
    let (id, _) = parsed(&bytes)?;
    // From here on it was destroyed; before the key is gone both may be found.
    fs::write(gone_path(folder, &id), [])?;
    fs::remove_file(key_path(folder, &id))?;
    fs::remove_file(current)?;
    Ok(true)
}

/// Returns whether the key of this id was destroyed.
pub(crate) fn is_destroyed(folder: &Path, id: &str) -> bool {
    gone_path(folder, id).exists()
}

fn key_path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("key-{id}"))
}

fn gone_path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("gone-{id}"))
}

fn current_path(folder: &Path, subject: &str) -> PathBuf {
    folder.join(format!("current-{subject}"))
}

/// Returns what is in a file; `None` if there is none.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn parsed(bytes: &[u8]) -> io::Result<(String, EncryptionKey)> {
    let damaged = || io::Error::new(ErrorKind::InvalidData, "a key is damaged");
    let (id, key) = bytes.split_first_chunk::<ID>().ok_or_else(damaged)?;
    let key = key.try_into().map_err(|_| damaged())?;
    let id = String::from_utf8_lossy(id).into_owned();
    Ok((id, EncryptionKey::new(key)))
}

fn key_id(id: &str) -> io::Result<KeyId> {
    KeyId::new(id.as_bytes()).map_err(io::Error::other)
}
