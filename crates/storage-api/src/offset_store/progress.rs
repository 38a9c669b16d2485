//! The progress of a share: the offset after which each of its slices continues.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::NUMBER_OF_SLICES;

/// The offsets after which the slices of a share continue; nearly always one offset for all of them.
///
/// After shares were divided anew, a share may have slices that were read further than others. It keeps a piece for each
/// offset until it has read on to the last of them.
///
/// # The text
/// The pieces in the order of their slices, with commas between them: `0-511 8:0/1.7.0:` are the slices 0 to 511, the length of
/// the offset in bytes, and the offset.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Progress(Vec<Piece>);

/// Slices that continue after the same offset.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Piece {
    /// The slices, both ends included.
    pub slices: RangeInclusive<u16>,
    /// The text of the offset.
    pub offset: String,
}

impl Progress {
    /// Makes the progress of slices, both ends included, that all continue after one offset.
    pub fn new(slices: RangeInclusive<u16>, offset: impl Into<String>) -> Self {
        let offset = offset.into();
        Self(vec![Piece { slices, offset }])
    }

    /// Returns the pieces, in the order of their slices, which follow on each other; there is at least one.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// Returns the slices of all pieces, both ends included.
    pub fn slices(&self) -> RangeInclusive<u16> {
        let first = self.0.first().expect("there is a piece");
        let last = self.0.last().expect("there is a piece");
        *first.slices.start()..=*last.slices.end()
    }

    /// Returns the progress that these slices, both ends included, have among shares that together hold all of them.
    ///
    /// `shares` come in the order of their slices. Slices that none of them holds are missing in the result; `None` if they
    /// hold none of the slices.
    pub fn of_slices<'p>(
        slices: &RangeInclusive<u16>,
        shares: impl IntoIterator<Item = &'p Progress>,
    ) -> Option<Self> {
        let mut pieces: Vec<Piece> = Vec::new();
        for piece in shares.into_iter().flat_map(Progress::pieces) {
            let first = *piece.slices.start().max(slices.start());
            let last = *piece.slices.end().min(slices.end());
            if first > last {
                continue;
            }
            match pieces.last_mut() {
                Some(before) if before.offset == piece.offset => {
                    before.slices = *before.slices.start()..=last;
                }
                _ => pieces.push(Piece {
                    slices: first..=last,
                    offset: piece.offset.clone(),
                }),
            }
        }
        (!pieces.is_empty()).then_some(Self(pieces))
    }

    /// Makes the progress of pieces; `None` unless they follow on each other, in order.
    pub fn from_pieces(
        pieces: impl IntoIterator<Item = (RangeInclusive<u16>, String)>,
    ) -> Option<Self> {
        let pieces: Vec<_> = pieces
            .into_iter()
            .map(|(slices, offset)| Piece { slices, offset })
            .collect();
        let all_hold_some = pieces.iter().all(|piece| !piece.slices.is_empty());
        let follow = pieces
            .windows(2)
            .all(|two| two[0].slices.end().checked_add(1) == Some(*two[1].slices.start()));
        let ends_well = pieces.last()?.slices.end() < &NUMBER_OF_SLICES;
        (all_hold_some && follow && ends_well).then_some(Self(pieces))
    }
}

/// Returns the slices of so many equal shares, in the order of their numbers; `None` unless it is from 1 to the number of all
/// slices.
///
/// The slices of a share follow on each other. Where the number does not divide that of all slices, shares differ by one.
pub fn shares_of(number: u16) -> Option<Vec<RangeInclusive<u16>>> {
    if !(1..=NUMBER_OF_SLICES).contains(&number) {
        return None;
    }
    let bound = |nr: u16| {
        let slice = u32::from(nr) * u32::from(NUMBER_OF_SLICES) / u32::from(number);
        u16::try_from(slice).expect("no share begins after the last slice")
    };
    Some(
        (0..number)
            .map(|nr| bound(nr)..=bound(nr + 1) - 1)
            .collect(),
    )
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, Piece { slices, offset }) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { "," };
            let (first, last) = (slices.start(), slices.end());
            write!(f, "{separator}{first}-{last} {}:{offset}", offset.len())?;
        }
        Ok(())
    }
}

