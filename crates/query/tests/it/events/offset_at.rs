//! The place of a time in the order of commits.

use std::time::Duration;

use actix_persistence_query::{EventQuery, QuerySettings, RecordEnvelope};
use actix_persistence_storage_api::{
    EventDeletion, EventOffset, EventRecord, EventSelection, Journal, PersistenceId,
    StorageErrorKind, Timestamp,
};
use fastrand::Rng;
use futures_util::TryStreamExt;

use super::fixture::{Said, id, said};
use super::partitioned::{Partitioned, on_paused_clock};

const MARGIN: Duration = Duration::from_secs(5);

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn written_at(number: u64, micros: i64) -> EventRecord {
    let mut event = said(number, "word");
    event.timestamp = at(micros);
    event
}

async fn after(queries: &EventQuery, offset: EventOffset) -> Vec<RecordEnvelope> {
    let records = queries.current_event_records(EventSelection::all(), offset);
    records.try_collect().await.unwrap()
}

#[test]
fn nothing_is_before_a_time_where_there_are_no_events() {
    on_paused_clock(async {
        let journal = Partitioned::new(8, None, QuerySettings::default());
        for time in [Timestamp::MIN, Timestamp::now(), Timestamp::MAX] {
            let offset = journal.queries.offset_at(time).await.unwrap();
            assert_eq!(offset, EventOffset::start());
        }
    });
}

#[test]
fn a_time_before_all_events_is_the_start_and_one_to_come_the_end() {
    on_paused_clock(async {
        let journal = Partitioned::new(8, None, QuerySettings::default());
        for name in ["a", "b", "c", "d"] {
            journal.store(&id(name), written_at(1, 1_000)).await;
        }
        let queries = &journal.queries;
        let before = queries.offset_at(at(1_000)).await.unwrap();
        assert_eq!(after(queries, before).await.len(), 4);
        let far = queries.offset_at(Timestamp::MAX).await.unwrap();
        assert_eq!(after(queries, far.clone()).await.len(), 0);
        // What is stored later comes, whatever its time.
        journal.store(&id("a"), written_at(2, 1_001)).await;
        let later = after(queries, far).await;
        assert_eq!(later.len(), 1);
        assert_eq!(later[0].record.sequence_nr, 2);
    });
}

#[test]
fn the_margin_is_taken_from_the_time() {
    on_paused_clock(async {
        let journal = Partitioned::new(1, None, QuerySettings::default());
        for number in 1..=100 {
            let second = 1_000_000 * number as i64;
            journal.store(&id("a"), written_at(number, second)).await;
        }
        let (queries, time) = (&journal.queries, at(80_000_000));
        for (margin, first) in [(0, 80), (1, 79), (30, 50), (79, 1), (1_000, 1)] {
            let margin = Duration::from_secs(margin);
            let offset = queries.offset_at_within(time, margin).await.unwrap();
            let events = after(queries, offset).await;
            assert_eq!(events[0].record.sequence_nr, first, "{margin:?}");
        }
        let offset = queries.offset_at(time).await.unwrap();
        assert_eq!(after(queries, offset).await[0].record.sequence_nr, 20);
        let before = journal.pages();
        queries.offset_at(time).await.unwrap();
        let pages = journal.pages() - before;
        assert!(pages <= 9, "{pages} pages for 100 numbers");
    });
}

/// Stores events at random, deletes some, and asks for the place of random times.
fn no_event_of_the_time_is_missing(partitions: u16, seed: u64) {
    on_paused_clock(async {
        let mut rng = Rng::with_seed(seed);
        let journal = Partitioned::new(partitions, Some(seed), QuerySettings::default());
        let ids: Vec<PersistenceId> = (0..10).map(|nr| id(&nr.to_string())).collect();
        let mut numbers = [0; 10];
        let mut clock = 0;
        let margin = MARGIN.as_micros() as i64;
        for _ in 0..rng.usize(..150) {
            clock += [0, 1, margin / 3, 4 * margin][rng.usize(..4)];
            let nr = rng.usize(..ids.len());
            numbers[nr] += 1;
            // Clocks differ, and events wait for their commits.
            let time = clock - rng.i64(0..=margin);
            let event = written_at(numbers[nr], time);
            journal.store_elsewhere(&ids[nr], event).await;
        }
        for (id, number) in ids.iter().zip(numbers) {
            if rng.bool() && number > 0 {
                let deletion = EventDeletion::up_to(rng.u64(0..=number));
                let deleted = journal.journal.delete_messages_to(id, deletion).await;
                deleted.unwrap();
            }
        }
        let queries = &journal.queries;
        let all = after(queries, EventOffset::start()).await;
        for _ in 0..10 {
            let time = rng.i64(-margin..clock + 3 * margin);
            let offset = queries.offset_at_within(at(time), MARGIN).await.unwrap();
            let found = after(queries, offset).await;
            let of_the_time = |events: &[RecordEnvelope], from: i64| {
                let events = events.iter();
                events
                    .filter(|event| event.record.timestamp >= at(from))
                    .count()
            };
            assert_eq!(of_the_time(&found, time), of_the_time(&all, time), "{seed}");
            assert_eq!(
                of_the_time(&found, time - 2 * margin),
                found.len(),
                "{seed}"
            );
        }
    });
}

#[test]
fn no_event_of_a_time_is_missing_after_its_offset() {
    for seed in 0..20 {
        for partitions in [1, 4, 64] {
            no_event_of_the_time_is_missing(partitions, seed);
        }
    }
}

#[test]
fn an_error_of_the_journal_is_that_of_the_search() {
    on_paused_clock(async {
        let journal = Partitioned::new(1, None, QuerySettings::default());
        journal.store(&id("a"), written_at(1, 1)).await;
        let errors = vec![StorageErrorKind::Backend];
        journal.journal.script().errors = errors;
        let error = journal.queries.offset_at(at(9)).await.unwrap_err();
        assert!(error.to_string().contains("query events"), "{error}");
    });
}

#[test]
fn a_reader_that_has_reached_the_newest_offset_got_everything() {
    on_paused_clock(async {
        let journal = Partitioned::new(4, None, QuerySettings::default());
        for name in ["a", "b", "c", "d", "e"] {
            journal.store(&id(name), said(1, "word")).await;
        }
        let selection = EventSelection::all();
        let newest = journal.queries.newest_offset(&selection).await.unwrap();
        let mut events = journal
            .queries
            .current_events::<Said>(selection, EventOffset::start());
        assert!(!events.offset().has_reached(&newest));
        while events.try_next().await.unwrap().is_some() {}
        assert!(events.offset().has_reached(&newest));
        assert_eq!(after(&journal.queries, newest).await.len(), 0);
    });
}
