//! The place of a time in the order of commits, on every database.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence::prelude::*;
use actix_persistence::query::{EventOffset, EventQuery, EventSelection, RecordEnvelope};
use actix_persistence::storage_api::{
    AtomicWrite, EventDeletion, EventRecord, Fence, Journal, Payload, Timestamp, WriterId,
};
use futures_util::TryStreamExt;

use crate::projections::Place;

const MARGIN: Duration = Duration::from_secs(5);

/// The most partitions of a database here, each of which may have the rest of a transaction too much.
const PARTITIONS: usize = 8;

fn journal(kind: &str, persistence: &Persistence) -> Arc<dyn Journal> {
    match kind {
        #[cfg(feature = "postgres")]
        "postgres" => persistence
            .journal::<actix_persistence::postgres::PostgresJournal>("test")
            .unwrap(),
        #[cfg(feature = "mysql")]
        "mysql" => persistence
            .journal::<actix_persistence::mysql::MysqlJournal>("test")
            .unwrap(),
        _ => persistence
            .journal::<actix_persistence::sqlite::SqliteJournal>("test")
            .unwrap(),
    }
}

async fn after(queries: &EventQuery, offset: EventOffset) -> Vec<RecordEnvelope> {
    let records = queries.current_event_records(EventSelection::all(), offset);
    records.try_collect().await.unwrap()
}

/// Returns the number of events that were written at this time or later.
fn since(events: &[RecordEnvelope], micros: i64) -> usize {
    let time = Timestamp::from_micros(micros);
    let events = events.iter();
    events
        .filter(|event| event.record.timestamp >= time)
        .count()
}

pub(crate) async fn no_event_of_a_time_is_missing_after_its_offset(kind: &'static str) {
    let place = Place::new(kind, "times");
    let persistence = place.open().await;
    let journal = journal(kind, &persistence);
    let queries = persistence.event_queries(None).unwrap();
    let newest = |queries: EventQuery| async move {
        let newest = queries.newest_offset(&EventSelection::all()).await;
        newest.unwrap()
    };
    for time in [Timestamp::MIN, Timestamp::now(), Timestamp::MAX] {
        let offset = queries.offset_at(time).await.unwrap();
        assert_eq!(after(&queries, offset).await.len(), 0);
    }

    let seed = u64::from(std::process::id());
    let mut rng = fastrand::Rng::with_seed(seed);
    let ids: Vec<_> = (0..12)
        .map(|nr| PersistenceId::of("Sum", &format!("{nr}")))
        .collect();
    let (mut clock, margin) = (0, MARGIN.as_micros() as i64);
    for _ in 0..100 {
        clock += [0, 1, margin / 3, 4 * margin][rng.usize(..4)];
        let id = &ids[rng.usize(..ids.len())];
        let head = journal.read_head(id).await.unwrap();
        let numbers = head.highest_sequence_nr + 1..=head.highest_sequence_nr + rng.u64(1..=2);
        let events = numbers.map(|number| {
            // Clocks differ, and events wait for their commits.
            let time = Timestamp::from_micros(clock - rng.i64(0..=margin));
            EventRecord::new(
                number,
                time,
                WriterId::NIL,
                Payload::new(1_000, "test", "test"),
            )
        });
        let fence = Fence::TakesOver { from: head.epoch };
        let write = AtomicWrite::new(id.clone(), fence, events.collect()).unwrap();
        let outcomes = journal.write_messages(vec![write]).await.unwrap();
        assert!(outcomes[0].is_stored(), "{outcomes:?}");
    }
    for id in &ids[..6] {
        let highest = journal.read_highest_sequence_nr(id).await.unwrap();
        let deletion = EventDeletion::up_to(rng.u64(0..=highest));
        journal.delete_messages_to(id, deletion).await.unwrap();
    }
    let all = after(&queries, EventOffset::start()).await;
    for _ in 0..15 {
        let time = rng.i64(-margin..clock + 3 * margin);
        let offset = queries
            .offset_at_within(Timestamp::from_micros(time), MARGIN)
            .await;
        let found = after(&queries, offset.unwrap()).await;
        assert_eq!(since(&found, time), since(&all, time), "{seed}");
        let too_many = found.len() - since(&found, time - 2 * margin);
        assert!(too_many <= PARTITIONS, "{too_many}, {seed}");
    }
    let future = queries.offset_at(Timestamp::MAX).await.unwrap();
    assert!(after(&queries, future).await.len() <= PARTITIONS);
    let past = queries.offset_at(Timestamp::MIN).await.unwrap();
    assert_eq!(past, EventOffset::start());
    assert_eq!(
        after(&queries, newest(queries.clone()).await).await.len(),
        0
    );

    for id in &ids {
        let highest = journal.read_highest_sequence_nr(id).await.unwrap();
        let deletion = EventDeletion::up_to(highest);
        journal.delete_messages_to(id, deletion).await.unwrap();
    }
    let offset = queries.offset_at(Timestamp::now()).await.unwrap();
    assert_eq!(after(&queries, offset).await.len(), 0);
}
