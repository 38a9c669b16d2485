//! The place up to which a query of changed states has read.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::{Partition, PersistenceId};

/// A place in the changes of one store, from which a reader continues; made by that store, kept by the reader.
///
/// Two offsets can only be compared for equality. An offset of one store has no meaning for another one.
/// [`Display`](fmt::Display) and [`FromStr`] are the form to be kept.
///
/// # The text
/// A position for each partition that was read, in the order of their numbers, with commas between them; empty for the
/// start. `3/8.17.6:Post|a` is a position: the number of the partition, the number of all of them, the place in the order
/// of commits, the length of an id in bytes, and the id. The length is 0 where there is no id.
///
/// It has at most [`MAX_TEXT_BYTES`](Self::MAX_TEXT_BYTES), and 30 for each partition where all was read. What begins in
/// another way is no offset: an offset over several databases would begin with the number of the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateOffset {
    positions: BTreeMap<Partition, StatePosition>,
}

/// A place in the changes of one partition; places are ordered as changes are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct StatePosition {
    /// The number of a change in the order of commits; several changes may have the same.
    pub ordering: i64,
    /// The last id, byte by byte, of those with this number that was read; none if all of them are still to be read.
    pub persistence_id: Option<PersistenceId>,
}

impl StatePosition {
    /// Returns the place of this change.
    pub fn new(ordering: i64, persistence_id: PersistenceId) -> Self {
        Self {
            ordering,
            persistence_id: Some(persistence_id),
        }
    }

    /// Returns the place after every change with this number or a lower one, and before those with higher ones.
    ///
    /// Nothing is above the highest number there is, so all changes with that are still to be read.
    pub fn after_all_of(ordering: i64) -> Self {
        Self {
            ordering: ordering.saturating_add(1),
            persistence_id: None,
        }
    }
}

impl StateOffset {
    /// Returns the offset before every change.
    pub fn start() -> Self {
        Self::default()
    }

    /// The most bytes of the text of an offset.
    pub const MAX_TEXT_BYTES: usize = Partition::MOST as usize
        * ("63/64.-9223372036854775808.255:,".len() + PersistenceId::MAX_BYTES);

    /// Returns the place up to which a partition was read; `None` for its start.
    pub fn position(&self, partition: Partition) -> Option<&StatePosition> {
        self.positions.get(&partition)
    }

    /// Returns the places in all partitions that were read, in the order of their numbers.
    pub fn positions(&self) -> impl Iterator<Item = (Partition, &StatePosition)> {
        self.positions
            .iter()
            .map(|(partition, position)| (*partition, position))
    }

    /// Goes on to a place of a partition.
    pub fn advance(&mut self, partition: Partition, position: StatePosition) {
        self.positions.insert(partition, position);
    }

    /// Fails if the offset has a place in a partition that a store with so many does not have.
    ///
    /// A store checks this before it reads: such a partition has other slices, whose changes would be skipped.
    ///
    /// # Errors
    /// Names the first such partition.
    pub fn check(&self, partitions: u16) -> Result<(), OtherPartitions> {
        let mut all = self.positions.keys();
        match all.find(|partition| partition.of() != partitions) {
            None => Ok(()),
            Some(other) => Err(OtherPartitions {
                nr: other.nr(),
                of: other.of(),
                partitions,
            }),
        }
    }
}

/// The offset is not of this store, or its partitions were others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the offset has a place in partition {nr} of {of}, and the store has {partitions} in all: it is the offset of another \
     store, or of tables that were made anew; begin at the start"
)]
#[non_exhaustive]
pub struct OtherPartitions {
    /// The number of the partition.
    pub nr: u16,
    /// The number of all partitions of the store that made the offset.
    pub of: u16,
    /// The number of all partitions of the store that was asked.
    pub partitions: u16,
}

impl fmt::Display for StateOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, (partition, position)) in self.positions.iter().enumerate() {
            let separator = if count == 0 { "" } else { "," };
            let (nr, of) = (partition.nr(), partition.of());
            let id = position.persistence_id.as_ref();
            let id = id.map_or("", PersistenceId::as_str);
            let ordering = position.ordering;
            write!(f, "{separator}{nr}/{of}.{ordering}.{}:{id}", id.len())?;
        }
        Ok(())
    }
}

/// The text is no offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not the text of an offset of states")]
pub struct InvalidStateOffset;

impl FromStr for StateOffset {
    type Err = InvalidStateOffset;

    fn from_str(text: &str) -> Result<Self, InvalidStateOffset> {
        let mut offset = StateOffset::start();
        let mut rest = text;
        if text.len() > Self::MAX_TEXT_BYTES {
            return Err(InvalidStateOffset);
        }
        while !rest.is_empty() {
            rest = parse_one(rest, &mut offset).ok_or(InvalidStateOffset)?;
        }
        // Each offset has one text: no place is there twice, and no number is written in another way.
        match offset.to_string() == text {
            true => Ok(offset),
            false => Err(InvalidStateOffset),
        }
    }
}

