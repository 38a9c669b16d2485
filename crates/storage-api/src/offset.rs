//! The place up to which a query has read.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::{Partition, PersistenceId, SequenceNr};

/// A place in what one store keeps in the order of commits, from which a reader continues; made by that store, kept by the
/// reader.
///
/// Two offsets can only be compared for equality, and for whether a reader of the one
/// [has reached](Self::has_reached) the other. An offset of one store has no meaning for another one.
/// [`Display`](fmt::Display) and [`FromStr`] are the form to be kept.
///
/// # The text
/// A position for each partition that was read, in the order of their numbers, with commas between them; empty for the
/// start. `3/8.17.6:Post|a` is a position among states: the number of the partition, the number of all of them, the place in
/// the order of commits, the length of an id in bytes, and the id. The length is 0 where there is no id.
/// `3/8.17.4.6:Post|a` is a position among events: the sequence number stands before the length, and is 0 where there is no id.
///
/// It has at most [`MAX_TEXT_BYTES`](Self::MAX_TEXT_BYTES), and 30 for each partition where all was read. What begins in
/// another way is no offset: an offset over several databases would begin with the number of the database.
#[derive(Clone)]
pub struct Offset<P> {
    /// The place in the partition that was read last. It is kept apart, because the events that follow on each other have offsets
    /// that differ in nothing else: these share the other places.
    last: Option<(Partition, P)>,
    /// The places in all others, in the order of their partitions.
    others: Option<Arc<[(Partition, P)]>>,
}

/// A place in the changes of states, from which a reader continues.
pub type StateOffset = Offset<StatePosition>;

/// A place in the events of all ids, from which a reader continues.
pub type EventOffset = Offset<EventPosition>;

/// A place in the changes of one partition; places are ordered as changes are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct StatePosition {
    /// The number of a change in the order of commits; several changes may have the same.
    pub ordering: i64,
    /// The last id, byte by byte, of those with this number that was read; none if all of them are still to be read.
    pub persistence_id: Option<PersistenceId>,
}

/// A place in the events of one partition; places are ordered as events are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct EventPosition {
    /// The number of an event in the order of commits; several events may have the same.
    pub ordering: i64,
    /// The last event that was read, by id and number, of those with this number; none if all of them are still to be read.
    pub event: Option<(PersistenceId, SequenceNr)>,
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

impl EventPosition {
    /// Returns the place of this event.
    pub fn new(ordering: i64, persistence_id: PersistenceId, sequence_nr: SequenceNr) -> Self {
        Self {
            ordering,
            event: Some((persistence_id, sequence_nr)),
        }
    }

    /// Returns the place after every event with this number or a lower one, and before those with higher ones.
    ///
    /// Nothing is above the highest number there is, so all events with that are still to be read.
    pub fn after_all_of(ordering: i64) -> Self {
        Self {
            ordering: ordering.saturating_add(1),
            event: None,
        }
    }
}

/// A place in one partition, among changes of states or among events.
pub trait Position: Clone + Ord + fmt::Debug + sealed::Text {}

impl Position for StatePosition {}
impl Position for EventPosition {}

impl<P: Position> Offset<P> {
    /// Returns the offset before everything.
    pub fn start() -> Self {
        Self::default()
    }

    /// The most bytes of the text of an offset.
    pub const MAX_TEXT_BYTES: usize = Partition::MOST as usize
        * ("63/64.-9223372036854775808.255:,".len() + P::MORE_BYTES + PersistenceId::MAX_BYTES);

    /// Returns the place up to which a partition was read; `None` for its start.
    pub fn position(&self, partition: Partition) -> Option<&P> {
        match &self.last {
            Some((last, position)) if *last == partition => Some(position),
            _ => {
                let others = self.others();
                let place = others.binary_search_by_key(&partition, |(partition, _)| *partition);
                place.ok().map(|place| &others[place].1)
            }
        }
    }

