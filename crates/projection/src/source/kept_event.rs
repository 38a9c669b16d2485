//! An event as it is kept while its id is parked.

use std::sync::Arc;

use actix_persistence_storage_api::{EventRecord, Payload, Timestamp, WriterId};
use bytes::Bytes;

/// The first byte of every record; another one is another form.
const FORM: u8 = 1;

/// Encodes everything that decoding an event needs, so that it can be handled even if the journal has deleted it since.
///
/// After the form come the number, the time in microseconds and the writer; the payload; the adapter manifest; the number of
/// tags, and each; 1 and the metadata, or 0. A payload is its serializer, its manifest and its bytes. Integers are little-endian,
/// lengths have four bytes.
pub(super) fn encode(event: &EventRecord) -> Bytes {
    let mut bytes = Vec::with_capacity(event.size() + 128);
    bytes.push(FORM);
    bytes.extend(event.sequence_nr.to_le_bytes());
    bytes.extend(event.timestamp.as_micros().to_le_bytes());
    bytes.extend(event.writer.as_bytes());
    add_payload(&mut bytes, &event.payload);
    add(&mut bytes, event.adapter_manifest.as_bytes());
    bytes.extend(length(event.tags.len()));
    for tag in &event.tags {
        add(&mut bytes, tag.as_bytes());
    }
    bytes.push(u8::from(event.metadata.is_some()));
    if let Some(metadata) = &event.metadata {
        add_payload(&mut bytes, metadata);
    }
    bytes.into()
}

/// Returns the event of a record; `None` if it is none, or one of a later form.
pub(super) fn decode(record: &Bytes) -> Option<EventRecord> {
    let mut rest = Rest(record.clone());
    if rest.array::<1>()? != [FORM] {
        return None;
    }
    let number = u64::from_le_bytes(rest.array()?);
    let time = Timestamp::from_micros(i64::from_le_bytes(rest.array()?));
    let writer = WriterId::from_bytes(rest.array()?);
    let mut event = EventRecord::new(number, time, writer, rest.payload()?);
    event.adapter_manifest = rest.text()?;
    for _ in 0..rest.length()? {
        event.tags.push(rest.text()?);
    }
    event.metadata = match rest.array::<1>()? {
        [0] => None,
        _ => Some(rest.payload()?),
    };
    rest.0.is_empty().then_some(event)
}

fn length(length: usize) -> [u8; 4] {
    let length = u32::try_from(length).expect("no part of an event has 4 GiB");
    length.to_le_bytes()
}

fn add(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend(length(part.len()));
    bytes.extend(part);
}

fn add_payload(bytes: &mut Vec<u8>, payload: &Payload) {
    bytes.extend(payload.serializer_id.to_le_bytes());
    add(bytes, payload.manifest.as_bytes());
    add(bytes, &payload.bytes);
}

/// The bytes that are still to be read.
struct Rest(Bytes);

impl Rest {
    fn take(&mut self, length: usize) -> Option<Bytes> {
        (length <= self.0.len()).then(|| self.0.split_to(length))
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.as_ref().try_into().ok()
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.array()?)).ok()
    }

    fn part(&mut self) -> Option<Bytes> {
        let length = self.length()?;
        self.take(length)
    }

    fn text(&mut self) -> Option<Arc<str>> {
        let part = self.part()?;
        std::str::from_utf8(&part).ok().map(Arc::from)
    }

    fn payload(&mut self) -> Option<Payload> {
        let serializer_id = u32::from_le_bytes(self.array()?);
        let manifest = self.text()?;
        Some(Payload::new(serializer_id, manifest, self.part()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events() -> [EventRecord; 2] {
        let writer = WriterId::random();
        let plain = EventRecord::new(7, Timestamp::MIN, writer, Payload::new(2, "a:v1", "{}"));
        let full = EventRecord::new(u64::MAX, Timestamp::MAX, writer, Payload::new(0, "", ""));
        let full = full
            .with_adapter_manifest("ü:v2")
            .with_tags(["vip", ""])
            .with_metadata(Payload::new(u32::MAX, "m", vec![0, 255]));
        [plain, full]
    }

    #[test]
    fn an_event_comes_back_from_its_record_as_it_was_stored() {
        for event in events() {
            assert_eq!(decode(&encode(&event)), Some(event));
        }
    }

    #[test]
    fn a_record_that_is_cut_or_longer_or_of_another_form_is_none() {
        for event in events() {
            let whole = encode(&event);
            for length in 0..whole.len() {
                assert_eq!(decode(&whole.slice(..length)), None, "{length}");
            }
            let longer = [&whole[..], &[0]].concat();
            assert_eq!(decode(&longer.into()), None);
            let other = [&[2], &whole[1..]].concat();
            assert_eq!(decode(&other.into()), None);
        }
    }
}
