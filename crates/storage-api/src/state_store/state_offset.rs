//! The place up to which a query of changed states has read.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::PersistenceId;

/// A place in the changes of one store, from which a reader continues; made by that store, kept by the reader.
///
/// Two offsets can only be compared for equality. An offset of one store has no meaning for another one.
/// [`Display`](fmt::Display) and [`FromStr`] are the form to be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateOffset {
    positions: BTreeMap<u16, StatePosition>,
}

/// A place in one of the sequences of changes that a store keeps; places are ordered as changes are.
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

    /// Returns the place up to which one sequence was read; `None` for its start.
    pub fn position(&self, sequence: u16) -> Option<&StatePosition> {
        self.positions.get(&sequence)
    }

    /// Goes on to a place of a sequence.
    pub fn advance(&mut self, sequence: u16, position: StatePosition) {
        self.positions.insert(sequence, position);
    }
}

/// `0.17.6:Post|a,1.3.0:`: the sequence, the number, and the id after its length in bytes, which is 0 where there is
/// none.
impl fmt::Display for StateOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, (sequence, position)) in self.positions.iter().enumerate() {
            let separator = if count == 0 { "" } else { "," };
            let id = position.persistence_id.as_ref();
            let id = id.map_or("", PersistenceId::as_str);
            let ordering = position.ordering;
            write!(f, "{separator}{sequence}.{ordering}.{}:{id}", id.len())?;
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
        while !rest.is_empty() {
            rest = parse_one(rest, &mut offset).ok_or(InvalidStateOffset)?;
        }
        Ok(offset)
    }
}

/// Reads one position; returns what follows on it.
fn parse_one<'t>(text: &'t str, offset: &mut StateOffset) -> Option<&'t str> {
    let (numbers, rest) = text.split_once(':')?;
    let mut numbers = numbers.splitn(3, '.');
    let sequence = numbers.next()?.parse().ok()?;
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
    offset.advance(sequence, position);
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
        for (sequence, ordering, id) in [
            (0, 17, "Post|a,1.2.3:b"),
            (7, -3, "ü|,\n:"),
            (1, i64::MAX, "."),
        ] {
            offset.advance(
                sequence,
                StatePosition::new(ordering, PersistenceId::of_unique(id)),
            );
            assert_eq!(offset.to_string().parse(), Ok(offset.clone()));
        }
        for (sequence, ordering) in [(0, 17), (3, i64::MAX)] {
            offset.advance(sequence, StatePosition::after_all_of(ordering));
            assert_eq!(offset.to_string().parse(), Ok(offset.clone()));
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
            "0.1",
            "0.1.3:ab",
            "0.1.2:ab,",
            "0.1.2:ab;",
            "0.1.0:a",
            "70000.1.1:a",
            "0.1.1:ü",
        ] {
            assert_eq!(
                text.parse::<StateOffset>(),
                Err(InvalidStateOffset),
                "{text}"
            );
        }
    }
}
