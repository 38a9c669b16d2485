//! The note beside a database with the number of transactions that were confirmed.

/// The content of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// The least number of transactions there were.
    pub(crate) commits: u64,
    /// True if they were on the disk.
    pub(crate) is_durable: bool,
}

impl Note {
    /// Returns the note in a text; `None` if it is cut, or no note; a note with a wrong checksum may pass here.
    pub(crate) fn of(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.strip_suffix('\n')?;
        let rest = text.strip_prefix("actix-persistence position 1 ")?;
        let mut words = rest.split_whitespace();
        let _database = words.next()?;
        let commits = words.next()?.parse().ok()?;
        let is_durable = words.next()? == "full";
        words.next()?;
        Some(Self {
            commits,
            is_durable,
        })
    }
}
