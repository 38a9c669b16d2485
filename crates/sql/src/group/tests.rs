//! The outcome of each write of a call, and the rows that the database is asked to store.

use std::ops::RangeInclusive;

use actix_persistence_storage_api::{Payload, Timestamp};

use super::*;

const LIMIT: usize = 10;

fn write(id: &str, epoch: Epoch, numbers: RangeInclusive<u64>, size: usize) -> AtomicWrite {
    write_at(id, epoch.into(), numbers, size)
}

/// A write that takes its id over.
fn claim(id: &str, from: Epoch, numbers: RangeInclusive<u64>) -> AtomicWrite {
    write_at(id, Fence::TakesOver { from }, numbers, 1)
}

fn write_at(id: &str, fence: Fence, numbers: RangeInclusive<u64>, size: usize) -> AtomicWrite {
    let events = numbers.map(|number| {
        let payload = Payload::new(1, "m", vec![0; size]);
        EventRecord::new(number, Timestamp::UNSET, WriterId::NIL, payload)
    });
    AtomicWrite::new(PersistenceId::of_unique(id), fence, events.collect()).unwrap()
}

/// Returns the rows that the database is asked to store, and the outcomes when it lets these ids lose.
fn play(writes: &[AtomicWrite], losers: &[&str]) -> (Group, Vec<WriteOutcome>) {
    let (mut plan, group) = plan(writes.to_vec(), LIMIT, |_| None);
    let losers = losers.iter().map(|id| PersistenceId::of_unique(id));
    let losers: Vec<_> = losers.chain(plan.take_lost()).collect();
    let position = WriterPosition {
        writer: WriterId::NIL,
        epoch: 7,
        sequence_nr: 70,
    };
    let positions = losers.into_iter().map(|id| (id, position)).collect();
    (group, plan.outcomes(&positions))
}

fn outcomes(writes: &[AtomicWrite], losers: &[&str]) -> String {
    let (_, outcomes) = play(writes, losers);
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
    assert_eq!(outcomes(&group, &["a"]), "FS-S");
}

#[test]
fn whatever_comes_after_the_write_that_lost_is_skipped() {
    let group = [
        write("a", 1, 5..=5, 1),
        write("a", 1, 6..=6, LIMIT + 1),
        write("a", 2, 9..=9, 1),
    ];
    assert_eq!(outcomes(&group, &[]), "SR-");
    assert_eq!(outcomes(&group, &["a"]), "F--");
}

#[test]
fn an_event_that_is_too_large_is_rejected_whatever_else_is_wrong_with_it() {
    let group = [
        write("a", 1, 1..=1, LIMIT),
        write("a", 1, 2..=2, LIMIT + 1),
        write("a", 1, 3..=3, 1),
        write("b", 0, 9..=9, LIMIT + 1),
    ];
    assert_eq!(outcomes(&group, &[]), "SR-R");
}

#[test]
fn an_id_that_was_never_taken_over_loses_without_asking_the_database() {
    let (group, outcomes) = play(&[write("a", 0, 1..=1, 1)], &[]);
    assert!(matches!(&outcomes[..], [WriteOutcome::Failed(_)]));
    assert!(group.heads.is_empty() && group.events.is_empty());
}

#[test]
fn numbers_that_no_database_can_store_lose() {
    let last = i64::MAX as u64;
    let group = [
        write("a", 1, last..=last, 1),
        write("a", 1, last + 1..=last + 1, 1),
    ];
    assert_eq!(outcomes(&group, &[]), "SF");
    let beyond = u64::MAX - 9;
    assert_eq!(outcomes(&[write("a", 1, beyond..=beyond, 1)], &[]), "F");
}

#[test]
fn a_conflict_names_both_writers_and_where_they_stand() {
    let (_, outcomes) = play(&[write("a", 1, 5..=6, 1)], &["a"]);
    let [WriteOutcome::Failed(error)] = &outcomes[..] else {
        panic!("{outcomes:?}");
    };
    let conflict = error.sequence_conflict().unwrap();
    assert_eq!(
        (conflict.refused.epoch, conflict.refused.sequence_nr),
        (1, 5)
    );
    assert_eq!(
        (conflict.stored.epoch, conflict.stored.sequence_nr),
        (7, 70)
    );
    assert!(error.is_not_stored());
}

#[test]
fn a_head_spans_all_that_is_to_be_stored_of_its_id() {
    let writes = [
        write("b", 3, 5..=6, 1),
        write("a", 1, 1..=1, 1),
        write("b", 3, 7..=7, 1),
        write("b", 3, 9..=9, 1),
    ];
    let (group, _) = play(&writes, &[]);
    let heads: Vec<_> = group
        .heads
        .iter()
        .map(|head| (head.id.as_str(), head.epoch, head.before, head.last))
        .collect();
    assert_eq!(heads, [("a", 1, 0, 1), ("b", 3, 4, 7)]);
    let numbers: Vec<_> = group.events.iter().map(EventRow::sequence_nr).collect();
    assert_eq!(numbers, [5, 6, 1, 7]);
}

