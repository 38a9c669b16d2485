//! Records in the file: each in a frame that shows whether it is whole.
//!
//! | Bytes | What |
//! |---|---|
//! | 4 | [`MAGIC`], so that frames are found again after damage |
//! | 4 | the CRC-32 of the frame's own position and of all that follows |
//! | 8 | the position of the first frame of its append |
//! | 8 | the length of the body |
//! | n | the body: one [`Record`](crate::record::Record) |
//!
//! A checksum over the position makes a frame valid at its place only, and not within the payload of another.
//! The module [`scan`](crate::scan) says why each names the append to which it belongs.

use std::io::{self, ErrorKind, Read};

use bytes::{Buf, BufMut, Bytes};
use crc32fast::Hasher;

/// The first bytes of every frame; the very first never occurs in a text.
pub(crate) const MAGIC: [u8; 4] = [0xfe, b'R', b'E', b'C'];
const HEAD: usize = 4 + 4 + 8 + 8;

/// A frame that was found whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The start of the append that wrote it.
    pub(crate) append: u64,
    /// The record in the frame.
    pub(crate) body: Bytes,
}

impl Frame {
    /// Returns the number of bytes that it takes in the file.
    pub(crate) fn len(&self) -> u64 {
        (HEAD + self.body.len()) as u64
    }
}

/// Adds the frame that will stand at `position` of the file.
pub(crate) fn put(out: &mut Vec<u8>, position: u64, append: u64, body: &[u8]) {
    out.put_slice(&MAGIC);
    out.put_u32(checksum(position, append, body));
    out.put_u64(append);
    out.put_u64(body.len() as u64);
    out.put_slice(body);
}

/// Reads the frame at `position`, where the reader stands; `left` is the number of bytes that the file has from there
/// on.
///
/// `None` if there is no whole frame.
pub(crate) fn read(reader: &mut impl Read, position: u64, left: u64) -> io::Result<Option<Frame>> {
    let mut head = [0; HEAD];
    if left < HEAD as u64 || !fill(reader, &mut head)? {
        return Ok(None);
    }
    let (magic, mut head) = head.split_at(MAGIC.len());
    let (sum, append, length) = (head.get_u32(), head.get_u64(), head.get_u64());
    // A damaged length is no reason to ask for memory.
    if magic != MAGIC || length > left - HEAD as u64 {
        return Ok(None);
    }
    let mut body = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    let whole = fill(reader, &mut body)? && sum == checksum(position, append, &body);
    Ok(whole.then(|| Frame {
        append,
        body: body.into(),
    }))
}

fn checksum(position: u64, append: u64, body: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    for number in [position, append, body.len() as u64] {
        hasher.update(&number.to_be_bytes());
    }
    hasher.update(body);
    hasher.finalize()
}

/// False if the file ends before.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes() -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, 100, 80, b"a record");
        bytes
    }

    fn frame_in(bytes: &[u8], position: u64) -> Option<Frame> {
        read(&mut &bytes[..], position, bytes.len() as u64).unwrap()
    }

    #[test]
    fn a_whole_frame_is_read_and_what_follows_is_left() {
        let mut followed = bytes();
        let length = followed.len() as u64;
        followed.extend([0; 50]);
        let frame = frame_in(&followed, 100).unwrap();
        assert_eq!(
            (frame.append, &frame.body[..], frame.len()),
            (80, &b"a record"[..], length)
        );
    }

    #[test]
    fn a_frame_cut_short_or_changed_in_any_bit_is_none() {
        let bytes = bytes();
        for length in 0..bytes.len() {
            assert_eq!(frame_in(&bytes[..length], 100), None, "{length}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(frame_in(&changed, 100), None, "bit {bit}");
        }
    }

    #[test]
    fn a_frame_is_valid_at_its_own_place_only() {
        assert!(frame_in(&bytes(), 100).is_some());
        assert_eq!(frame_in(&bytes(), 101), None);
    }
}
