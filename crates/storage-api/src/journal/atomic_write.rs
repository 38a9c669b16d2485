//! The unit that a journal stores whole or not at all.

use crate::{EventRecord, Fence, PersistenceId, SequenceNr, WriterId};

/// Events of one persistence id that are stored together or not at all.
///
/// Never empty; the events have consecutive numbers and one writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtomicWrite {
    persistence_id: PersistenceId,
    fence: Fence,
    events: Vec<EventRecord>,
}

/// The reason why events do not make an [`AtomicWrite`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAtomicWrite {
    /// The write has no events.
    #[error("an atomic write needs at least one event")]
    Empty,
    /// The first number is 0, or one does not follow on the one before.
    #[error("sequence number {found} stands where {expected} should")]
    NotConsecutive {
        /// The number that was due.
        expected: SequenceNr,
        /// The number that stands there.
        found: SequenceNr,
    },
    /// The events of one write have different writers.
    #[error("the events of an atomic write must have one writer")]
    SeveralWriters,
}

impl AtomicWrite {
    /// Checks and takes the events, to be stored where `fence` holds: the epoch that the recovery of their writer
    /// returned, or [`Fence::TakesOver`] for the first write after a look at the id.
    ///
    /// # Errors
    /// [`InvalidAtomicWrite`] for no events, numbers that are not consecutive from 1 up, or several writers.
    pub fn new(
        persistence_id: PersistenceId,
        fence: impl Into<Fence>,
        events: Vec<EventRecord>,
    ) -> Result<Self, InvalidAtomicWrite> {
        let first = events.first().ok_or(InvalidAtomicWrite::Empty)?;
        let (start, writer) = (first.sequence_nr.max(1), first.writer);
        for (expected, event) in (start..).zip(&events) {
            if event.sequence_nr != expected {
                return Err(InvalidAtomicWrite::NotConsecutive {
                    expected,
                    found: event.sequence_nr,
                });
            }
            if event.writer != writer {
                return Err(InvalidAtomicWrite::SeveralWriters);
            }
        }
        Ok(Self {
            persistence_id,
            fence: fence.into(),
            events,
        })
    }

    /// Returns the persistence id of the events.
    pub fn persistence_id(&self) -> &PersistenceId {
        &self.persistence_id
    }

    /// Returns the condition on the epoch of the id.
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// Returns the writer of all the events.
    pub fn writer(&self) -> WriterId {
        self.events[0].writer
    }

    /// Returns the number of the first event.
    pub fn lowest_sequence_nr(&self) -> SequenceNr {
        self.events[0].sequence_nr
    }

    /// Returns the number of the last event.
    pub fn highest_sequence_nr(&self) -> SequenceNr {
        self.events[self.events.len() - 1].sequence_nr
    }

    /// Returns the events in order; at least one.
    pub fn events(&self) -> &[EventRecord] {
        &self.events
    }

    /// Returns the events in order; at least one.
    pub fn into_events(self) -> Vec<EventRecord> {
        self.events
    }

    /// Returns the bytes that count against group limits: payloads and metadata.
    pub fn size(&self) -> usize {
        self.events.iter().map(EventRecord::size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Payload, Timestamp};

    fn event(sequence_nr: SequenceNr, writer: WriterId) -> EventRecord {
        EventRecord::new(
            sequence_nr,
            Timestamp::now(),
            writer,
            Payload::new(0, "", "x"),
        )
    }

    fn write(numbers: &[SequenceNr]) -> Result<AtomicWrite, InvalidAtomicWrite> {
        let events = numbers.iter().map(|&nr| event(nr, WriterId::NIL)).collect();
        AtomicWrite::new(PersistenceId::of("T", "1"), 1, events)
    }

    #[test]
    fn takes_consecutive_events_only() {
        use InvalidAtomicWrite::*;
        let good = write(&[4, 5, 6]).unwrap();
        assert_eq!(
            (good.lowest_sequence_nr(), good.highest_sequence_nr()),
            (4, 6)
        );
        assert_eq!(write(&[]), Err(Empty));
        let gap = NotConsecutive {
            expected: 5,
            found: 6,
        };
        assert_eq!(write(&[4, 6]), Err(gap));
        let zero = NotConsecutive {
            expected: 1,
            found: 0,
        };
        assert_eq!(write(&[0, 1]), Err(zero));
    }

    #[test]
    fn takes_one_writer_only() {
        let events = vec![event(1, WriterId::NIL), event(2, WriterId::random())];
        let refused = AtomicWrite::new(PersistenceId::of("T", "1"), 1, events);
        assert_eq!(refused, Err(InvalidAtomicWrite::SeveralWriters));
    }
}
