//! Slices of a share that were read to different places.

use std::ops::RangeInclusive;

use actix_persistence_storage_api::{
    EventOffset, InvalidOffset, NUMBER_OF_SLICES, Offset, Partition, Position, Progress,
    StateOffset,
};

use crate::ResetError;
use crate::places::ALL_SLICES;

/// The offsets after which the slices of a share continue.
///
/// After shares were divided anew, some slices may have been read further than others. One reader goes on with all of them
/// from the lowest place, and leaves out what a piece is past already.
#[derive(Clone, Debug)]
pub(crate) struct Pieces<P: Position>(Vec<Piece<P>>);

#[derive(Clone, Debug)]
struct Piece<P: Position> {
    slices: RangeInclusive<u16>,
    offset: Offset<P>,
}

impl<P: Position> Pieces<P> {
    pub(crate) fn of(progress: &Progress) -> Result<Self, InvalidOffset> {
        let pieces = progress.pieces().iter().map(|piece| {
            Ok(Piece {
                slices: piece.slices.clone(),
                offset: piece.offset.parse()?,
            })
        });
        let mut pieces: Vec<Piece<P>> = pieces.collect::<Result<_, _>>()?;
        if pieces.len() > 1 {
            pieces.iter_mut().for_each(Piece::forget_other_partitions);
        }
        Ok(Self(pieces))
    }

    /// Returns all slices of the pieces.
    pub(crate) fn slices(&self) -> RangeInclusive<u16> {
        let (first, last) = (self.0.first(), self.0.last());
        let start = first.map_or(0, |piece| *piece.slices.start());
        start..=last.map_or(0, |piece| *piece.slices.end())
    }

    /// Returns the highest offset after which nothing is missing in any piece.
    pub(crate) fn lowest(&self) -> Offset<P> {
        let [only] = &self.0[..] else {
            let mut lowest = Offset::start();
            for partition in self.partitions() {
                let of_partition = self.0.iter().filter(|piece| piece.meets(partition));
                let places = of_partition.map(|piece| piece.offset.position(partition));
                // A piece without a place there begins at the start.
                let place = places.min().flatten();
                if let Some(place) = place {
                    lowest.advance(partition, place.clone());
                }
            }
            return lowest;
        };
        only.offset.clone()
    }

    /// Returns whether the piece with this slice is past an item, by the offset after that.
    pub(crate) fn are_past(&self, slice: u16, after: &Offset<P>) -> bool {
        if self.0.len() == 1 {
            return false;
        }
        let Some(of) = after
            .positions()
            .next()
            .map(|(partition, _)| partition.of())
        else {
            return false;
        };
        let piece = self.0.iter().find(|piece| piece.slices.contains(&slice));
        let (Some(piece), Some(partition)) = (piece, Partition::of_slice(slice, of)) else {
            return false;
        };
        match (piece.offset.position(partition), after.position(partition)) {
            (Some(past), Some(place)) => past >= place,
            _ => false,
        }
    }

    /// Returns the progress when the reader of all pieces has reached this offset.
    pub(crate) fn progress(&self, reached: &Offset<P>) -> Progress {
        let mut texts: Vec<(RangeInclusive<u16>, String)> = Vec::with_capacity(self.0.len());
        for piece in &self.0 {
            let offset = match self.0.len() {
                1 => reached.to_string(),
                _ => piece.later(reached).to_string(),
            };
            match texts.last_mut() {
                Some((slices, before)) if *before == offset => {
                    *slices = *slices.start()..=*piece.slices.end();
                }
                _ => texts.push((piece.slices.clone(), offset)),
            }
        }
        Progress::from_pieces(texts).expect("they follow on each other as the pieces do")
    }

    fn partitions(&self) -> impl Iterator<Item = Partition> + use<P> {
        let mut positions = self.0.iter().flat_map(|piece| piece.offset.positions());
        let of = positions.next().map_or(1, |(partition, _)| partition.of());
        (0..of).filter_map(move |nr| Partition::new(nr, of))
    }
}

