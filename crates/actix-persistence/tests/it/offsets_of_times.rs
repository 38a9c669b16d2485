//! The place of a time in the order of commits, on every database.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence::prelude::*;
use actix_persistence::query::{EventOffset, EventQuery, EventSelection, RecordEnvelope};
use actix_persistence::storage_api::{
    AtomicWrite, EventDeletion, EventRecord, Fence, Journal, Payload, PurgeProgress, StateOffset,
    Timestamp, WriterId,
};
use futures_util::TryStreamExt;

use crate::note::{Note, Write, Written};
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
    let mut last_written = HashMap::new();
    for write in 0..100 {
        clock += [0, 1, margin / 3, 4 * margin][rng.usize(..4)];
        let id = &ids[rng.usize(..ids.len())];
        last_written.insert(id, write);
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
    // The newest event among them.
    let newest_id = ids.iter().max_by_key(|id| last_written.get(*id).copied());
    for id in ids[6..9].iter().chain(newest_id) {
        while journal.purge(id).await.unwrap() != PurgeProgress::Done {}
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

/// Returns the notes whose last change comes after an offset.
async fn notes_after(persistence: &Persistence, offset: StateOffset) -> Vec<String> {
    let queries = persistence.state_queries(None).unwrap();
    let changes = queries.current_changes_by_slices::<Written>("Note", 0..=1023, offset);
    let changes: Vec<_> = changes.try_collect().await.unwrap();
    let ids = changes
        .iter()
        .map(|change| change.persistence_id().to_string());
    ids.collect()
}

/// As for events: of each state its last change has a time.
pub(crate) async fn no_change_of_a_time_is_missing_after_its_offset(kind: &'static str) {
    let names: [&'static str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
    let place = Place::new(kind, "state_times");
    let persistence = place.open().await;
    let queries = persistence.state_queries(None).unwrap();
    for time in [Timestamp::MIN, Timestamp::now(), Timestamp::MAX] {
        let offset = queries.offset_at("Note", time).await.unwrap();
        assert_eq!(offset, StateOffset::start());
    }
    let notes = names.map(|name| persistence.start(move || Note::named(name)).unwrap());
    let mut times = Vec::new();
    // Each round changes fewer of them.
    for round in 0..4 {
        let time = Timestamp::now();
        times.push(time);
        while Timestamp::now() <= time {}
        for note in &notes[2 * round..] {
            note.send(Write('a')).await.unwrap().unwrap();
        }
    }
    for (round, time) in times.iter().enumerate() {
        let offset = queries
            .offset_at_within("Note", *time, Duration::ZERO)
            .await;
        let found = notes_after(&persistence, offset.unwrap()).await;
        for name in &names[2 * round..] {
            assert!(
                found.contains(&format!("Note|{name}")),
                "{round}: {found:?}"
            );
        }
        let earlier = found.len() - names[2 * round..].len();
        assert!(earlier <= PARTITIONS, "{round}: {found:?}");
        let early = queries.offset_at("Note", *time).await.unwrap();
        assert_eq!(notes_after(&persistence, early).await.len(), names.len());
    }
    let future = queries.offset_at("Note", Timestamp::MAX).await.unwrap();
    assert_eq!(notes_after(&persistence, future.clone()).await.len(), 0);
    notes[0].send(Write('a')).await.unwrap().unwrap();
    assert_eq!(notes_after(&persistence, future).await, ["Note|1"]);
    let past = queries.offset_at("Note", Timestamp::MIN).await.unwrap();
    assert_eq!(past, StateOffset::start());
    let other = queries.offset_at("Other", Timestamp::MAX).await.unwrap();
    assert_eq!(other, StateOffset::start());
}
