//! A copy of the log to the database file that was begun and is not known to be whole: the file may have a part of the log.

use std::sync::{Arc, Mutex, MutexGuard};

/// The last copy that was begun on a file, if it is unfinished; all connections of this process that write there share it.
#[derive(Clone, Debug, Default)]
pub(super) struct UnfinishedCopy(Arc<Mutex<Copies>>);

#[derive(Debug, Default)]
struct Copies {
    /// The number of copies that were begun.
    begun: u64,
    unfinished: Option<Unfinished>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfinished {
    /// It is under way, or it is not known which log it was of.
    OfAnyLog,
    /// The file has a part of the log with these salts. If there is another log in its place, SQLite has copied all of
    /// this one before.
    OfLog(u64),
}

/// The number of a copy. A copy that was begun before the last one says nothing about that.
#[derive(Clone, Copy, Debug)]
pub(super) struct CopyNr(u64);

impl UnfinishedCopy {
    /// Notes that a process that has ended left the copy of the log with these salts unfinished.
    pub(super) fn found(&self, salts: u64) {
        let mut copies = self.lock();
        copies.unfinished.get_or_insert(Unfinished::OfLog(salts));
    }

    /// Notes that a copy begins.
    pub(super) fn begin(&self) -> CopyNr {
        let mut copies = self.lock();
        copies.begun += 1;
        copies.unfinished = Some(Unfinished::OfAnyLog);
        CopyNr(copies.begun)
    }

    /// Notes that a copy has ended, and the file has everything that the log had when it began.
    pub(super) fn is_whole(&self, copy: CopyNr) {
        self.end(copy, None);
    }

    /// Notes that a copy has ended with a part of the log that has these salts now; `None` if they are not known.
    pub(super) fn is_in_part(&self, copy: CopyNr, salts: Option<u64>) {
        let left = salts.map_or(Unfinished::OfAnyLog, Unfinished::OfLog);
        self.end(copy, Some(left));
    }

    fn end(&self, copy: CopyNr, left: Option<Unfinished>) {
        let mut copies = self.lock();
        if copies.begun == copy.0 {
            copies.unfinished = left;
        }
    }

    /// Returns whether the file may have a part of the log with these salts.
    pub(super) fn is_of(&self, salts: u64) -> bool {
        match self.lock().unfinished {
            None => false,
            Some(Unfinished::OfAnyLog) => true,
            Some(Unfinished::OfLog(unfinished)) => unfinished == salts,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Copies> {
        self.0
            .lock()
            .expect("nothing panics while it holds the lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_unfinished_until_the_last_one_that_was_begun_is_whole() {
        let copy = UnfinishedCopy::default();
        assert!(!copy.is_of(1));
        let (first, second) = (copy.begin(), copy.begin());
        copy.is_whole(first);
        assert!(copy.is_of(1));
        copy.is_in_part(second, Some(1));
        copy.is_whole(first);
        assert!(copy.is_of(1));
        let third = copy.begin();
        copy.is_whole(third);
        assert!(!copy.is_of(1));
    }

    #[test]
    fn a_part_of_a_log_is_no_part_of_the_next_one() {
        let copy = UnfinishedCopy::default();
        copy.is_in_part(copy.begin(), Some(1));
        assert!(copy.is_of(1) && !copy.is_of(2));
        copy.is_in_part(copy.begin(), None);
        assert!(copy.is_of(1) && copy.is_of(2));
    }

    #[test]
    fn what_another_process_left_is_no_news_about_a_copy_that_is_under_way() {
        let copy = UnfinishedCopy::default();
        copy.found(1);
        assert!(copy.is_of(1) && !copy.is_of(2));
        let begun = copy.begin();
        copy.found(1);
        assert!(copy.is_of(2));
        copy.is_whole(begun);
        assert!(!copy.is_of(1));
    }
}