impl<P: Position> Piece<P> {
    /// Returns whether slices of the piece are in a partition.
    fn meets(&self, partition: Partition) -> bool {
        meets(&self.slices, partition)
    }

    /// Removes the places in partitions in which the piece has no slices: no reader of its share gets there.
    fn forget_other_partitions(&mut self) {
        let mut offset = Offset::start();
        for (partition, place) in self.offset.positions() {
            if self.meets(partition) {
                offset.advance(partition, place.clone());
            }
        }
        self.offset = offset;
    }

    /// Returns the later place of the piece and of the reader in each partition.
    fn later(&self, reached: &Offset<P>) -> Offset<P> {
        let mut later = reached.clone();
        for (partition, past) in self.offset.positions() {
            if later.position(partition).is_none_or(|at| at < past) {
                later.advance(partition, past.clone());
            }
        }
        later
    }
}

/// Returns whether everything before an offset was handled in all slices of a progress; false if its offsets are of another
/// kind.
pub(crate) fn has_reached<P: Position>(progress: &Progress, offset: &Offset<P>) -> bool {
    has_reached_in(progress, &ALL_SLICES, offset)
}

/// Returns the same about those slices of a progress that are among these.
pub(crate) fn has_reached_in<P: Position>(
    progress: &Progress,
    among: &RangeInclusive<u16>,
    offset: &Offset<P>,
) -> bool {
    let Ok(Pieces(pieces)) = Pieces::<P>::of(progress) else {
        return false;
    };
    pieces.iter().all(|piece| {
        let first = *piece.slices.start().max(among.start());
        let last = *piece.slices.end().min(among.end());
        let mut ends = offset.positions();
        ends.all(|(partition, end)| {
            let at = piece.offset.position(partition);
            first > last || !meets(&(first..=last), partition) || at.is_some_and(|at| at >= end)
        })
    })
}

/// Returns whether a progress has reached the offset that a text is, of whatever kind, in those of its slices that are among
/// these; false if the two are of different kinds.
pub(crate) fn has_reached_text(
    progress: &Progress,
    among: &RangeInclusive<u16>,
    offset: &str,
) -> bool {
    // The start of everything is of any kind.
    if offset.is_empty() {
        return true;
    }
    match (offset.parse::<EventOffset>(), offset.parse::<StateOffset>()) {
        (Ok(offset), _) => has_reached_in(progress, among, &offset),
        (_, Ok(offset)) => has_reached_in(progress, among, &offset),
        _ => false,
    }
}

/// Returns whether slices, of which there is at least one, are in a partition.
fn meets(slices: &RangeInclusive<u16>, partition: Partition) -> bool {
    let size = NUMBER_OF_SLICES / partition.of();
    let first = partition.nr() * size;
    *slices.start() <= first + (size - 1) && first <= *slices.end()
}

