//! Several events in one value, as statements pack them.

use std::sync::Arc;

use actix_persistence_sql::{MOST_BYTES, MOST_TEXT_BYTES, SqlError, to_serializer_id, too_large};
use actix_persistence_storage_api::{EventRecord, Payload, SequenceNr, Timestamp, WriterId};
use bytes::Bytes;

use crate::queries::LARGE_PAYLOAD_BYTES;

/// Takes events out of a packed value: numbers end with a comma, bytes come as many as a number before them said.
///
/// First the number of events, then each: sequence number, timestamp, serializer, serializer of the metadata or
/// nothing, checksum or nothing; the lengths of writer, manifest, adapter manifest, manifest and payload of the
/// metadata, and payload, the two of the metadata empty without any; then these themselves, unless they are too large,
/// the payloads only if they are not large.
pub(super) struct Packed<'a> {
    whole: &'a Bytes,
    rest: &'a [u8],
    events: u64,
}

/// An event out of a packed value.
#[derive(Debug)]
pub(super) struct Unpacked {
    pub(super) event: EventRecord,
    /// The bytes of payload and metadata, even if they are still to be read.
    pub(super) size: usize,
    /// The payloads are still to be read.
    pub(super) is_large: bool,
    /// The sum over the event when it was stored.
    pub(super) checksum: Option<i64>,
}

impl<'a> Packed<'a> {
    /// The payloads will be parts of the value, which lives as long as one of them.
    pub(super) fn new(value: &'a Bytes) -> Result<Self, SqlError> {
        let mut packed = Self::uncounted(value);
        packed.events = packed.number().ok_or_else(torn)?;
        Ok(packed)
    }

    /// Returns the next event; `before` is the one before it, with which it may share its texts.
    pub(super) fn next(
        &mut self,
        before: Option<&EventRecord>,
    ) -> Result<Option<Unpacked>, SqlError> {
        if self.events == 0 {
            return if self.rest.is_empty() {
                Ok(None)
            } else {
                Err(torn())
            };
        }
        self.events -= 1;
        let sequence_nr = self.number().ok_or_else(torn)?;
        let unpacked = self.event(sequence_nr, before);
        unpacked.map(Some).map_err(|error| at(sequence_nr, error))
    }

    /// Takes events out of a value that does not begin with their number.
    pub(super) fn uncounted(value: &'a Bytes) -> Self {
        Self {
            whole: value,
            rest: value,
            events: 0,
        }
    }

    /// True if everything was taken.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes the event with this number, which stands before it; `before` is the one before it.
    pub(super) fn event(
        &mut self,
        sequence_nr: SequenceNr,
        before: Option<&EventRecord>,
    ) -> Result<Unpacked, SqlError> {
        let timestamp = self.integer().ok_or_else(torn)?.ok_or_else(torn)?;
        let serializer_id = self.integer().ok_or_else(torn)?.ok_or_else(torn)?;
        let metadata_serializer_id = self.integer().ok_or_else(torn)?;
        let checksum = self.integer().ok_or_else(torn)?;
        let [writer, manifest, adapter_manifest] = [self.length()?, self.length()?, self.length()?];
        let [metadata_manifest, metadata] = match metadata_serializer_id {
            Some(_) => [self.length()?, self.length()?],
            None => [self.no_length()?, self.no_length()?],
        };
        let payload = self.length()?;
        let size = payload.saturating_add(metadata);
        let is_large = size > LARGE_PAYLOAD_BYTES;
        let texts = [writer, manifest, adapter_manifest, metadata_manifest];
        let texts = texts.into_iter().fold(0, usize::saturating_add);
        if size > MOST_BYTES || texts > MOST_TEXT_BYTES {
            return Err(too_large(size.saturating_add(texts) as u64));
        }

        let writer = self.bytes(writer)?;
        let writer = WriterId::from_slice(writer).ok_or_else(|| {
            SqlError::corrupt(format!(
                "a writer id has {} bytes instead of 16",
                writer.len()
            ))
        })?;
        let manifest = self.text(manifest, before.map(|event| &event.payload.manifest))?;
        let adapter_manifest = self.text(
            adapter_manifest,
            before.map(|event| &event.adapter_manifest),
        )?;
        let metadata_manifest = self.text(metadata_manifest, None)?;
        let metadata = self.payload(metadata, is_large)?;
        let payload = Payload {
            serializer_id: to_serializer_id(serializer_id)?,
            manifest,
            bytes: self.payload(payload, is_large)?,
        };

        let timestamp = Timestamp::from_micros(timestamp);
        let mut event = EventRecord::new(sequence_nr, timestamp, writer, payload);
        event.adapter_manifest = adapter_manifest;
        if let Some(serializer_id) = metadata_serializer_id {
            let serializer_id = to_serializer_id(serializer_id)?;
            event.metadata = Some(Payload::new(serializer_id, metadata_manifest, metadata));
        }
        Ok(Unpacked {
            event,
            size,
            is_large,
            checksum,
        })
    }

