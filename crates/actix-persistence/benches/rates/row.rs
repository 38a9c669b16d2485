//! The row that the bare driver and the minimal group commit store: the columns of an event, or of a state.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::notebook::PAYLOAD;

pub(crate) const TIMESTAMP: i64 = 1_700_000_000_000_000;
pub(crate) const SERIALIZER_ID: i64 = 1;
pub(crate) const MANIFEST: &str = "bench.noted:v1";
pub(crate) const WRITER_UUID: &[u8] = &[7; 16];
pub(crate) const TAGS: &str = "[]";
/// The bytes that MessagePack adds to those of a note.
const ENCODING: usize = 2;

/// The table that a row is for, which decides on its last column.
#[derive(Clone, Copy)]
pub(crate) enum Table {
    /// `bare_event`, whose rows are inserted; with the uuid of a writer.
    Events,
    /// `bare_state`, whose rows replace those of the same id; with tags.
    States,
}

pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) number: i64,
    pub(crate) payload: Vec<u8>,
}

impl Row {
    /// Returns the next row of an id, with a number that no other row of this process has.
    pub(crate) fn next(id: usize) -> Self {
        static NEXT: AtomicI64 = AtomicI64::new(1);
        Self {
            id: format!("Notebook|{id}"),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            payload: vec![b'x'; PAYLOAD + ENCODING],
        }
    }
}
