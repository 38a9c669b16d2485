//! Unit tests of what is kept.

use actix_persistence_storage_api::{EventRecord, Payload, PersistenceId, Timestamp, WriterId};

use super::*;

fn row(number: u64, bytes: usize) -> EventRow {
    let payload = Payload::new(1, "said", vec![7; bytes]);
    let event = EventRecord::new(number, Timestamp::now(), WriterId::NIL, payload);
    let id = PersistenceId::of("Test", "a");
    EventRow::new(id.clone(), id.slice(), event)
}

/// Lets a journal store events with these numbers in the order of commits.
fn store(recent: &Recent, orderings: impl IntoIterator<Item = i64>, bytes: usize) {
    let orderings: Vec<_> = orderings.into_iter().collect();
    let mut group = Group {
        events: orderings.iter().map(|_| row(1, bytes)).collect(),
        ..Group::default()
    };
    let Some(to_keep) = recent.begin(&mut group, |_| Some(Partition::ONLY)) else {
        return;
    };
    assert!(group.asks_numbers);
    to_keep.keep(&orderings);
}

fn orderings(recent: &Recent, first: i64) -> Vec<i64> {
    let kept = recent.of(Partition::ONLY, first);
    kept.iter().map(|kept| kept.ordering).collect()
}

#[test]
fn events_are_kept_while_there_is_a_reader_and_until_they_are_read() {
    let recent = Recent::default();
    store(&recent, 1..=3, 10);
    assert!(orderings(&recent, 0).is_empty());
    assert!(!recent.may_be_asked_for());
    recent.is_read();
    store(&recent, [6, 7], 10);
    store(&recent, [4, 5], 10);
    assert_eq!(orderings(&recent, 5), [5, 6, 7]);
    assert!(recent.may_be_asked_for());
    recent.forget(Partition::ONLY, 6);
    assert_eq!(orderings(&recent, 0), [7]);
}

#[test]
fn a_group_is_under_way_until_it_is_kept_or_has_failed() {
    let recent = Recent::default();
    recent.is_read();
    let begin = || {
        let mut group = Group {
            events: vec![row(1, 10)],
            ..Group::default()
        };
        let to_keep = recent.begin(&mut group, |_| Some(Partition::ONLY));
        to_keep.unwrap()
    };
    let [kept, lost] = [begin(), begin()];
    kept.keep(&[1]);
    assert!(recent.under_way().contains(&Partition::ONLY));
    drop(lost);
    assert!(recent.under_way().is_empty());
    assert_eq!(orderings(&recent, 0), [1]);
}

#[test]
fn the_oldest_events_give_way_to_others() {
    let recent = Recent::default();
    recent.is_read();
    let most = MOST_EVENTS as i64;
    store(&recent, 0..most, 1);
    store(&recent, [most, most + 1], 1);
    assert_eq!(orderings(&recent, 0).first(), Some(&2));
    assert_eq!(orderings(&recent, 0).len(), MOST_EVENTS);
    store(&recent, [most + 2], MOST_BYTES);
    assert_eq!(orderings(&recent, 0), [most + 2]);
}

#[test]
fn the_longer_nothing_is_confirmed_the_less_often_it_is_asked() {
    let recent = Recent::default();
    recent.is_read();
    store(&recent, [1], 1);
    for pages in [0, 1, 3, 7, 15, 31, 63, 63] {
        recent.was_confirmed(false);
        for _ in 0..pages {
            assert!(!recent.may_be_asked_for());
        }
        assert!(recent.may_be_asked_for());
    }
    recent.was_confirmed(true);
    recent.was_confirmed(false);
    assert!(recent.may_be_asked_for());
}