    pub(super) fn integer(&mut self) -> Option<Option<i64>> {
        take_integer(&mut self.rest)
    }

    /// Returns a number that is there and not negative.
    pub(super) fn number(&mut self) -> Option<u64> {
        u64::try_from(self.integer()??).ok()
    }

    pub(super) fn length(&mut self) -> Result<usize, SqlError> {
        let length = self.number().ok_or_else(torn)?;
        usize::try_from(length).map_err(|_| torn())
    }

    /// Returns the place of a length where there must be none.
    fn no_length(&mut self) -> Result<usize, SqlError> {
        match self.integer() {
            Some(None) => Ok(0),
            _ => Err(torn()),
        }
    }

    pub(super) fn bytes(&mut self, length: usize) -> Result<&'a [u8], SqlError> {
        take_bytes(&mut self.rest, length)
    }

    fn payload(&mut self, length: usize, is_large: bool) -> Result<Bytes, SqlError> {
        if is_large {
            return Ok(Bytes::new());
        }
        Ok(self.whole.slice_ref(self.bytes(length)?))
    }

    /// Returns the text of the event before, if it is the same: most events of an id share theirs.
    fn text(&mut self, length: usize, before: Option<&Arc<str>>) -> Result<Arc<str>, SqlError> {
        let bytes = self.bytes(length)?;
        match before {
            Some(before) if before.as_bytes() == bytes => Ok(Arc::clone(before)),
            _ => Ok(Arc::from(to_text(bytes)?)),
        }
    }
}

/// Takes the tags of events out of a packed value: for each a number of its event and its length, then the tag itself.
pub(super) struct PackedTags<'a>(pub(super) &'a [u8]);

impl<'a> PackedTags<'a> {
    /// Returns the next tag after the number of its event.
    pub(super) fn next(&mut self) -> Result<Option<(i64, &'a str)>, SqlError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let mut integer = || take_integer(&mut self.0)?;
        let (number, length) = (integer().ok_or_else(torn)?, integer().ok_or_else(torn)?);
        let length = usize::try_from(length).map_err(|_| torn())?;
        let tag = take_bytes(&mut self.0, length).and_then(to_text);
        tag.map(|tag| Some((number, tag)))
    }
}

/// Takes a number up to the next comma, `Some(None)` if nothing stands before it.
fn take_integer(rest: &mut &[u8]) -> Option<Option<i64>> {
    let is_negative = rest.first() == Some(&b'-');
    let first = usize::from(is_negative);
    // Below zero, where there is one number more.
    let mut below: i64 = 0;
    for (at, byte) in rest.iter().enumerate().skip(first) {
        match byte {
            b'0'..=b'9' => {
                below = below.checked_mul(10)?.checked_sub(i64::from(byte - b'0'))?;
            }
            b',' if at > first => {
                *rest = &rest[at + 1..];
                let number = if is_negative {
                    below
                } else {
                    below.checked_neg()?
                };
                return Some(Some(number));
            }
            b',' if !is_negative => {
                *rest = &rest[1..];
                return Some(None);
            }
            _ => return None,
        }
    }
    None
}

fn take_bytes<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], SqlError> {
    let (bytes, after) = rest.split_at_checked(length).ok_or_else(torn)?;
    *rest = after;
    Ok(bytes)
}

pub(super) fn to_text(bytes: &[u8]) -> Result<&str, SqlError> {
    std::str::from_utf8(bytes).map_err(|_| SqlError::corrupt("a text is not UTF-8".to_owned()))
}

pub(super) fn torn() -> SqlError {
    SqlError::corrupt("a value is missing or has another type".to_owned())
}

