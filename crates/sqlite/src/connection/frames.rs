//! The frames of a write-ahead log, read around SQLite: <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>.
//!
//! SQLite locks nothing in this file, so that closing it takes no lock away from the connections of this process.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use crate::options::Location;

pub(super) const HEADER_BYTES: u64 = 32;
pub(super) const FRAME_HEADER_BYTES: u64 = 24;
/// The number with which a log begins. Its last bit says how the words are read of which checksums are made.
const MAGIC: u32 = 0x377f_0682;

/// The file of a log.
#[derive(Clone, Debug)]
pub(super) struct LogFile(Arc<File>);

/// The beginning of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The salts of the log: others each time the log is begun anew, before any frame of the one before is overwritten.
    pub(super) salts: u64,
    page_bytes: u64,
    is_big_endian: bool,
    sum: Sum,
}

/// The beginning of a frame.
struct FrameHeader([u8; FRAME_HEADER_BYTES as usize]);

/// A checksum, which each frame goes on with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum(u32, u32);

impl LogFile {
    /// Returns None if there is no log.
    pub(super) fn open(location: &Location) -> io::Result<Option<Self>> {
        let mut path = location.path.clone().into_os_string();
        path.push("-wal");
        match File::open(path) {
            Ok(file) => Ok(Some(Self(Arc::new(file)))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes everything that is written so far safe, by any process.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    /// Returns whether there is no log in the file, as SQLite leaves it after it has copied everything.
    pub(super) fn is_empty(&self) -> bool {
        let metadata = self.0.metadata();
        metadata.is_ok_and(|metadata| metadata.len() < HEADER_BYTES)
    }

    /// Returns None where SQLite does not take it for one, and the whole log for empty.
    pub(super) fn header(&self) -> io::Result<Option<Header>> {
        let mut bytes = [0; HEADER_BYTES as usize];
        if !self.read(0, &mut bytes)? {
            return Ok(None);
        }
        let is_big_endian = word(&bytes, 0) == MAGIC + 1;
        let sum = Sum(word(&bytes, 24), word(&bytes, 28));
        let is_whole = Sum::default().of(&bytes[..24], is_big_endian) == sum;
        let page_bytes = u64::from(word(&bytes, 8));
        let is_page = page_bytes.is_power_of_two() && (512..=65_536).contains(&page_bytes);
        let is_log = is_big_endian || word(&bytes, 0) == MAGIC;
        Ok((is_log && is_page && is_whole).then(|| Header {
            salts: u64::from(word(&bytes, 16)) << 32 | u64::from(word(&bytes, 20)),
            page_bytes,
            is_big_endian,
            sum,
        }))
    }

    /// Returns the number of the first frame after this one that ends a transaction, counted from 1, or None if no such
    /// frame of this log is there.
    ///
    /// Frames are not read whole. One that no transaction of before has published may be overwritten later.
    pub(super) fn next_commit(&self, header: &Header, after: u32) -> io::Result<Option<u32>> {
        for number in after + 1.. {
            match self.frame(header, number)? {
                Some(frame) if frame.ends_transaction() => return Ok(Some(number)),
                Some(_) => {}
                None => break,
            }
        }
        Ok(None)
    }

    /// Returns whether the file holds such a frame of this log, whole or not.
    pub(super) fn has_frame(&self, header: &Header, number: u32) -> io::Result<bool> {
        Ok(self.frame(header, number)?.is_some())
    }

    /// Returns the number of frames up to the end of the last transaction that SQLite finds in this log. It stops as soon
    /// as there are this many.
    pub(super) fn committed(&self, header: &Header, enough: u32) -> io::Result<u32> {
        let mut page = vec![0; usize::try_from(header.page_bytes).unwrap_or(0)];
        let (mut sum, mut committed) = (header.sum, 0);
        for number in 1.. {
            let Some(frame) = self.frame(header, number)? else {
                break;
            };
            let begin = header.offset(number) + FRAME_HEADER_BYTES;
            if committed >= enough || frame.word(0) == 0 || !self.read(begin, &mut page)? {
                break;
            }
            sum = sum.of(&frame.0[..8], header.is_big_endian);
            sum = sum.of(&page, header.is_big_endian);
            if sum != Sum(frame.word(16), frame.word(20)) {
                break;
            }
            if frame.ends_transaction() {
                committed = number;
            }
        }
        Ok(committed)
    }

    /// Returns None if there is none of this log.
    fn frame(&self, header: &Header, number: u32) -> io::Result<Option<FrameHeader>> {
        let mut frame = FrameHeader([0; FRAME_HEADER_BYTES as usize]);
        let is_there = self.read(header.offset(number), &mut frame.0)?;
        Ok((is_there && frame.salts() == header.salts).then_some(frame))
    }

    /// Returns false if the file ends before.
    fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<bool> {
        match read_exact_at(&self.0, bytes, offset) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Header {
    fn offset(&self, frame: u32) -> u64 {
        HEADER_BYTES + u64::from(frame - 1) * (FRAME_HEADER_BYTES + self.page_bytes)
    }
}

impl FrameHeader {
    fn word(&self, at: usize) -> u32 {
        word(&self.0, at)
    }

    fn salts(&self) -> u64 {
        u64::from(self.word(8)) << 32 | u64::from(self.word(12))
    }

    /// The number of pages of the database stands in the last frame of a transaction alone.
    fn ends_transaction(&self) -> bool {
        self.word(4) != 0
    }
}

impl Sum {
    /// Goes on over these bytes, of which there are a multiple of 8.
    fn of(self, bytes: &[u8], is_big_endian: bool) -> Self {
        let read = match is_big_endian {
            true => u32::from_be_bytes,
            false => u32::from_le_bytes,
        };
        let Self(mut first, mut second) = self;
        for &[a, b, c, d, e, f, g, h] in bytes.as_chunks().0 {
            first = first.wrapping_add(read([a, b, c, d])).wrapping_add(second);
            second = second.wrapping_add(read([e, f, g, h])).wrapping_add(first);
        }
        Self(first, second)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(not(unix))]
fn read_exact_at(mut file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    use std::io::{Read, Seek};
    file.seek(io::SeekFrom::Start(offset))?;
    file.read_exact(bytes)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap_or_default())
}