    /// Returns the places in all partitions that were read, in the order of their numbers.
    pub fn positions(&self) -> impl Iterator<Item = (Partition, &P)> {
        let others = self.others();
        let before = self.last.as_ref().map_or(0, |(last, _)| {
            others.partition_point(|(partition, _)| partition < last)
        });
        let (before, after) = others.split_at(before);
        let all = before.iter().chain(&self.last).chain(after);
        all.map(|(partition, position)| (*partition, position))
    }

    /// Goes on to a place of a partition.
    pub fn advance(&mut self, partition: Partition, position: P) {
        match &mut self.last {
            Some((last, at)) if *last == partition => *at = position,
            None => self.last = Some((partition, position)),
            Some(_) => {
                let others = self.positions().filter(|(other, _)| *other != partition);
                let others = others.map(|(partition, position)| (partition, position.clone()));
                self.others = Some(others.collect());
                self.last = Some((partition, position));
            }
        }
    }

    /// Goes on to after everything in a partition with this number or a lower one, unless the offset is there already.
    pub fn pass(&mut self, partition: Partition, ordering: i64) {
        let end = P::after_all_of(ordering);
        if self.position(partition).is_none_or(|at| *at < end) {
            self.advance(partition, end);
        }
    }

    /// Returns whether a reader at this offset has read all that is before the other one.
    pub fn has_reached(&self, other: &Self) -> bool {
        other
            .positions()
            .all(|(partition, end)| self.position(partition).is_some_and(|at| at >= end))
    }

    /// Goes back to the earlier one of both places in each partition, which is the start where either has none.
    ///
    /// A reader that has reached either of the two has reached the result.
    pub fn lower_to(&mut self, other: &Self) {
        let mut lowered = Self::start();
        for (partition, position) in self.positions() {
            if let Some(lower) = other.position(partition) {
                lowered.advance(partition, position.min(lower).clone());
            }
        }
        *self = lowered;
    }

    /// Fails if the offset has a place in a partition that a store with so many does not have.
    ///
    /// A store checks this before it reads: such a partition has other slices, which would be skipped.
    ///
    /// # Errors
    /// Names the first such partition.
    pub fn check(&self, partitions: u16) -> Result<(), OtherPartitions> {
        let mut all = self.positions().map(|(partition, _)| partition);
        match all.find(|partition| partition.of() != partitions) {
            None => Ok(()),
            Some(other) => Err(OtherPartitions {
                nr: other.nr(),
                of: other.of(),
                partitions,
            }),
        }
    }

    fn others(&self) -> &[(Partition, P)] {
        self.others.as_deref().unwrap_or_default()
    }
}

impl<P> Default for Offset<P> {
    fn default() -> Self {
        Self {
            last: None,
            others: None,
        }
    }
}

impl<P: Position> PartialEq for Offset<P> {
    fn eq(&self, other: &Self) -> bool {
        self.positions().eq(other.positions())
    }
}

impl<P: Position> Eq for Offset<P> {}

/// Shows the text.
impl<P: Position> fmt::Debug for Offset<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Offset({self})")
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

/// The text is no offset of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not the text of an offset of {kind}")]
#[non_exhaustive]
pub struct InvalidOffset {
    /// The things that the offset was to be a place among, in the plural.
    pub kind: &'static str,
}

impl<P: Position> fmt::Display for Offset<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, (partition, position)) in self.positions().enumerate() {
            let separator = if count == 0 { "" } else { "," };
            write!(f, "{separator}{}/{}.", partition.nr(), partition.of())?;
            position.write_numbers(f)?;
            let id = position.id().map_or("", PersistenceId::as_str);
            write!(f, ".{}:{id}", id.len())?;
        }
        Ok(())
    }
}

impl<P: Position> FromStr for Offset<P> {
    type Err = InvalidOffset;

