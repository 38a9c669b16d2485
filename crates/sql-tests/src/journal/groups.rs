//! Groups of many ids, stored by several statements or by one text for all.

use actix_persistence_storage_api::{
    AtomicWrite, Journal, PersistenceId, StorageErrorKind, WriteOutcome, WriterId,
};
use actix_persistence_tck::TakeOverOne;

use crate::Tables;
use crate::steps::{event, failure, id, numbers, store, write};

/// More than one statement takes.
const MANY: u64 = 300;

/// Takes so many ids over; returns each with its epoch.
pub async fn take_over(
    journal: &dyn Journal,
    number: u64,
    writer: WriterId,
) -> Vec<(PersistenceId, u64)> {
    let mut taken = Vec::new();
    for number in 0..number {
        let id = id(&format!("{number:03}"));
        let epoch = journal.take_over_one(&id, writer).await.unwrap().epoch;
        taken.push((id, epoch));
    }
    taken
}

/// Returns a write of events with two tags each.
pub fn tagged(
    id: &PersistenceId,
    epoch: u64,
    writer: WriterId,
    from: u64,
    number: u64,
) -> AtomicWrite {
    let events = (from..from + number)
        .map(|number| event(number, writer, "x").with_tags(["even".into(), format!("n:{number}")]));
    AtomicWrite::new(id.clone(), epoch, events.collect()).unwrap()
}

/// Losers in several statements.
pub async fn a_loser_among_many_winners_is_left_out_with_its_tags(place: &dyn Tables) {
    let journal = place.journal().await;
    let writer = WriterId::random();
    let taken = take_over(&*journal, MANY, writer).await;
    // Some in each statement lose: for the epoch, for a number that is stored already, and for numbers that are not due.
    let losers = [5, 7, 140, 290];
    let (id_of_7, epoch_of_7) = &taken[7];
    let first = vec![write(id_of_7, *epoch_of_7, writer, 1..=1)];
    assert!(journal.write_messages(first).await.unwrap()[0].is_stored());
    let robbed = journal.take_over_one(&taken[5].0, WriterId::random());
    robbed.await.unwrap();
    let group = taken.iter().enumerate().map(|(place, (id, epoch))| {
        let from = if losers[2..].contains(&place) { 2 } else { 1 };
        tagged(id, *epoch, writer, from, 1 + place as u64 % 3)
    });
    let outcomes = journal.write_messages(group.collect()).await.unwrap();
    let mut events = 0;
    for (place, outcome) in outcomes.iter().enumerate() {
        let stored = numbers(&*journal, &taken[place].0).await;
        if losers.contains(&place) {
            let error = failure(outcome);
            assert_eq!(error.kind(), StorageErrorKind::SequenceConflict);
            assert_eq!(stored.len(), usize::from(place == 7));
        } else {
            assert!(outcome.is_stored(), "{outcome:?}");
            assert_eq!(stored.len() as u64, 1 + place as u64 % 3);
            events += stored.len() as i64;
        }
    }
    let tags = place.number("SELECT COUNT(*) FROM event_tag").await;
    assert_eq!(tags, 2 * events);
    store(&*journal, &taken[0].0, 1).await;
}

/// Several writes of each id in one call, with numbers that no statement has.
pub async fn events_of_an_id_on_both_sides_of_a_statement_are_stored(place: &dyn Tables) {
    let journal = place.journal().await;
    let writer = WriterId::random();
    let taken = take_over(&*journal, 3, writer).await;
    for round in 0..3 {
        // Numbers that are not those of statements; each id goes on in the next one, and in writes of its own.
        let group = [100, 60, 40]
            .into_iter()
            .zip(&taken)
            .flat_map(|(number, (id, epoch))| {
                let from = round * (number + 7) + 1;
                [
                    write(id, *epoch, writer, from..=from + number - 1),
                    tagged(id, *epoch, writer, from + number, 7),
                ]
            });
        let outcomes = journal.write_messages(group.collect()).await.unwrap();
        assert!(outcomes.iter().all(WriteOutcome::is_stored), "{outcomes:?}");
    }
    for (number, (id, _)) in [107, 67, 47].into_iter().zip(&taken) {
        let expected: Vec<u64> = (1..=3 * number).collect();
        assert_eq!(numbers(&*journal, id).await, expected);
    }
}
