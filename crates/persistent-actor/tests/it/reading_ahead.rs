//! The next page of a replay is read while the one before it is applied.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_journal_actor::JournalSettings;
use actix_persistence_persistent_actor::{BackOffSettings, Recovery, replay_actor};
use actix_persistence_storage_api::{
    EventDeletion, Journal, Operation, SequenceNr, StorageError, StorageErrorKind,
};
use actix_persistence_testkit::{
    Held, Hook, Intercepted, JournalAnswer, JournalCall, Journals, Next, StoreCall,
};
use async_trait::async_trait;

use crate::history::{id, recovered, with_events};
use crate::stalling_journal::{Stall, StallingJournal};
use crate::tally::{Get, Log, Tally};
use crate::world::{World, run};

/// Logs the pages that are asked for, beside the events.
struct LoggedPages(Log);

#[async_trait]
impl Hook<Journals> for LoggedPages {
    async fn call(
        &self,
        call: JournalCall,
        next: Next<Journals>,
    ) -> Result<JournalAnswer, StorageError> {
        if let JournalCall::ReplayMessages { range, .. } = &call {
            self.0.add(format!("page from {}", range.from));
        }
        next.run(call).await
    }
}

#[test]
fn the_next_page_is_asked_for_while_one_is_applied_and_none_after_it() {
    run(|| async {
        let (stored, log) = with_events(2_500).await;
        let pages = Intercepted::journal_with(stored.storage.journal(), LoggedPages(log.clone()));
        let world = World::on(stored.storage.clone(), Arc::new(pages), |_| {});
        let (entries, _) = recovered(&world, &log, Recovery::default()).await;
        let at = |wanted: &str| entries.iter().position(|entry| entry == wanted).unwrap();
        // The replay filter holds the last events of each page back.
        assert!(at("page from 1001") < at("event 900"));
        assert!(at("event 900") < at("page from 2001"));
        assert!(at("page from 2001") < at("event 1900"));
        let pages = entries.iter().filter(|entry| entry.starts_with("page"));
        assert_eq!(pages.count(), 3);
    });
}

#[test]
fn a_log_that_fits_on_a_page_costs_one_look_and_one_page() {
    const READS: [Operation; 2] = [Operation::ReadHead, Operation::ReplayMessages];

    for (events, reads) in [(0, &READS[..1]), (1, &READS), (1_000, &READS)] {
        run(move || async move {
            let (stored, log) = with_events(events).await;
            let journal = Arc::new(Intercepted::journal(stored.storage.journal()));
            let calls = journal.on_every_call().record();
            let world = World::on(stored.storage.clone(), journal, |_| {});
            let (entries, _) = recovered(&world, &log, Recovery::default()).await;
            assert_eq!(entries.len(), events as usize + 1);
            let calls = calls.calls();
            let operations = calls.iter().map(JournalCall::operation);
            let after_opening = operations.filter(|made| *made != Operation::Initialize);
            assert_eq!(after_opening.collect::<Vec<_>>(), reads, "of {events}");
        });
    }
}

/// Holds the next page that begins at this number.
fn held(journal: &Intercepted<Journals>, from: SequenceNr) -> Held<Journals> {
    let begins = move |call: &JournalCall| matches!(call, JournalCall::ReplayMessages { range, .. } if range.from == from);
    let pages = journal.on(Operation::ReplayMessages);
    pages.matching(begins).next(1).hold()
}