/// Fails if an offset cannot take the place of those of a progress. The start of everything is of any kind.
pub(crate) fn check_kind<P: Position>(
    progress: &Progress,
    offset: &Offset<P>,
) -> Result<(), ResetError> {
    if offset.positions().next().is_none() {
        return Ok(());
    }
    for piece in progress.pieces() {
        let stored: Offset<P> = piece.offset.parse().map_err(ResetError::OtherKind)?;
        if let Some((partition, _)) = stored.positions().next() {
            offset.check(partition.of())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::{EventOffset, EventPosition, PersistenceId};

    use super::*;

    fn pieces(texts: &[(RangeInclusive<u16>, &str)]) -> Pieces<EventPosition> {
        let texts = texts
            .iter()
            .map(|(slices, offset)| (slices.clone(), (*offset).to_owned()));
        Pieces::of(&Progress::from_pieces(texts).unwrap()).unwrap()
    }

    fn offset(text: &str) -> EventOffset {
        text.parse().unwrap()
    }

    #[test]
    fn one_piece_goes_on_wherever_its_reader_is() {
        let one = pieces(&[(0..=1023, "0/1.7.0.0:")]);
        assert_eq!(one.lowest(), offset("0/1.7.0.0:"));
        assert!(!one.are_past(3, &offset("0/1.5.0.0:")));
        let progress = one.progress(&offset("0/1.9.0.0:"));
        assert_eq!(progress.to_string(), "0-1023 10:0/1.9.0.0:");
    }

    #[test]
    fn a_piece_ahead_is_left_out_until_its_place_is_reached() {
        let two = pieces(&[(0..=511, "0/1.9.0.0:"), (512..=1023, "0/1.5.0.0:")]);
        assert_eq!(two.lowest(), offset("0/1.5.0.0:"));
        assert!(two.are_past(0, &offset("0/1.9.0.0:")));
        assert!(!two.are_past(0, &offset("0/1.10.0.0:")));
        assert!(!two.are_past(512, &offset("0/1.6.0.0:")));
        let behind = two.progress(&offset("0/1.8.0.0:"));
        assert_eq!(
            behind.to_string(),
            "0-511 10:0/1.9.0.0:,512-1023 10:0/1.8.0.0:"
        );
        let level = two.progress(&offset("0/1.9.0.0:"));
        assert_eq!(level.to_string(), "0-1023 10:0/1.9.0.0:");
    }

    #[test]
    fn a_partition_is_asked_only_of_the_pieces_that_are_in_it() {
        let two = pieces(&[(0..=511, "0/2.9.0.0:"), (512..=1023, "1/2.5.0.0:")]);
        assert_eq!(two.lowest(), offset("0/2.9.0.0:,1/2.5.0.0:"));
        let begun = pieces(&[(0..=255, "0/2.9.0.0:"), (256..=1023, "1/2.5.0.0:")]);
        assert_eq!(begun.lowest(), offset("1/2.5.0.0:"));
        assert!(begun.are_past(255, &offset("0/2.3.0.0:,1/2.5.0.0:")));
        assert!(!begun.are_past(256, &offset("0/2.3.0.0:,1/2.5.0.0:")));
    }

    /// Divides, reads and restarts at random; each event must be given once, in order.
    #[test]
    fn every_event_comes_once_however_shares_are_divided() {
        use actix_persistence_storage_api::shares_of;
        let mut random = 7_u64;
        let mut next = |most: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % most
        };
        for of in [1, 8] {
            // Events by their slices, numbered by partition.
            let mut counters = vec![0_i64; usize::from(of)];
            let events: Vec<(u16, Partition, EventPosition)> = (0..2_000)
                .map(|_| {
                    let slice = next(1024) as u16;
                    let partition = Partition::of_slice(slice, of).unwrap();
                    let counter = &mut counters[usize::from(partition.nr())];
                    *counter += 1;
                    let id = PersistenceId::of_unique("a");
                    (slice, partition, EventPosition::new(*counter, id, 1))
                })
                .collect();
            let mut given = vec![0; events.len()];
            let mut shares = vec![Progress::new(0..=1023, "")];
            let mut rounds = 0;
            while given.contains(&0) {
                rounds += 1;
                assert!(rounds < 5_000);
                let slices = shares_of(1 + next(7) as u16).unwrap();
                shares = slices
                    .iter()
                    .map(|slices| Progress::of_slices(slices, &shares).unwrap())
                    .collect();
                for _ in 0..next(4) {
                    let share = next(shares.len() as u64) as usize;
                    let pieces = Pieces::<EventPosition>::of(&shares[share]).unwrap();
                    let mut reader = pieces.lowest();
                    let wanted = pieces.slices();
                    for _ in 0..next(100) {
                        let following = events.iter().enumerate().find(|(_, event)| {
                            let at = reader.position(event.1);
                            wanted.contains(&event.0) && at.is_none_or(|at| *at < event.2)
                        });
                        let Some((nr, (slice, partition, position))) = following else {
                            break;
                        };
                        reader.advance(*partition, position.clone());
                        if !pieces.are_past(*slice, &reader) {
                            given[nr] += 1;
                        }
                    }
                    shares[share] = pieces.progress(&reader);
                }
            }
            assert!(given.iter().all(|count| *count == 1), "{given:?}");
        }
    }
}
