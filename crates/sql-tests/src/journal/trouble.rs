//! The outcome of calls when others are in the way, or the server or the network fails.

use std::sync::Arc;

use actix_persistence_storage_api::{Effect, Section, StorageErrorKind, WriterId};
use actix_persistence_tck::TakeOverOne;
use actix_persistence_test_servers::{Cut, Direction, FaultProxy, Flow};

use crate::OnServer;
use crate::late_writes::port;
use crate::steps::{assert_error, id, numbers, store, write};

/// Another application locks the row of an id.
pub async fn a_lock_of_another_ends_a_write_in_time_and_nothing_is_stored(place: &dyn OnServer) {
    let journal = place
        .journal_with(place.section().with("lock-timeout", "1s"))
        .await;
    let (a, writer) = (id("a"), WriterId::random());
    let epoch = journal.take_over_one(&a, writer).await.unwrap().epoch;
    let other = place.hold("journal_metadata", "Test|a").await;
    let group = vec![write(&a, epoch, writer, 1..=1)];
    let error = journal.write_messages(group.clone()).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Unavailable, "'lock-timeout'");
    assert_eq!(error.effect(), Some(Effect::NotStored));
    drop(other);
    let outcomes = journal.write_messages(group).await.unwrap();
    assert!(outcomes[0].is_stored(), "the same write works later");
}

/// The server ends the statement. MySQL has no limit for it, and the client gives up a second later.
pub async fn a_statement_that_takes_too_long_is_ended(place: &dyn OnServer) {
    let section = place.section().with("statement-timeout", "200ms");
    let section = section.with("lock-timeout", "100ms");
    let journal = place.journal_with(section).await;
    place.run(&place.slows_inserts("event_journal", 60.0)).await;
    let (a, writer) = (id("a"), WriterId::random());
    let epoch = journal.take_over_one(&a, writer).await.unwrap().epoch;
    let group = vec![write(&a, epoch, writer, 1..=1)];
    let error = journal.write_messages(group).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Timeout, "raise ");
    let text = error.to_string();
    let is_named = text.contains("'statement-timeout'") || text.contains("the time-outs");
    assert!(is_named, "{text}");
    assert_eq!(error.effect(), Some(Effect::NotStored));
}

/// Returns a network that can fail, and a section of stores whose connections go through it.
pub fn network(place: &dyn OnServer) -> (FaultProxy, Section) {
    let network = FaultProxy::start(port(&place.url())).unwrap();
    let section = place.section().with("url", network.url(&place.url()));
    (network, section)
}

/// The reply to the commit comes last.
pub async fn wherever_the_replies_to_a_write_are_cut_the_error_says_what_is_certain(
    place: &dyn OnServer,
) {
    let (network, section) = network(place);
    let journal = place.journal_with(section.with("writers", 1)).await;
    let (a, writer) = (id("a"), WriterId::random());
    let mut unknown = 0;
    for cut in 0..30 {
        let taken = journal.take_over_one(&a, writer).await.unwrap();
        let next = taken.highest_sequence_nr + 1;
        let group = |number| vec![write(&a, taken.epoch, writer, number..=number)];
        // Once, so that the next one is as long: everything is prepared.
        let before = network.passed(Direction::Replies);
        journal.write_messages(group(next)).await.unwrap();
        journal.write_messages(group(next + 1)).await.unwrap();
        let start = network.passed(Direction::Replies);
        journal.write_messages(group(next + 2)).await.unwrap();
        let length = network.passed(Direction::Replies) - start;
        assert!(start > before && length > 20, "{length}");
        let ends = [Cut::Closed, Cut::Reset];
        network.set(
            Direction::Replies,
            Flow::CutAfter(length.saturating_sub(cut * 2 + 1), ends[cut % 2]),
        );
        let result = journal.write_messages(group(next + 3)).await;
        network.pass();
        let highest = journal.take_over_one(&a, writer).await.unwrap();
        let is_stored = highest.highest_sequence_nr == next + 3;
        match result {
            Ok(outcomes) => assert!(outcomes[0].is_stored() && is_stored),
            Err(error) if error.is_not_stored() => assert!(!is_stored, "{error:?}"),
            Err(error) => {
                assert_eq!(error.effect(), Some(Effect::Unknown), "{error:?}");
                unknown += usize::from(is_stored);
            }
        }
    }
    assert!(unknown > 0, "no reply to a commit was lost");
}

/// Connections that end while nothing is under way.
pub async fn after_a_cut_the_next_call_has_a_connection_that_works(place: &dyn OnServer) {
    let (network, section) = network(place);
    let journal = place.journal_with(section.with("writers", 1)).await;
    store(&*journal, &id("a"), 1).await;
    for cut in [Cut::Closed, Cut::Reset] {
        network.cut(cut);
        // The first call may find out, and whoever comes after it does not have to.
        let first = journal.take_over_one(&id("a"), WriterId::random()).await;
        if let Err(error) = first {
            assert_eq!(error.kind(), StorageErrorKind::Unavailable, "{error:?}");
        }
        store(&*journal, &id("a"), 1).await;
    }
    network.refuse(true);
    network.cut(Cut::Reset);
    let mut refused = None;
    for _ in 0..2 {
        refused = journal.read_highest_sequence_nr(&id("a")).await.err();
    }
    assert_eq!(refused.unwrap().kind(), StorageErrorKind::Unavailable);
    network.refuse(false);
    assert_eq!(numbers(&*journal, &id("a")).await, [1, 2, 3]);
}

/// So many calls that they wait for connections, and more than can be served in time.
pub async fn a_call_that_gets_no_connection_in_time_says_what_to_change(place: &dyn OnServer) {
    let section = place.section().with("writers", 1);
    // A busy machine may take long to give back the only connection.
    let section = section.with("acquire-timeout", "1s");
    let journal = place.journal_with(section).await;
    let writer = WriterId::random();
    journal.take_over_one(&id("a"), writer).await.unwrap();
    let other = place.hold("journal_metadata", "Test|a").await;
    let mut waits = tokio::spawn({
        let journal = Arc::clone(&journal);
        async move { journal.take_over_one(&id("a"), writer).await }
    });
    tokio::select! {
        () = place.until_waiting(1) => {}
        ended = &mut waits => panic!("it does not wait: {ended:?}"),
    }
    let error = journal.take_over_one(&id("b"), writer).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Unavailable, "'writers'");
    drop(other);
    waits.await.unwrap().unwrap();
}