#[test]
fn a_tag_given_twice_is_kept_once() {
    let payload = Payload::new(1, "m", vec![0]);
    let event = EventRecord::new(1, Timestamp::UNSET, WriterId::NIL, payload);
    let event = event.with_tags(["red", "blue", "red"]);
    let write = AtomicWrite::new(PersistenceId::of_unique("a"), 1, vec![event]).unwrap();
    let (group, _) = play(&[write], &[]);
    assert_eq!(
        &group.events[0].event.tags[..],
        ["blue".into(), "red".into()]
    );
}

/// Returns the id, the epoch before and afterwards, whether it is taken over, and the highest number before and
/// afterwards.
fn heads(group: &Group) -> Vec<(&str, i64, i64, bool, i64, i64)> {
    let head = |head: &Head| {
        let taken_over = head.taken_over_by.is_some();
        (head.epoch, head.epoch_afterwards, taken_over)
    };
    let with_numbers = |one| {
        let (before, afterwards, taken_over) = head(one);
        (
            one.id.as_str(),
            before,
            afterwards,
            taken_over,
            one.before,
            one.last,
        )
    };
    group.heads.iter().map(with_numbers).collect()
}

#[test]
fn an_id_without_a_writer_is_taken_over_and_held_in_one_call() {
    let writes = [
        claim("a", 0, 1..=2),
        write("a", 1, 3..=3, 1),
        write("b", 4, 7..=7, 1),
    ];
    let (group, outcomes) = play(&writes, &[]);
    assert!(outcomes.iter().all(WriteOutcome::is_stored));
    let expected = [("a", 0, 1, true, 0, 3), ("b", 4, 4, false, 6, 7)];
    assert_eq!(heads(&group), expected);
    assert!(group.takes_over());
}

#[test]
fn writers_of_one_call_may_take_an_id_over_from_each_other() {
    let writes = [
        write("a", 3, 5..=5, 1),
        claim("a", 3, 6..=6),
        claim("a", 4, 7..=7),
    ];
    assert_eq!(outcomes(&writes, &[]), "SSS");
    let (group, _) = play(&writes, &[]);
    assert_eq!(heads(&group), [("a", 3, 5, true, 4, 7)]);
}

#[test]
fn a_write_at_an_epoch_that_one_before_it_ended_loses() {
    let held = [claim("a", 3, 6..=6), write("a", 3, 7..=7, 1)];
    assert_eq!(outcomes(&held, &[]), "SF");
    let again = [
        claim("a", 3, 6..=6),
        claim("a", 3, 7..=7),
        claim("a", 4, 8..=8),
    ];
    assert_eq!(outcomes(&again, &[]), "SF-");
    let (group, _) = play(&again, &[]);
    assert_eq!(heads(&group), [("a", 3, 4, true, 5, 6)]);
}

#[test]
fn everything_of_an_id_loses_with_the_write_that_was_to_take_it_over() {
    let writes = [
        claim("a", 0, 1..=1),
        write("b", 1, 1..=1, 1),
        write("a", 1, 2..=2, 1),
    ];
    assert_eq!(outcomes(&writes, &["a"]), "FS-");
}

#[test]
fn a_rejected_write_takes_nothing_over() {
    let large = write_at("a", Fence::TakesOver { from: 0 }, 1..=1, LIMIT + 1);
    let writes = [large, write("a", 1, 2..=2, 1)];
    assert_eq!(outcomes(&writes, &[]), "R-");
    assert!(play(&writes, &[]).0.heads.is_empty());
}

#[test]
fn epochs_that_no_database_can_store_lose() {
    let last = i64::MAX as u64;
    for from in [last, last + 1, u64::MAX] {
        let (group, outcomes) = play(&[claim("a", from, 1..=1)], &[]);
        assert!(matches!(&outcomes[..], [WriteOutcome::Failed(_)]), "{from}");
        assert!(group.heads.is_empty() && group.events.is_empty());
    }
    let writes = [claim("a", last - 1, 1..=1), claim("a", last, 2..=2)];
    assert_eq!(outcomes(&writes, &[]), "SF");
}

#[test]
fn a_group_of_many_events_or_bytes_is_not_copied() {
    for (events, size, is_small) in [
        (1, 1, true),
        (32, 1_000, true),
        (33, 1, false),
        (1, 100_000, false),
        (32, 3_000, false),
    ] {
        let (_, group) = plan(vec![write("a", 1, 1..=events, size)], 1_000_000, |_| None);
        assert_eq!(group.is_small(), is_small, "{events} of {size} bytes");
    }
}