    fn from_str(text: &str) -> Result<Self, InvalidOffset> {
        let invalid = InvalidOffset { kind: P::KIND };
        let mut offset = Self::start();
        let mut rest = text;
        if text.len() > Self::MAX_TEXT_BYTES {
            return Err(invalid);
        }
        while !rest.is_empty() {
            rest = parse_one(rest, &mut offset).ok_or(invalid)?;
        }
        // Each offset has one text: no place is there twice, and no number is written in another way.
        match offset.to_string() == text {
            true => Ok(offset),
            false => Err(invalid),
        }
    }
}

/// Reads one position; returns what follows on it.
fn parse_one<'t, P: Position>(text: &'t str, offset: &mut Offset<P>) -> Option<&'t str> {
    let (numbers, rest) = text.split_once(':')?;
    let (partition, numbers) = numbers.split_once('.')?;
    let (nr, of) = partition.split_once('/')?;
    let partition = Partition::new(nr.parse().ok()?, of.parse().ok()?)?;
    let (numbers, length) = numbers.rsplit_once('.')?;
    let length = length.parse().ok()?;
    let persistence_id = match rest.get(..length)? {
        "" => None,
        id => Some(PersistenceId::try_of_unique(id).ok()?),
    };
    offset.advance(partition, P::parse_numbers(numbers, persistence_id)?);
    match rest.get(length..)? {
        "" => Some(""),
        // A separator is followed by another position.
        rest => rest.strip_prefix(',').filter(|rest| !rest.is_empty()),
    }
}

mod sealed {
    use super::{EventPosition, PersistenceId, StatePosition, fmt};

    /// The part of a position's text that depends on its kind.
    pub trait Text: Sized {
        const KIND: &'static str;
        /// The most bytes beyond those of a position among states.
        const MORE_BYTES: usize;

        fn after_all_of(ordering: i64) -> Self;
        fn id(&self) -> Option<&PersistenceId>;
        fn write_numbers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
        fn parse_numbers(numbers: &str, id: Option<PersistenceId>) -> Option<Self>;
    }

    impl Text for StatePosition {
        const KIND: &'static str = "states";
        const MORE_BYTES: usize = 0;

        fn after_all_of(ordering: i64) -> Self {
            StatePosition::after_all_of(ordering)
        }

        fn id(&self) -> Option<&PersistenceId> {
            self.persistence_id.as_ref()
        }

