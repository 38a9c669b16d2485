//! The records of a journal, in the form they have in the file.

use actix_persistence_storage_api::{
    Epoch, EventRecord, PersistenceId, SequenceNr, Timestamp, WriterId,
};
use bytes::{BufMut, Bytes};

use crate::encoding::{Decoder, put_bytes, put_optional_payload, put_payload};

const TAKEN_OVER: u8 = 1;
const WRITTEN: u8 = 2;
const DELETED: u8 = 3;
const PURGE: u8 = 4;

/// A step in the history of one persistence id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// A writer took over the id.
    TakenOver {
        id: PersistenceId,
        epoch: Epoch,
        writer: WriterId,
    },
    /// An atomic write was stored, and its writer took the id over with it if there is an epoch.
    ///
    /// One record, so that what a crash leaves of it is both or neither.
    Written {
        id: PersistenceId,
        taken_over: Option<Epoch>,
        events: Vec<EventRecord>,
    },
    /// The events up to `to` were deleted.
    Deleted { id: PersistenceId, to: SequenceNr },
    /// Every event was deleted, numbers start again, and the writer that had the id lost it.
    Purge { id: PersistenceId, epoch: Epoch },
}

impl Record {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Record::TakenOver { id, epoch, writer } => {
                out.put_u8(TAKEN_OVER);
                put_bytes(&mut out, id.as_str().as_bytes());
                out.put_u64(*epoch);
                put_bytes(&mut out, writer.as_bytes());
            }
            Record::Written {
                id,
                taken_over,
                events,
            } => {
                out.put_u8(WRITTEN);
                put_bytes(&mut out, id.as_str().as_bytes());
                // An id is never taken over at epoch 0.
                out.put_u64(taken_over.unwrap_or(0));
                out.put_u64(events.len() as u64);
                for event in events {
                    put_event(&mut out, event);
                }
            }
            Record::Deleted { id, to } => {
                out.put_u8(DELETED);
                put_bytes(&mut out, id.as_str().as_bytes());
                out.put_u64(*to);
            }
            Record::Purge { id, epoch } => {
                out.put_u8(PURGE);
                put_bytes(&mut out, id.as_str().as_bytes());
                out.put_u64(*epoch);
            }
        }
        out
    }

    /// `None` for bytes that [`encode`](Self::encode) never returns.
    pub(crate) fn decode(bytes: Bytes) -> Option<Self> {
        let mut decoder = Decoder::new(bytes);
        let kind = decoder.u8()?;
        let id = decoder.persistence_id()?;
        let record = match kind {
            TAKEN_OVER => Record::TakenOver {
                id,
                epoch: decoder.u64()?,
                writer: decoder.writer()?,
            },
            WRITTEN => {
                let epoch = decoder.u64()?;
                let count = decoder.u64()?;
                let events: Option<Vec<_>> = (0..count).map(|_| event(&mut decoder)).collect();
                Record::Written {
                    id,
                    taken_over: (epoch > 0).then_some(epoch),
                    events: events.filter(|events| !events.is_empty())?,
                }
            }
            DELETED => Record::Deleted {
                id,
                to: decoder.u64()?,
            },
            PURGE => Record::Purge {
                id,
                epoch: decoder.u64()?,
            },
            _ => return None,
        };
        decoder.end()?;
        Some(record)
    }
}

/// Every field, the adapter's manifest beside the serializer's: J-WRITE-7.
fn put_event(out: &mut Vec<u8>, event: &EventRecord) {
    out.put_u64(event.sequence_nr);
    out.put_i64(event.timestamp.as_micros());
    put_bytes(out, event.writer.as_bytes());
    put_payload(out, &event.payload);
    put_bytes(out, event.adapter_manifest.as_bytes());
    out.put_u64(event.tags.len() as u64);
    for tag in &event.tags {
        put_bytes(out, tag.as_bytes());
    }
    put_optional_payload(out, event.metadata.as_ref());
}

fn event(decoder: &mut Decoder) -> Option<EventRecord> {
    let sequence_nr = decoder.u64()?;
    let timestamp = Timestamp::from_micros(decoder.i64()?);
    let writer = decoder.writer()?;
    let payload = decoder.payload()?;
    let mut event = EventRecord::new(sequence_nr, timestamp, writer, payload)
        .with_adapter_manifest(decoder.text()?);
    for _ in 0..decoder.u64()? {
        event.tags.push(decoder.text()?);
    }
    event.metadata = decoder.optional_payload()?;
    Some(event)
}

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::Payload;

    use super::*;

    fn records() -> [Record; 5] {
        let id = PersistenceId::of("Account", "1");
        let (writer, to, epoch) = (WriterId::random(), 7, 2);
        let payload = Payload::new(2, "bank.account:v1", "{}");
        let event = EventRecord::new(1, Timestamp::from_micros(-1), writer, payload.clone())
            .with_adapter_manifest("adapter")
            .with_tags(["green", ""])
            .with_metadata(payload);
        let mut second = event.clone();
        second.sequence_nr = 2;
        let events = vec![event, second];
        let written = Record::Written {
            id: id.clone(),
            taken_over: None,
            events: events.clone(),
        };
        let taken_over = Record::Written {
            id: id.clone(),
            taken_over: Some(epoch),
            events,
        };
        let deleted = Record::Deleted { id: id.clone(), to };
        let purge = Record::Purge {
            id: id.clone(),
            epoch,
        };
        [
            Record::TakenOver { id, epoch, writer },
            written,
            taken_over,
            deleted,
            purge,
        ]
    }

    #[test]
    fn a_record_comes_back_as_it_was() {
        for record in records() {
            assert_eq!(Record::decode(record.encode().into()), Some(record));
        }
    }

    #[test]
    fn bytes_that_are_no_record_are_not_taken_for_one() {
        for record in records() {
            let bytes = record.encode();
            for length in 0..bytes.len() {
                let cut = Bytes::copy_from_slice(&bytes[..length]);
                assert_eq!(Record::decode(cut), None);
            }
            let longer = [&bytes[..], &[0]].concat();
            assert_eq!(Record::decode(longer.into()), None);
        }
        assert_eq!(Record::decode(Bytes::from_static(&[9; 40])), None);
    }
}