#[test]
fn a_page_that_fails_early_is_reported_after_what_was_before_it() {
    run(|| async {
        let (stored, log) = with_events(2_500).await;
        let journal = Arc::new(Intercepted::journal(stored.storage.journal()));
        let second = held(&journal, 1_001);
        let world = World::on(stored.storage.clone(), journal, |_| {});
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        second.next().await.fail(StorageErrorKind::Unavailable);
        let mut entries = log.take();
        assert!(entries.len() < 900, "the first page was applied before");
        // The next incarnation comes back.
        assert_eq!(tally.send(Get).await.unwrap(), 2_500 * 2_501 / 2);
        entries.extend(log.take());
        let mut entries = entries.iter();
        for n in 1..=900 {
            assert_eq!(entries.next(), Some(&format!("event {n}")));
        }
        let failed = entries.next().unwrap();
        assert!(failed.starts_with("recovery failed"), "{failed}");
        assert_eq!(entries.len(), 2_501);
    });
}

#[test]
fn an_actor_that_fails_with_a_page_under_way_gives_its_permit_back() {
    run(|| async {
        let (stored, log) = with_events(2_500).await;
        let journal = Arc::new(Intercepted::journal(stored.storage.journal()));
        let pages = journal.on(Operation::ReplayMessages).record();
        let second = held(&journal, 1_001);
        let snapshots = Arc::new(stored.storage.snapshot_store());
        let tune = |settings: &mut JournalSettings, _: &mut _| {
            settings.max_concurrent_recoveries = 1;
        };
        let world = World::tuned(stored.storage.clone(), journal, snapshots, tune, |_| {});
        let shared = log.clone();
        let tally = world.start(move || Tally {
            poison: Some(500),
            back_off: Some(BackOffSettings::default().with_max_restarts(0)),
            ..Tally::new("1", &shared)
        });
        let page = second.next().await;
        let before = tokio::time::Instant::now();
        // It has its turn while the page is still read, and not when its time is over.
        let other = world.start(Tally::factory("2", &log)).unwrap();
        assert_eq!(other.send(Get).await.unwrap(), 0);
        assert!(before.elapsed() < Duration::from_secs(1));
        let is_failure = |entry: &String| entry.contains("poisoned");
        assert_eq!(
            log.take().iter().filter(|entry| is_failure(entry)).count(),
            1
        );
        page.pass();
        world.environment.stores.journal().unwrap().drained().await;
        assert_eq!(pages.number(), 2, "no page is read for no one");
        drop(tally);
    });
}

#[test]
fn a_page_that_was_read_before_a_delete_counts_with_those_before_it() {
    run(|| async {
        let (stored, log) = with_events(2_500).await;
        let journal = StallingJournal::new(stored.storage.journal(), Stall::PagesFrom(2_001));
        let world = World::on(stored.storage.clone(), journal.clone(), |_| {});
        let looking = replay_actor(Tally::new("1", &log), world.environment.clone());
        let looked = actix_rt::spawn(looking);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(journal.pages(), 3);
        // What was read already is a part of the state; nothing that is still to be read was deleted.
        let deletion = EventDeletion::up_to(2_000);
        let inner = stored.storage.journal();
        inner.delete_messages_to(&id(), deletion).await.unwrap();
        journal.set(Stall::Nothing);
        let (tally, at) = looked.await.unwrap().unwrap();
        assert_eq!((tally.sum, at), (2_500 * 2_501 / 2, 2_500));
    });
}

#[test]
fn a_replay_that_is_given_up_leaves_no_page_behind() {
    run(|| async {
        let (stored, log) = with_events(2_500).await;
        let journal = StallingJournal::new(stored.storage.journal(), Stall::PagesFrom(1_001));
        let world = World::on(stored.storage.clone(), journal.clone(), |_| {});
        let looking = replay_actor(Tally::new("1", &log), world.environment.clone());
        let looked = actix_rt::spawn(looking);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(log.take().len(), 900);
        looked.abort();
        assert!(looked.await.is_err_and(|error| error.is_cancelled()));
        journal.set(Stall::Nothing);
        world.environment.stores.journal().unwrap().drained().await;
        // It would have had two more.
        assert_eq!(journal.pages(), 2);
        let (entries, _) = recovered(&world, &log, Recovery::default()).await;
        assert_eq!(entries.len(), 2_501);
    });
}