/// Says which event cannot be read.
fn at(sequence_nr: SequenceNr, error: SqlError) -> SqlError {
    match error {
        SqlError::Refused {
            kind,
            message,
            source,
        } => SqlError::Refused {
            kind,
            message: format!("sequence number {sequence_nr}: {message}"),
            source,
        },
        database => database,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITER: &str = "wwwwwwwwwwwwwwww";

    fn unpack(value: &[u8]) -> Result<Vec<Unpacked>, SqlError> {
        let value = Bytes::copy_from_slice(value);
        let mut packed = Packed::new(&value)?;
        let mut events: Vec<Unpacked> = Vec::new();
        while let Some(next) = packed.next(events.last().map(|last| &last.event))? {
            events.push(next);
        }
        Ok(events)
    }

    #[test]
    fn bytes_may_hold_commas_digits_and_anything_else() {
        let value = format!(
            "2,7,-5,1,,9,16,1,0,,,4,{WRITER}m1,2\x008,6,1,2,,16,1,2,1,2,0,{WRITER}m1,n\x01\x02"
        );
        let events = unpack(value.as_bytes()).unwrap();
        let [first, second] = events.as_slice() else {
            unreachable!("two events: {events:?}")
        };
        assert_eq!(first.event.sequence_nr, 7);
        assert_eq!(first.event.timestamp.as_micros(), -5);
        assert_eq!(&*first.event.payload.bytes, b"1,2\0");
        assert_eq!((first.size, first.is_large), (4, false));
        assert_eq!((first.checksum, second.checksum), (Some(9), None));

        assert_eq!(&*second.event.adapter_manifest, "1,");
        let metadata = second.event.metadata.as_ref().unwrap();
        assert_eq!((metadata.serializer_id, &*metadata.manifest), (2, "n"));
        assert_eq!(&*metadata.bytes, [1, 2]);
        assert!(second.event.payload.is_empty());
        let (one, two) = (
            &first.event.payload.manifest,
            &second.event.payload.manifest,
        );
        assert!(Arc::ptr_eq(one, two));
    }

    #[test]
    fn large_payloads_are_left_to_be_read() {
        let value = format!("1,7,0,1,,,16,1,0,,,{},{WRITER}m", LARGE_PAYLOAD_BYTES + 1);
        let events = unpack(value.as_bytes()).unwrap();
        assert!(events[0].is_large && events[0].event.payload.is_empty());
        assert_eq!(events[0].size, LARGE_PAYLOAD_BYTES + 1);
    }

    #[test]
    fn what_is_too_large_is_refused_by_its_length() {
        for lengths in [
            format!("16,1,0,,,{}", MOST_BYTES + 1),
            format!("16,{MOST_TEXT_BYTES},0,,,1"),
            format!("16,1,0,,,{}", i64::MAX),
        ] {
            let value = format!("1,7,0,1,,,{lengths},");
            let text = format!("{:?}", unpack(value.as_bytes()).unwrap_err());
            assert!(text.contains("sequence number 7: it has"), "{text}");
        }
    }

    #[test]
    fn every_number_is_read_and_nothing_else() {
        let rest = b"rest".as_slice();
        for number in [0, 1, -1, 42, i64::MAX, i64::MAX - 1, i64::MIN, i64::MIN + 1] {
            let text = format!("{number},rest");
            let mut bytes = text.as_bytes();
            assert_eq!(take_integer(&mut bytes), Some(Some(number)));
            assert_eq!(bytes, rest);
        }
        let mut nothing = b",rest".as_slice();
        assert_eq!((take_integer(&mut nothing), nothing), (Some(None), rest));
        for text in [
            "",
            "1",
            "-",
            "-,",
            "1-,",
            "1a,",
            " 1,",
            "9223372036854775808,",
            "-9223372036854775809,",
        ] {
            assert_eq!(take_integer(&mut text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn no_events_are_no_events() {
        assert!(unpack(b"0,").unwrap().is_empty());
    }

    #[test]
    fn what_is_torn_anywhere_is_refused() {
        let value = format!("1,7,-5,1,2,3,16,1,1,1,1,4,{WRITER}maMPbody");
        assert!(unpack(value.as_bytes()).is_ok());
        for end in 0..value.len() {
            assert!(unpack(&value.as_bytes()[..end]).is_err(), "up to {end}");
        }
        let longer = value.clone() + "x";
        assert!(unpack(longer.as_bytes()).is_err());
        let not_utf8 = value.replace("ma", "m\u{fffd}");
        let mut not_utf8 = not_utf8.into_bytes();
        not_utf8.retain(|byte| *byte != 0xbf);
        assert!(unpack(&not_utf8).is_err());
    }
}
