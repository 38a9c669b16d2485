//! Equal parts of all slices.

use super::NUMBER_OF_SLICES;

/// One of the equal parts into which a store divides the slices; the slices of a part follow on each other.
///
/// A store that numbers its rows by counters has one for each part, and an order of changes in each. Readers share out
/// ranges of slices, so that each reads few parts, or one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition {
    of: u16,
    nr: u16,
}

impl Partition {
    /// The part of a store that divides nothing: all slices.
    pub const ONLY: Partition = Partition { of: 1, nr: 0 };

    /// The largest number of parts.
    pub const MOST: u16 = 64;

    /// Returns the part with a number below that of all parts; `None` if slices cannot be divided so.
    pub fn new(nr: u16, of: u16) -> Option<Self> {
        (nr < of && Self::divides(of)).then_some(Self { of, nr })
    }

    /// Returns the part of a slice, of so many; `None` if slices cannot be divided so, or there is no such slice.
    pub fn of_slice(slice: u16, of: u16) -> Option<Self> {
        // The number of slices is a power of two, and so is that of parts: the product has room.
        let nr = u32::from(slice) * u32::from(of) / u32::from(NUMBER_OF_SLICES);
        Self::new(u16::try_from(nr).ok()?, of)
    }

    /// Returns whether slices can be divided into so many parts: a power of two, at most [`MOST`](Self::MOST).
    pub fn divides(of: u16) -> bool {
        of <= Self::MOST && of.is_power_of_two()
    }

    /// Returns the number of the part, from 0 on.
    pub fn nr(self) -> u16 {
        self.nr
    }

    /// Returns the number of all parts.
    pub fn of(self) -> u16 {
        self.of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_of_a_part_follow_on_each_other_and_parts_are_equal() {
        for of in [1, 2, 4, 8, 16, 32, 64] {
            let parts: Vec<_> = (0..NUMBER_OF_SLICES)
                .map(|slice| Partition::of_slice(slice, of).unwrap().nr())
                .collect();
            assert!(parts.is_sorted());
            for nr in 0..of {
                let size = parts.iter().filter(|part| **part == nr).count();
                assert_eq!(size, usize::from(NUMBER_OF_SLICES / of), "{nr} of {of}");
            }
        }
        assert_eq!(Partition::of_slice(1_023, 1), Some(Partition::ONLY));
        assert_eq!(Partition::of_slice(1_024, 8), None);
    }

    #[test]
    fn slices_are_divided_by_powers_of_two_up_to_64() {
        for of in [0, 3, 6, 65, 96, 128, 1_024, u16::MAX] {
            assert_eq!(Partition::new(0, of), None, "{of}");
        }
        assert_eq!(Partition::new(8, 8), None);
        let last = Partition::new(63, 64).unwrap();
        assert_eq!((last.nr(), last.of()), (63, 64));
    }
}
