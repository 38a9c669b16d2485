//! Checks MessagePack bytes before serde sees them, without recursion.
//!
//! `rmp-serde` follows the nesting of enums and options on the stack without a limit
//! (<https://github.com/3Hren/msgpack-rust/issues/381>), and ignores bytes after the value.

use crate::HARD_PAYLOAD_LIMIT;

/// The deepest nesting; deeper values are refused, about as by `serde_json`.
pub(super) const MAX_DEPTH: usize = 128;

/// The memory that a value takes, roughly and without the bytes of texts: an empty list is one byte on disk.
const LIST_OR_MAP: usize = 64;
const TEXT_OR_BYTES: usize = 32;
const SCALAR: usize = 8;
/// Payloads that would take more are refused. Lists of six numbers or more never do, such as a `Vec<u8>` of any length.
const MAX_MEMORY: usize = HARD_PAYLOAD_LIMIT * 16;

/// Fails unless the bytes are exactly one well-formed value of bearable depth and number of parts.
pub(super) fn check(bytes: &[u8]) -> Result<(), &'static str> {
    let mut rest = bytes;
    let mut memory = 0_usize;
    // The number of values for which each open container still waits, outermost first.
    let mut open: Vec<u64> = Vec::new();
    loop {
        memory += rest.first().map_or(0, |marker| memory_of(*marker));
        if memory > MAX_MEMORY {
            return Err("too many lists, maps and texts");
        }
        let (children, after) = head(rest)?;
        rest = after;
        if children > 0 {
            if open.len() == MAX_DEPTH {
                return Err("nested too deeply");
            }
            open.push(children);
        } else {
            close_finished(&mut open);
            if open.is_empty() {
                break;
            }
        }
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err("bytes after the value")
    }
}

fn memory_of(marker: u8) -> usize {
    match marker {
        0x80..=0x9f | 0xdc..=0xdf => LIST_OR_MAP,
        0xa0..=0xbf | 0xc4..=0xc9 | 0xd4..=0xdb => TEXT_OR_BYTES,
        _ => SCALAR,
    }
}

/// Counts a finished value in its container, and every container that it finishes in its own.
fn close_finished(open: &mut Vec<u64>) {
    while let Some(left) = open.last_mut() {
        *left -= 1;
        if *left > 0 {
            return;
        }
        open.pop();
    }
}

/// Skips a value's marker and its own bytes; returns the number of values inside it and what follows.
/// See <https://github.com/msgpack/msgpack/blob/master/spec.md>.
fn head(bytes: &[u8]) -> Result<(u64, &[u8]), &'static str> {
    let (&marker, rest) = bytes.split_first().ok_or("cut off")?;
    let (children, skip, rest) = match marker {
        0x00..=0x7f | 0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => (0, 0, rest),
        0x80..=0x8f => (2 * u64::from(marker & 0x0f), 0, rest),
        0x90..=0x9f => (u64::from(marker & 0x0f), 0, rest),
        0xa0..=0xbf => (0, u64::from(marker & 0x1f), rest),
        0xc1 => return Err("a reserved marker"),
        0xcc | 0xd0 => (0, 1, rest),
        0xcd | 0xd1 => (0, 2, rest),
        0xca | 0xce | 0xd2 => (0, 4, rest),
        0xcb | 0xcf | 0xd3 => (0, 8, rest),
        0xd4..=0xd8 => (0, 1 + (1 << (marker - 0xd4)), rest),
        0xc4 | 0xd9 => length(rest, 1).map(|(len, rest)| (0, len, rest))?,
        0xc5 | 0xda => length(rest, 2).map(|(len, rest)| (0, len, rest))?,
        0xc6 | 0xdb => length(rest, 4).map(|(len, rest)| (0, len, rest))?,
        0xc7 => length(rest, 1).map(|(len, rest)| (0, len + 1, rest))?,
        0xc8 => length(rest, 2).map(|(len, rest)| (0, len + 1, rest))?,
        0xc9 => length(rest, 4).map(|(len, rest)| (0, len + 1, rest))?,
        0xdc => length(rest, 2).map(|(len, rest)| (len, 0, rest))?,
        0xdd => length(rest, 4).map(|(len, rest)| (len, 0, rest))?,
        0xde => length(rest, 2).map(|(len, rest)| (2 * len, 0, rest))?,
        0xdf => length(rest, 4).map(|(len, rest)| (2 * len, 0, rest))?,
    };
    let skip = usize::try_from(skip).map_err(|_| "cut off")?;
    Ok((children, rest.get(skip..).ok_or("cut off")?))
}

/// Returns a big-endian length of `width` bytes, and what follows.
fn length(bytes: &[u8], width: usize) -> Result<(u64, &[u8]), &'static str> {
    let (digits, rest) = bytes.split_at_checked(width).ok_or("cut off")?;
    let length = digits
        .iter()
        .fold(0_u64, |sum, &digit| sum << 8 | u64::from(digit));
    Ok((length, rest))
}
