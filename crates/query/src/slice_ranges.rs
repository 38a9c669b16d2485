//! The division of the slices among several readers.

use std::ops::RangeInclusive;

use actix_persistence_storage_api::NUMBER_OF_SLICES;

/// The number of ranges does not divide the number of slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{ranges} ranges cannot share out 1024 slices evenly; use a power of two up to 1024")]
pub struct InvalidSliceRanges {
    /// The number of ranges that was asked for.
    pub ranges: u16,
}

/// Shares out all slices in this many ranges of the same size, both ends included.
///
/// ```
/// let ranges = actix_persistence_query::slice_ranges(4)?;
/// assert_eq!(ranges, [0..=255, 256..=511, 512..=767, 768..=1023]);
/// # Ok::<(), actix_persistence_query::InvalidSliceRanges>(())
/// ```
///
/// # Errors
/// If the number does not divide 1024.
pub fn slice_ranges(ranges: u16) -> Result<Vec<RangeInclusive<u16>>, InvalidSliceRanges> {
    if ranges == 0 || !NUMBER_OF_SLICES.is_multiple_of(ranges) {
        return Err(InvalidSliceRanges { ranges });
    }
    let size = NUMBER_OF_SLICES / ranges;
    let starts = (0..ranges).map(|range| range * size);
    Ok(starts.map(|start| start..=start + size - 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slice_is_in_one_range() {
        for ranges in [1, 2, 64, 1024] {
            let all: Vec<u16> = slice_ranges(ranges)
                .unwrap()
                .into_iter()
                .flatten()
                .collect();
            assert_eq!(all, (0..NUMBER_OF_SLICES).collect::<Vec<_>>());
        }
        for ranges in [0, 3, 1000, 2048] {
            assert_eq!(slice_ranges(ranges), Err(InvalidSliceRanges { ranges }));
        }
    }
}