/// Reads one position; returns what follows on it.
fn parse_one<'t>(text: &'t str, offset: &mut StateOffset) -> Option<&'t str> {
    let (numbers, rest) = text.split_once(':')?;
    let mut numbers = numbers.splitn(3, '.');
    let (nr, of) = numbers.next()?.split_once('/')?;
    let partition = Partition::new(nr.parse().ok()?, of.parse().ok()?)?;
    let ordering = numbers.next()?.parse().ok()?;
    let length = numbers.next()?.parse().ok()?;
    let persistence_id = match rest.get(..length)? {
        "" => None,
        id => Some(PersistenceId::try_of_unique(id).ok()?),
    };
    let position = StatePosition {
        ordering,
        persistence_id,
    };
    offset.advance(partition, position);
    match rest.get(length..)? {
        "" => Some(""),
        // A separator is followed by another position.
        rest => rest.strip_prefix(',').filter(|rest| !rest.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_from_its_text_whatever_the_ids_hold() {
        let mut offset = StateOffset::start();
        assert_eq!(offset.to_string().parse(), Ok(StateOffset::start()));
        let partition = |nr| Partition::new(nr, 8).unwrap();
        for (nr, ordering, id) in [
            (0, 17, "Post|a,1/8.2.3:b"),
            (7, -3, "ü|,\n:"),
            (1, i64::MAX, "."),
        ] {
            offset.advance(
                partition(nr),
                StatePosition::new(ordering, PersistenceId::of_unique(id)),
            );
            assert_eq!(offset.to_string().parse(), Ok(offset.clone()));
        }
        for (nr, ordering) in [(0, 17), (3, i64::MAX)] {
            offset.advance(partition(nr), StatePosition::after_all_of(ordering));
            assert_eq!(offset.to_string().parse(), Ok(offset.clone()));
        }
        assert_eq!(offset.positions().count(), 4);
    }

    #[test]
    fn the_longest_text_comes_back_and_nothing_longer_is_parsed() {
        let mut offset = StateOffset::start();
        let id = PersistenceId::of_unique(&"a".repeat(PersistenceId::MAX_BYTES));
        for nr in 0..Partition::MOST {
            let partition = Partition::new(nr, Partition::MOST).unwrap();
            offset.advance(partition, StatePosition::new(i64::MIN, id.clone()));
        }
        let text = offset.to_string();
        assert!(text.len() <= StateOffset::MAX_TEXT_BYTES, "{}", text.len());
        assert_eq!(text.parse(), Ok(offset));
        let longer = " ".repeat(StateOffset::MAX_TEXT_BYTES + 1);
        assert_eq!(longer.parse::<StateOffset>(), Err(InvalidStateOffset));
    }

    #[test]
    fn a_place_in_a_partition_that_a_store_lacks_is_an_error() {
        let offset: StateOffset = "3/8.17.0:,4/8.18.0:".parse().unwrap();
        assert_eq!(offset.check(8), Ok(()));
        assert_eq!(StateOffset::start().check(4), Ok(()));
        for partitions in [1, 4, 16] {
            let error = offset.check(partitions).unwrap_err();
            assert_eq!((error.nr, error.of), (3, 8));
            let text = error.to_string();
            assert!(text.contains(&format!("{partitions} in all")), "{text}");
        }
    }

    #[test]
    fn places_are_ordered_as_changes_are() {
        let change = |ordering, id| StatePosition::new(ordering, PersistenceId::of_unique(id));
        let in_order = [
            StatePosition::after_all_of(6),
            change(7, "a"),
            change(7, "b"),
            StatePosition::after_all_of(7),
            change(8, "a"),
        ];
        assert!(in_order.is_sorted());
    }

    #[test]
    fn nothing_else_is_an_offset() {
        for text in [
            "x",
            "0/1.1",
            "0/1.1.3:ab",
            "0/1.1.2:ab,",
            "0/1.1.2:ab;",
            "0/1.1.0:a",
            "0.1.1:a",
            "0/0.1.1:a",
            "8/8.1.1:a",
            "0/3.1.1:a",
            "0/128.1.1:a",
            "0/1.1.1:ü",
            "0/1.+1.1:a",
            "0/1.01.1:a",
            "0/8.1.1:a,0/8.2.1:a",
            "1/8.1.1:a,0/8.2.1:a",
            "2@0/8.1.1:a",
        ] {
            assert_eq!(
                text.parse::<StateOffset>(),
                Err(InvalidStateOffset),
                "{text}"
            );
        }
    }
}
