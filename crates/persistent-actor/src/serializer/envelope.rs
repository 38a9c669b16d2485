//! The bytes around a payload that was compressed or encrypted.
//!
//! A format, the id of the serializer that wrote what is inside, fields of the wrapping, a checksum over all of it, and
//! the bytes. The checksum tells damage without a key, and before anything is looked up or decompressed.

use super::DecodeError;

/// The only format so far.
const FORMAT: u8 = 1;
const CHECKSUM: usize = size_of::<u32>();

/// Begins an envelope around what the serializer with this id wrote.
pub(super) fn begin(inner_id: u32) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    bytes.extend(inner_id.to_be_bytes());
    bytes
}

/// Adds what is inside, after a checksum over that, over the fields before it, and over `place`.
pub(super) fn end(mut fields: Vec<u8>, inside: &[u8], place: &[u8]) -> Vec<u8> {
    let checksum = checksum(&fields, inside, place);
    fields.reserve_exact(CHECKSUM + inside.len());
    fields.extend(checksum.to_be_bytes());
    fields.extend(inside);
    fields
}

/// Returns the number of bytes of an envelope with so many of fields and inside.
#[cfg(feature = "encryption")]
pub(super) fn len(fields: usize, inside: usize) -> usize {
    fields + CHECKSUM + inside
}

fn checksum(fields: &[u8], inside: &[u8], place: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in [fields, inside, place] {
        hasher.update(part);
    }
    hasher.finalize()
}

/// Reads the fields of an envelope one after the other.
pub(super) struct Opening<'a> {
    wrapping: &'static str,
    whole: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Opening<'a> {
    /// Returns the reader of the fields, and the id of the serializer that wrote what is inside.
    pub(super) fn new(wrapping: &'static str, whole: &'a [u8]) -> Result<(Self, u32), DecodeError> {
        let mut opening = Self {
            wrapping,
            whole,
            rest: whole,
        };
        let [format] = opening.array()?;
        if format != FORMAT {
            return Err(opening.malformed("unknown format"));
        }
        let inner_id = opening.number()?;
        Ok((opening, inner_id))
    }

    /// Takes a field of this many bytes.
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (field, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or_else(|| self.malformed("cut off"))?;
        self.rest = rest;
        Ok(field)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let field = self.take(N)?;
        Ok(field.try_into().expect("that many bytes were taken"))
    }

    pub(super) fn number(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }

    /// Returns the fields and what is inside, if the checksum is right.
    pub(super) fn finish(mut self, place: &[u8]) -> Result<(&'a [u8], &'a [u8]), DecodeError> {
        let fields = &self.whole[..self.whole.len() - self.rest.len()];
        let stored = self.number()?;
        if stored != checksum(fields, self.rest, place) {
            return Err(self.malformed("damaged, or moved from another place"));
        }
        Ok((fields, self.rest))
    }

    pub(super) fn malformed(&self, reason: &'static str) -> DecodeError {
        DecodeError::Malformed {
            serializer: self.wrapping.to_owned(),
            reason,
        }
    }
}