        fn write_numbers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}", self.ordering)
        }

        fn parse_numbers(numbers: &str, persistence_id: Option<PersistenceId>) -> Option<Self> {
            Some(Self {
                ordering: numbers.parse().ok()?,
                persistence_id,
            })
        }
    }

    impl Text for EventPosition {
        const KIND: &'static str = "events";
        const MORE_BYTES: usize = ".18446744073709551615".len();

        fn after_all_of(ordering: i64) -> Self {
            EventPosition::after_all_of(ordering)
        }

        fn id(&self) -> Option<&PersistenceId> {
            self.event.as_ref().map(|(id, _)| id)
        }

        fn write_numbers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let sequence_nr = self.event.as_ref().map_or(0, |(_, number)| *number);
            write!(f, "{}.{sequence_nr}", self.ordering)
        }

        fn parse_numbers(numbers: &str, id: Option<PersistenceId>) -> Option<Self> {
            let (ordering, sequence_nr) = numbers.split_once('.')?;
            let sequence_nr = sequence_nr.parse().ok()?;
            Some(Self {
                ordering: ordering.parse().ok()?,
                event: id.map(|id| (id, sequence_nr)),
            })
        }
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
        assert_eq!(
            longer.parse::<StateOffset>(),
            Err(InvalidOffset { kind: "states" })
        );
    }

    #[test]
    fn an_offset_is_the_same_in_whatever_order_its_places_came() {
        let places = [(0, 17), (3, 18), (5, 19), (7, 20)];
        let partition = |nr| Partition::new(nr, 8).unwrap();
        let of = |order: [usize; 4]| {
            let mut offset = EventOffset::start();
            for place in order {
                let (nr, ordering) = places[place];
                // Not the last word about it.
                offset.advance(partition(nr), EventPosition::after_all_of(1));
                offset.pass(partition(nr), ordering);
            }
            offset
        };
        let expected = of([0, 1, 2, 3]);
        assert_eq!(expected.to_string().parse(), Ok(expected.clone()));
        for order in [[3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
            let mut offset = of(order);
            assert_eq!(offset, expected);
            let found: Vec<_> = offset.positions().map(|(found, _)| found.nr()).collect();
            assert_eq!(found, [0, 3, 5, 7]);
            for (nr, ordering) in places {
                let position = offset.position(partition(nr));
                assert_eq!(position, Some(&EventPosition::after_all_of(ordering)));
                let shared = offset.clone();
                offset.pass(partition(nr), ordering + 1);
                assert!(offset != expected && shared != offset);
                offset.advance(partition(nr), EventPosition::after_all_of(ordering));
                assert_eq!(offset, shared);
            }
            assert_eq!(offset.position(partition(1)), None);
        }
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
                Err(InvalidOffset { kind: "states" }),
                "{text}"
            );
        }
    }

    #[test]
    fn an_offset_of_events_comes_back_from_its_text_and_is_none_of_states() {
        let mut offset = EventOffset::start();
        let partition = |nr| Partition::new(nr, 8).unwrap();
        let id = PersistenceId::of_unique("Post|a.1:");
        offset.advance(partition(3), EventPosition::new(17, id.clone(), u64::MAX));
        assert_eq!(
            offset.to_string(),
            "3/8.17.18446744073709551615.9:Post|a.1:"
        );
        assert_eq!(offset.to_string().parse(), Ok(offset.clone()));
        offset.advance(partition(0), EventPosition::after_all_of(17));
        assert_eq!(offset.to_string().parse(), Ok(offset.clone()));
        assert!(offset.to_string().parse::<StateOffset>().is_err());
        for text in ["0/1.17.0:", "0/1.17.1.0:", "0/1.17.+1.1:a", "0/1.17.1:a"] {
            let invalid = InvalidOffset { kind: "events" };
            assert_eq!(text.parse::<EventOffset>(), Err(invalid), "{text}");
        }
    }

    #[test]
    fn an_offset_has_reached_another_where_it_is_no_earlier_in_any_partition() {
        let offset = |text: &str| text.parse::<EventOffset>().unwrap();
        let end = offset("0/8.17.0.0:,3/8.18.4.1:a");
        for reached in [
            "0/8.17.0.0:,3/8.18.4.1:a",
            "0/8.18.0.0:,3/8.18.5.1:a,7/8.1.0.0:",
        ] {
            assert!(offset(reached).has_reached(&end), "{reached}");
        }
        for not_yet in [
            "",
            "0/8.18.0.0:",
            "0/8.17.0.0:,3/8.18.3.1:a",
            "0/8.16.1.1:z,3/8.19.0.0:",
        ] {
            assert!(!offset(not_yet).has_reached(&end), "{not_yet}");
        }
        assert!(offset("").has_reached(&EventOffset::start()));
    }

    #[test]
    fn a_lowered_offset_has_the_earlier_place_of_each_partition() {
        let offset = |text: &str| text.parse::<EventOffset>().unwrap();
        let end = "0/8.17.0.0:,3/8.18.4.1:a,5/8.2.0.0:";
        for (other, expected) in [
            (
                "0/8.16.0.0:,3/8.19.0.0:,7/8.1.0.0:",
                "0/8.16.0.0:,3/8.18.4.1:a",
            ),
            (
                "0/8.17.0.0:,3/8.18.3.1:a,5/8.3.0.0:",
                "0/8.17.0.0:,3/8.18.3.1:a,5/8.2.0.0:",
            ),
            ("", ""),
            (end, end),
        ] {
            let mut lowered = offset(end);
            lowered.lower_to(&offset(other));
            assert_eq!(lowered, offset(expected), "{other}");
            assert!(offset(end).has_reached(&lowered) && offset(other).has_reached(&lowered));
        }
    }
}
