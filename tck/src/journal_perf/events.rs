//! The events that are stored, and the check that they are read as they were stored.

use std::sync::Arc;

use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Payload, PersistenceId, SequenceNr, Timestamp,
};

use crate::bytes_like_random::bytes_like_random;
use crate::failure::{CaseResult, expect, expect_eq};
use crate::writer::Writer;

/// The bytes of an event, unless the journal takes smaller ones only.
pub(super) const EVENT_BYTES: usize = 200;

/// Events of one size, each with bytes that no other number and no other id has.
pub(super) struct Events {
    pattern: Vec<u8>,
    manifest: Arc<str>,
}

impl Events {
    /// Makes events of a journal that takes this number of bytes at most.
    pub(super) fn of_at_most(max_event_bytes: Option<usize>) -> Self {
        let size = max_event_bytes.map_or(EVENT_BYTES, |most| most.min(EVENT_BYTES));
        Self {
            pattern: bytes_like_random(size),
            manifest: "tck.bytes:v1".into(),
        }
    }

    /// Returns the events 1 to `count` of a writer, in atomic writes of `events_a_write` events; the last one may have fewer.
    pub(super) fn writes(
        &self,
        writer: &Writer,
        count: u64,
        events_a_write: usize,
    ) -> Vec<AtomicWrite> {
        let events: Vec<_> = (1..=count).map(|nr| self.event(writer, nr)).collect();
        let writes = events.chunks(events_a_write);
        writes
            .map(|events| writer.write_of(events.to_vec()))
            .collect()
    }

    /// Expects the events 1 to `count` of this id, in order.
    pub(super) fn expect_all(
        &self,
        id: &PersistenceId,
        found: &[EventRecord],
        count: u64,
    ) -> CaseResult {
        for (due, event) in (1..).zip(found) {
            let place = format_args!("the number of event {due} of {id}");
            expect_eq(place, event.sequence_nr, due)?;
            let same = event.payload.bytes == self.bytes(id, due);
            expect(
                same,
                format_args!("the bytes of event {due} of {id} as they were written"),
            )?;
        }
        let number = format_args!("the number of events of {id}");
        expect_eq(number, found.len() as u64, count)
    }

    fn event(&self, writer: &Writer, sequence_nr: SequenceNr) -> EventRecord {
        let manifest = Arc::clone(&self.manifest);
        let payload = Payload::new(1_000, manifest, self.bytes(&writer.id, sequence_nr));
        EventRecord::new(sequence_nr, Timestamp::now(), writer.writer, payload)
    }

    fn bytes(&self, id: &PersistenceId, sequence_nr: SequenceNr) -> Vec<u8> {
        let mut bytes = self.pattern.clone();
        let number = sequence_nr.to_be_bytes();
        let own = number.iter().chain(id.as_str().as_bytes());
        for (byte, own) in bytes.iter_mut().zip(own) {
            *byte = *own;
        }
        bytes
    }
}
