//! What becomes of each write of a group, decided from what is stored.

use actix_persistence_storage_api::{EventRecord, Payload, Timestamp};

use super::*;

const LIMIT: usize = 10;

fn write(
    id: &str,
    epoch: Epoch,
    numbers: std::ops::RangeInclusive<u64>,
    size: usize,
) -> AtomicWrite {
    let events = numbers.map(|number| {
        let payload = Payload::new(1, "m", vec![0; size]);
        EventRecord::new(number, Timestamp::UNSET, WriterId::NIL, payload)
    });
    AtomicWrite::new(PersistenceId::of_unique(id), epoch, events.collect()).unwrap()
}

fn outcomes(writes: &[AtomicWrite], losers: &[(&str, Epoch, SequenceNr)]) -> String {
    let losers = losers.iter().map(|&(id, epoch, sequence_nr)| {
        let writer = WriterId::NIL;
        let position = WriterPosition {
            writer,
            epoch,
            sequence_nr,
        };
        (id.to_owned(), position)
    });
    let outcomes = decide(writes, &losers.collect(), LIMIT);
    let letters = outcomes.iter().map(|outcome| match outcome {
        WriteOutcome::Stored => 'S',
        WriteOutcome::Rejected(_) => 'R',
        WriteOutcome::Failed(_) => 'F',
        WriteOutcome::Skipped => '-',
    });
    letters.collect()
}

#[test]
fn writes_of_one_id_must_follow_on_each_other_with_one_epoch() {
    let group = [write("a", 1, 5..=6, 1), write("a", 1, 7..=7, 1)];
    assert_eq!(outcomes(&group, &[]), "SS");
    let gap = [
        write("a", 1, 5..=6, 1),
        write("a", 1, 8..=8, 1),
        write("a", 1, 7..=7, 1),
    ];
    assert_eq!(outcomes(&gap, &[]), "SF-");
    let epochs = [write("a", 1, 5..=5, 1), write("a", 2, 6..=6, 1)];
    assert_eq!(outcomes(&epochs, &[]), "SF");
}

#[test]
fn one_id_that_loses_does_not_harm_the_others() {
    let group = [
        write("a", 1, 5..=5, 1),
        write("b", 1, 1..=1, 1),
        write("a", 1, 6..=6, 1),
        write("b", 1, 2..=2, 1),
    ];
    assert_eq!(outcomes(&group, &[("a", 2, 4)]), "FS-S");
}

#[test]
fn an_event_that_is_too_large_is_rejected_whatever_else_is_wrong_with_it() {
    let group = [
        write("a", 1, 1..=1, LIMIT),
        write("a", 1, 2..=2, LIMIT + 1),
        write("a", 1, 3..=3, 1),
        write("b", 1, 9..=9, LIMIT + 1),
    ];
    assert_eq!(outcomes(&group, &[("b", 2, 4)]), "SR-R");
}

#[test]
fn a_conflict_names_both_writers_and_where_they_stand() {
    let group = [write("a", 1, 5..=5, 1), write("a", 1, 5..=5, 1)];
    let outcomes = decide(&group, &HashMap::new(), LIMIT);
    let WriteOutcome::Failed(error) = &outcomes[1] else {
        unreachable!("the second write repeats the first: {outcomes:?}")
    };
    let conflict = error.conflict().unwrap();
    assert_eq!(conflict.refused.sequence_nr, 5);
    assert_eq!((conflict.stored.sequence_nr, conflict.stored.epoch), (5, 1));
    assert!(error.is_certainly_not_stored());
}

#[test]
fn numbers_beyond_what_sqlite_stores_never_follow_on() {
    let last = i64::MAX as u64;
    assert_eq!(number_before(&write("a", 1, last..=last, 1)), i64::MAX - 1);
    assert_eq!(number_before(&write("a", 1, last..=last + 1, 1)), -1);
    assert_eq!(number_before(&write("a", 1, last + 1..=last + 1, 1)), -1);
}
