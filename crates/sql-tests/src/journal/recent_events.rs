//! Tests of pages of events that the same journal stored a moment ago.

use std::time::Duration;

use actix_persistence_storage_api::{
    EventOffset, EventSelection, Journal, PersistenceId, PurgeProgress, StorageErrorKind,
};

use tokio::time::timeout;

use super::event_queries::{by_ids, page, read_all, some_id, some_selection, write_some};
use crate::Tables;
use crate::steps::{assert_error, id};

/// The time in which the database confirms something.
const LONG: Duration = Duration::from_secs(60);
/// The number of steps of a history.
const STEPS: usize = 120;

/// Reads everything, so that the journal has a reader at its tail and keeps what it stores from now on.
async fn at_the_tail(journal: &dyn Journal) -> EventOffset {
    let mut at = EventOffset::start();
    read_all(journal, &EventSelection::all(), &mut at).await;
    at
}

/// Damages rows after they were stored, which the journal does not read again; another opening finds the damage.
///
/// PostgreSQL does not confirm what is above the oldest transaction anywhere on the server, so it may take several attempts.
pub async fn an_event_that_is_still_kept_is_confirmed_and_not_read(place: &dyn Tables) {
    let [journal, other] = [place.journal().await, place.journal().await];
    let confirmed = async {
        loop {
            if let Some(at) = is_confirmed(place, &*journal).await {
                return at;
            }
            place
                .run("UPDATE event_journal SET adapter_manifest = ''")
                .await;
        }
    };
    let at = timeout(LONG, confirmed).await;
    let at = at.expect("the database confirms what is kept");
    let damaged = page(&*other, &EventSelection::all(), &at, 100).await;
    assert_error(&damaged.unwrap_err(), StorageErrorKind::Corrupt, "checksum");
}

/// Stores events and damages their rows; returns the offset before them if the journal returns them even so.
async fn is_confirmed(place: &dyn Tables, journal: &dyn Journal) -> Option<EventOffset> {
    let (ids, all) = ([id("a"), id("b")], EventSelection::all());
    let at = at_the_tail(journal).await;
    let stored = write_some(journal, &ids).await;
    place
        .run("UPDATE event_journal SET adapter_manifest = 'changed'")
        .await;
    let read = match page(journal, &all, &at, 100).await {
        Ok(read) if !read.events.is_empty() => read,
        Ok(_) => return None,
        Err(error) => {
            assert_error(&error, StorageErrorKind::Corrupt, "checksum");
            return None;
        }
    };
    assert!(!read.more);
    assert_eq!(read.events.len(), stored.len());
    for event in &read.events {
        assert_eq!(&*event.event.adapter_manifest, "", "{event:?}");
    }
    let newest = journal.event_queries()?.newest_offset(&all).await;
    assert!(read.offset.has_reached(&newest.unwrap()));
    Some(at)
}

/// Changes one of some rows together with its checksum: the journal sees that, and reads what is there.
pub async fn an_event_whose_row_has_another_sum_is_read_again(place: &dyn Tables) {
    let journal = place.journal().await;
    let (ids, all) = ([id("a"), id("b")], EventSelection::all());
    write_some(&*journal, &ids).await;
    let at = at_the_tail(&*journal).await;
    let stored = write_some(&*journal, &ids).await;
    place
        .run("UPDATE event_journal SET adapter_manifest = 'changed', checksum = NULL WHERE persistence_id = 'Test|a'")
        .await;
    let read = page(&*journal, &all, &at, 100).await.unwrap();
    assert_eq!(read.events.len(), stored.len());
    for event in read.events {
        let expected = match event.persistence_id == id("a") {
            true => "changed",
            false => "",
        };
        assert_eq!(&*event.event.adapter_manifest, expected);
    }
}

/// Two openings write, delete, purge and lose to each other at random; each reads on from where it was. Both get what a third
/// opening reads that stores nothing, and so keeps nothing.
pub async fn pages_of_recent_events_are_what_another_opening_reads(place: &dyn Tables) {
    let writers = [place.journal().await, place.journal().await];
    let reading = place.journal().await;
    let start = at_the_tail(&*writers[0]).await;
    let mut ats = [start.clone(), start];
    for step in 0..STEPS {
        // One of them mostly writes alone, so that it has all that there is.
        let journal = &writers[usize::from(fastrand::u8(..8) == 0)];
        match fastrand::u8(..12) {
            0 => {
                let id = some_id();
                let head = journal.read_head(&id).await.unwrap();
                let to = fastrand::u64(..=head.highest_sequence_nr);
                journal.delete_messages_to(&id, to.into()).await.unwrap();
            }
            1 => while journal.purge(&some_id()).await.unwrap() != PurgeProgress::Done {},
            _ => {
                let mut ids: Vec<PersistenceId> = (0..3).map(|_| some_id()).collect();
                ids.sort_unstable();
                ids.dedup();
                write_some(&**journal, &ids).await;
            }
        }
        if fastrand::u8(..3) == 0 {
            continue;
        }
        let reader = usize::from(fastrand::u8(..4) == 0);
        let selection = match fastrand::bool() {
            true => EventSelection::all(),
            false => some_selection(),
        };
        let mut expected_at = ats[reader].clone();
        let expected = read_all(&*reading, &selection, &mut expected_at).await;
        let mut at = ats[reader].clone();
        let found = read_all(&*writers[reader], &selection, &mut at).await;
        assert_eq!(
            by_ids(found),
            by_ids(expected),
            "step {step}: {selection:?}"
        );
        let newest = reading.event_queries().unwrap().newest_offset(&selection);
        assert!(at.has_reached(&newest.await.unwrap()), "step {step}: {at}");
        // An offset holds for its selection alone.
        if selection == EventSelection::all() {
            ats[reader] = at;
        }
    }
}

/// An event of another opening is in a part of the order of its own, on databases that have several. The journal stores one of
/// its own before each look, so that there always is a page of those.
pub async fn events_of_others_come_however_many_are_kept(place: &dyn Tables) {
    const LOOKS: usize = 10;
    let [journal, other] = [place.journal().await, place.journal().await];
    let mut ids = (0..).map(|nr| id(&nr.to_string()));
    let own = ids.find(|id| id.slice() < 64).unwrap();
    let others = ids.find(|id| id.slice() >= 960).unwrap();
    let all = EventSelection::all();
    write_some(&*journal, &[own.clone(), others.clone()]).await;
    let mut at = at_the_tail(&*journal).await;
    write_some(&*other, std::slice::from_ref(&others)).await;
    for _ in 0..LOOKS {
        write_some(&*journal, std::slice::from_ref(&own)).await;
        let read = page(&*journal, &all, &at, 100).await.unwrap();
        if read.events.iter().any(|it| it.persistence_id == others) {
            return;
        }
        at = read.offset;
    }
    panic!("the event of another opening did not come in {LOOKS} looks");
}
