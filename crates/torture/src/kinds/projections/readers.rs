//! The readers that follow the events, from one process to the next, and what they were shown.

use std::collections::BTreeMap;
use std::sync::Mutex;

use actix_persistence::storage_api::slice_of;

use crate::run::hold;
use crate::workers::projections::reading::{Reading, Shown};
use crate::workers::projections::writing::has_tag;

/// All readers, by their numbers.
pub(super) struct Readers(Mutex<Vec<Reader>>);

struct Reader {
    reading: Reading,
    /// The numbers of each id, in the order in which they were shown.
    shown: BTreeMap<String, Vec<i64>>,
}

impl Readers {
    /// Of everything, of a tag, of slices, and of both.
    pub(super) fn new() -> Self {
        let ways = [
            ((0, 1023), false),
            ((0, 1023), true),
            ((200, 699), false),
            ((600, 1023), true),
        ];
        let reader = |(number, (slices, of_tag))| Reader {
            reading: Reading {
                number,
                slices,
                of_tag,
                offset: String::new(),
            },
            shown: BTreeMap::new(),
        };
        Self(Mutex::new(
            ways.into_iter().enumerate().map(reader).collect(),
        ))
    }

    /// Makes none, for a server that may take back what it has shown.
    pub(super) fn none() -> Self {
        Self(Mutex::default())
    }

    /// Returns all of them, each from where it is.
    pub(super) fn readings(&self) -> Vec<Reading> {
        let readers = hold(&self.0);
        readers
            .iter()
            .map(|reader| reader.reading.clone())
            .collect()
    }

    /// Takes note of an event that was shown.
    pub(super) fn hear(&self, shown: Shown) {
        if let Some(reader) = hold(&self.0).get_mut(shown.reader) {
            reader.reading.offset = shown.offset;
            reader.shown.entry(shown.id).or_default().push(shown.nr);
        }
    }

    /// Returns what is wrong with what they were shown, of these events; and the number of events shown.
    pub(super) fn faults(&self, stored: &BTreeMap<String, Vec<i64>>) -> (Vec<String>, usize) {
        let (mut faults, mut count) = (Vec::new(), 0);
        for Reader { reading, shown } in &*hold(&self.0) {
            let (first, last) = reading.slices;
            let mut right: BTreeMap<&String, Vec<i64>> = BTreeMap::new();
            for (id, numbers) in stored {
                let slice = slice_of(id);
                if !(first..=last).contains(&slice) {
                    continue;
                }
                let numbers = numbers.iter().filter(|nr| !reading.of_tag || has_tag(**nr));
                right.insert(id, numbers.copied().collect());
            }
            right.retain(|_, numbers| !numbers.is_empty());
            count += shown.values().map(Vec::len).sum::<usize>();
            for id in right.keys().copied().chain(shown.keys()) {
                let (stored, shown) = (right.get(id), shown.get(id));
                if stored != shown {
                    faults.push(format!(
                        "a reader of the slices {first} to {last}, of a tag: {}, is shown of {id:?} {shown:?} of {stored:?}",
                        reading.of_tag
                    ));
                }
            }
        }
        (faults, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows(numbers: &[i64]) -> bool {
        let readers = Readers::new();
        for reader in readers.readings() {
            let slice = slice_of("Tally|1");
            let is_in = (reader.slices.0..=reader.slices.1).contains(&slice);
            for nr in numbers.iter().filter(|nr| !reader.of_tag || has_tag(**nr)) {
                if is_in {
                    readers.hear(Shown {
                        reader: reader.number,
                        id: "Tally|1".to_owned(),
                        nr: *nr,
                        offset: String::new(),
                    });
                }
            }
        }
        let stored = BTreeMap::from([("Tally|1".to_owned(), vec![1, 2, 3])]);
        readers.faults(&stored).0.is_empty()
    }

    #[test]
    fn what_is_missing_or_shown_twice_or_out_of_order_is_found() {
        assert!(shows(&[1, 2, 3]));
        let others: [&[i64]; 5] = [&[], &[1, 2], &[1, 1, 2, 3], &[2, 1, 3], &[1, 2, 3, 4]];
        for other in others {
            assert!(!shows(other), "{other:?}");
        }
    }
}
