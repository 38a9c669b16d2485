//! How far a query of changed states has read.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::PersistenceId;

/// A place in the changes of one store, to go on from; made by that store, kept by whoever reads.
///
/// Nothing can be told of it but whether it is the same as another: what one store gave is of no use to another one.
/// [`Display`](fmt::Display) and [`FromStr`] are the form to be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateOffset {
    positions: BTreeMap<u16, StatePosition>,
}

/// A place in one of the sequences of changes that a store keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatePosition {
    /// The number of a change; several may have it.
    pub ordering: i64,
    /// The last id, byte by byte, of those with this number that was read.
    pub persistence_id: PersistenceId,
}

impl StatePosition {
    /// The place of this change.
    pub fn new(ordering: i64, persistence_id: PersistenceId) -> Self {
        Self {
            ordering,
            persistence_id,
        }
    }
}

impl StateOffset {
    /// Before every change.
    pub fn start() -> Self {
        Self::default()
    }

    /// How far one sequence was read; none from its start.
    pub fn position(&self, sequence: u16) -> Option<&StatePosition> {
        self.positions.get(&sequence)
    }

    /// Goes on to a change of a sequence.
    pub fn advance(&mut self, sequence: u16, position: StatePosition) {
        self.positions.insert(sequence, position);
    }
}

/// `0.17.6:Post|a,1.3.6:Post|b`: the sequence, the number, and the id behind its length in bytes.
impl fmt::Display for StateOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, (sequence, position)) in self.positions.iter().enumerate() {
            let separator = if count == 0 { "" } else { "," };
            let id = position.persistence_id.as_str();
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

/// Reads one position; gives what follows on it.
fn parse_one<'t>(text: &'t str, offset: &mut StateOffset) -> Option<&'t str> {
    let (numbers, rest) = text.split_once(':')?;
    let mut numbers = numbers.splitn(3, '.');
    let sequence = numbers.next()?.parse().ok()?;
    let ordering = numbers.next()?.parse().ok()?;
    let length = numbers.next()?.parse().ok()?;
    let id = PersistenceId::try_of_unique(rest.get(..length)?).ok()?;
    offset.advance(sequence, StatePosition::new(ordering, id));
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
    }

    #[test]
    fn nothing_else_is_an_offset() {
        for text in [
            "x",
            "0.1",
            "0.1.3:ab",
            "0.1.2:ab,",
            "0.1.2:ab;",
            "0.1.0:",
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