/// The text is no progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not the text of the progress of a projection")]
#[non_exhaustive]
pub struct InvalidProgress;

impl FromStr for Progress {
    type Err = InvalidProgress;

    fn from_str(text: &str) -> Result<Self, InvalidProgress> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = parse_piece(rest).ok_or(InvalidProgress)?;
            pieces.push(piece);
            rest = match after {
                "" => "",
                after => after
                    .strip_prefix(',')
                    .filter(|after| !after.is_empty())
                    .ok_or(InvalidProgress)?,
            };
        }
        let progress = Self::from_pieces(pieces).ok_or(InvalidProgress)?;
        // Each progress has one text.
        match progress.to_string() == text {
            true => Ok(progress),
            false => Err(InvalidProgress),
        }
    }
}

/// Reads one piece; returns what follows on it.
fn parse_piece(text: &str) -> Option<((RangeInclusive<u16>, String), &str)> {
    let (slices, rest) = text.split_once(' ')?;
    let (first, last) = slices.split_once('-')?;
    let (length, rest) = rest.split_once(':')?;
    let length = length.parse().ok()?;
    let (offset, after) = (rest.get(..length)?, rest.get(length..)?);
    let slices = first.parse().ok()?..=last.parse().ok()?;
    Some(((slices, offset.to_owned()), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_from_its_text_whatever_the_offsets_hold() {
        for pieces in [
            vec![(0..=1023, "")],
            vec![(3..=3, "0/1.7.0:")],
            vec![(0..=9, "a,10-19 1:x"), (10..=19, "ü:"), (20..=1023, "")],
        ] {
            let pieces = pieces
                .into_iter()
                .map(|(slices, offset)| (slices, offset.to_owned()));
            let progress = Progress::from_pieces(pieces).unwrap();
            assert_eq!(progress.to_string().parse(), Ok(progress));
        }
    }

    #[test]
    fn nothing_else_is_a_progress() {
        for text in [
            "",
            "0-1023",
            "0-1023 1:",
            "0-1023 0:x",
            "0-1023 +0:",
            "0-1024 0:",
            "5-4 0:",
            "0-3 0:,5-9 0:",
            "0-3 0:,",
            "00-3 0:",
            "0-3 1:ü",
        ] {
            assert_eq!(text.parse::<Progress>(), Err(InvalidProgress), "{text}");
        }
    }

    #[test]
    fn shares_hold_every_slice_once_and_differ_by_one_at_most() {
        for number in [1, 2, 3, 4, 7, 100, 1000, 1024] {
            let shares = shares_of(number).unwrap();
            assert_eq!(shares.len(), usize::from(number));
            let slices: Vec<u16> = shares.iter().cloned().flatten().collect();
            assert_eq!(slices, (0..NUMBER_OF_SLICES).collect::<Vec<_>>());
            let sizes = shares.iter().map(ExactSizeIterator::len);
            let (least, most) = (sizes.clone().min().unwrap(), sizes.max().unwrap());
            assert!(most - least <= 1, "{number}");
        }
        assert_eq!(shares_of(0), None);
        assert_eq!(shares_of(1025), None);
    }

    #[test]
    fn every_slice_keeps_its_offset_however_often_shares_are_divided() {
        let mut shares = vec![Progress::new(0..=1023, "start")];
        let mut offsets = vec!["start".to_owned(); 1024];
        for (round, number) in [4, 2, 7, 1, 3, 1024, 5].into_iter().enumerate() {
            shares = shares_of(number)
                .unwrap()
                .iter()
                .map(|slices| Progress::of_slices(slices, &shares).unwrap())
                .collect();
            let found: Vec<_> = shares
                .iter()
                .flat_map(Progress::pieces)
                .flat_map(|piece| piece.slices.clone().map(|_| piece.offset.clone()))
                .collect();
            assert_eq!(found, offsets);
            // One share goes on.
            let ahead = round % shares.len();
            let slices = shares[ahead].slices();
            let offset = format!("after {round}");
            shares[ahead] = Progress::new(slices.clone(), offset.clone());
            slices.for_each(|slice| offsets[usize::from(slice)].clone_from(&offset));
        }
    }
}
