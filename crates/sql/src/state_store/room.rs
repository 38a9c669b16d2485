//! The number of states that fit into a page.

use actix_persistence_storage_api::StateRecord;

/// The bytes of payloads in a page.
#[derive(Debug)]
pub(super) struct Room {
    used: usize,
    limit: usize,
    is_empty: bool,
}

impl Room {
    /// Makes an empty page for this many bytes.
    pub(super) fn of(limit: usize) -> Self {
        Self {
            used: 0,
            limit,
            is_empty: true,
        }
    }

    /// Returns whether the page takes one state more: the first one it takes whatever its size.
    ///
    /// A statement leaves out only what comes after a state that is not taken here: so a reader that got everything
    /// that it found knows that there is no more.
    pub(super) fn takes(&mut self, state: Option<&StateRecord>) -> bool {
        let size = state.map_or(0, |state| state.payload.len());
        let used = self.used.saturating_add(size);
        if !self.is_empty && used > self.limit {
            return false;
        }
        self.used = used;
        self.is_empty = false;
        true
    }
}
