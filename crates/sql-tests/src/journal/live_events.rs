//! Live queries over events as an application sees them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_journal_actor::{JournalHandle, JournalSettings};
use actix_persistence_query::{EventQuery, QuerySettings};
use actix_persistence_storage_api::{
    EventOffset, EventRecord, EventSelection, Journal, PersistenceId, SequenceNr,
};
use actix_persistence_store_actor::{Observed, StoreThread};
use futures_util::future::{join, join_all};
use futures_util::{FutureExt, StreamExt};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::event_queries::{some_id, write_some};
use crate::Tables;

/// The time in which all is read.
const LONG: Duration = Duration::from_secs(60);

/// Streams that share a tail, some of which are dropped and go on from their offset, or take nothing for long, beside two journals
/// whose writes may lose to each other.
pub async fn live_streams_get_each_event_once_in_order_beside_writers(place: &dyn Tables) {
    let journals = [place.journal().await, place.journal().await];
    let reading = place.new_journal(place.section());
    read_beside(journals, reading).await;
}

/// The same streams over one of the two journals, which keeps what it stores.
pub async fn live_streams_of_a_writer_get_each_event_once_in_order(place: &dyn Tables) {
    let journals = [place.journal().await, place.journal().await];
    let reading = Arc::clone(&journals[0]);
    read_beside(journals, reading).await;
}

async fn read_beside(journals: [Arc<dyn Journal>; 2], reading: Arc<dyn Journal>) {
    let thread = StoreThread::start("events").unwrap();
    let (settings, runtime) = (JournalSettings::new("tests"), Handle::current());
    let handle = JournalHandle::start(reading, settings, runtime.clone(), &thread);
    let settings = QuerySettings::default()
        .with_page_size(20)
        .with_refresh_interval(Duration::from_millis(20));
    let queries = EventQuery::new(handle, runtime, (), settings).unwrap();
    let is_over = Observed::new(false);
    let writers = journals.iter().map(async |journal| {
        let mut stored = Vec::new();
        for _ in 0..60 {
            let mut ids: Vec<_> = (0..4).map(|_| some_id()).collect();
            ids.sort_unstable();
            ids.dedup();
            stored.extend(write_some(&**journal, &ids).await);
        }
        stored
    });
    let writing = async {
        let stored = join_all(writers).await.concat();
        is_over.update(|is_over| *is_over = true);
        stored
    };
    let all = EventSelection::all;
    let selections = [
        all(),
        all().with_tag("red"),
        all().of_entity_type("A"),
        all().of_slices(100..=700),
        all().of_slices(900..=1023).with_tag("Red"),
        all(),
    ];
    let readers = selections.iter().enumerate().map(async |(nr, selection)| {
        let mut stream = queries.event_records(selection.clone(), EventOffset::start());
        let mut got = Vec::new();
        while !is_over.get() {
            let next = timeout(Duration::from_millis(10), stream.next());
            if let Ok(record) = next.await {
                got.push(record.unwrap().unwrap());
            }
            match nr {
                // It is at the tail, and takes nothing more until all is written.
                0 if got.len() > 20 => {
                    is_over.wait_for(|is_over| *is_over).await;
                }
                1..=3 if fastrand::u8(..20) == 0 => {
                    let kept = stream.offset().to_string().parse().unwrap();
                    stream = queries.event_records(selection.clone(), kept);
                }
                _ => {}
            }
        }
        (got, stream)
    });
    let (stored, read) = join(writing, join_all(readers)).await;
    assert!(stored.len() > 100, "{} stored", stored.len());
    for (selection, (mut got, mut stream)) in selections.iter().zip(read) {
        let selected = stored
            .iter()
            .filter(|(id, event)| selection.selects(id, event));
        let mut expected: Vec<_> = selected.map(place_of).collect();
        while got.len() < expected.len() {
            let next = timeout(LONG, stream.next()).await;
            got.push(next.expect("all is given").unwrap().unwrap());
        }
        assert!(stream.next().now_or_never().is_none(), "{selection:?}");
        let mut last: HashMap<PersistenceId, SequenceNr> = HashMap::new();
        for record in &got {
            let number = record.record.sequence_nr;
            let before = last.insert(record.persistence_id.clone(), number);
            assert!(before.unwrap_or(0) < number, "{record:?} after {before:?}");
        }
        let got = got.into_iter();
        let mut found: Vec<_> = got
            .map(|it| (it.persistence_id, it.record.sequence_nr))
            .collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{selection:?}");
    }
}

fn place_of((id, event): &(PersistenceId, EventRecord)) -> (PersistenceId, SequenceNr) {
    (id.clone(), event.sequence_nr)
}
