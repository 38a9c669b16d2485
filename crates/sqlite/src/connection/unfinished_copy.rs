//! A copy of the log to the database file that was begun and is not known to be whole: the file may have a part of the log.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, Weak};

use crate::options::Location;

/// The last copy that was begun on a file, if it is unfinished. All connections of this process to a file share it.
#[derive(Clone, Debug)]
pub(super) struct UnfinishedCopy(Arc<OfFile>);

#[derive(Debug, Default)]
struct OfFile {
    /// Held from the note of a copy until the note of its end.
    turn: tokio::sync::Mutex<()>,
    unfinished: Mutex<Option<Unfinished>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfinished {
    /// It is under way, or it is not known which log it was of.
    OfAnyLog,
    /// The file has a part of the log with these salts. If another log is in its place, SQLite has copied all of this one
    /// before.
    OfLog(u64),
}

/// The knowledge about the copy, which nobody changes as long as this is held.
pub(super) struct Known<'a>(MutexGuard<'a, Option<Unfinished>>);

impl Known<'_> {
    /// Returns whether the file may have a part of the log with these salts.
    pub(super) fn is_of(&self, salts: u64) -> bool {
        match *self.0 {
            None => false,
            Some(Unfinished::OfAnyLog) => true,
            Some(Unfinished::OfLog(unfinished)) => unfinished == salts,
        }
    }
}

impl UnfinishedCopy {
    pub(super) fn of(location: &Location) -> Self {
        static FILES: LazyLock<Mutex<HashMap<PathBuf, Weak<OfFile>>>> =
            LazyLock::new(Mutex::default);
        let path = std::path::absolute(&location.path).unwrap_or_else(|_| location.path.clone());
        let mut files = FILES
            .lock()
            .expect("nothing panics while it holds the lock");
        files.retain(|_, file| file.strong_count() > 0);
        let file = files.get(&path).and_then(Weak::upgrade);
        Self(file.unwrap_or_else(|| {
            let file = Arc::new(OfFile::default());
            files.insert(path, Arc::downgrade(&file));
            file
        }))
    }

    /// Waits until no other connection of this process copies the log.
    pub(super) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.0.turn.lock().await
    }

    /// Returns `None` if another connection of this process copies the log.
    pub(super) fn turn_if_free(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        self.0.turn.try_lock().ok()
    }

    /// Notes that a process that has ended left the copy of the log with these salts unfinished.
    pub(super) fn found(&self, salts: u64) {
        let found = Unfinished::OfLog(salts);
        let mut unfinished = self.lock();
        *unfinished = Some(match *unfinished {
            Some(known) if known != found => Unfinished::OfAnyLog,
            _ => found,
        });
    }

    /// Notes that a copy begins.
    pub(super) fn begin(&self) {
        *self.lock() = Some(Unfinished::OfAnyLog);
    }

    /// Notes that a copy has ended, and the file has everything that the log had when it began.
    pub(super) fn is_whole(&self) {
        *self.lock() = None;
    }

    /// Notes that a copy has ended with a part of the log that has these salts; `None` if they are not known.
    pub(super) fn is_in_part(&self, salts: Option<u64>) {
        *self.lock() = Some(salts.map_or(Unfinished::OfAnyLog, Unfinished::OfLog));
    }

    pub(super) fn known(&self) -> Known<'_> {
        Known(self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Unfinished>> {
        let unfinished = self.0.unfinished.lock();
        unfinished.expect("nothing panics while it holds the lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqliteOptions;

    fn of(path: &str) -> UnfinishedCopy {
        UnfinishedCopy::of(&SqliteOptions::new(path).location().unwrap())
    }

    #[test]
    fn a_part_of_a_log_is_no_part_of_the_next_one() {
        let copy = of("parts.db");
        assert!(!copy.known().is_of(1));
        copy.begin();
        assert!(copy.known().is_of(1) && copy.known().is_of(2));
        copy.is_in_part(Some(1));
        assert!(copy.known().is_of(1) && !copy.known().is_of(2));
        copy.is_in_part(None);
        assert!(copy.known().is_of(2));
        copy.is_whole();
        assert!(!copy.known().is_of(1));
    }

    #[test]
    fn what_another_process_left_is_no_news_about_a_copy_that_is_under_way() {
        let copy = of("left.db");
        copy.found(1);
        assert!(copy.known().is_of(1) && !copy.known().is_of(2));
        copy.begin();
        copy.found(1);
        assert!(copy.known().is_of(2));
    }

    #[test]
    fn parts_of_two_logs_may_be_of_any_log() {
        let copy = of("two.db");
        copy.is_in_part(Some(1));
        copy.found(2);
        assert!(copy.known().is_of(1) && copy.known().is_of(2));
    }

    #[test]
    fn all_that_open_a_file_share_what_is_known_of_it() {
        let (one, other) = (of("shared.db"), of("shared.db"));
        one.begin();
        assert!(other.known().is_of(1));
        assert!(!of("another.db").known().is_of(1));
    }
}
