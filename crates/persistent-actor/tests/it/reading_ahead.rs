//! The next page of a replay is read while the one before it is applied.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_persistent_actor::{Recovery, replay_actor};
use actix_persistence_storage_api::{EventDeletion, Journal, StorageError};
use actix_persistence_testkit::{Hook, Intercepted, JournalAnswer, JournalCall, Journals, Next};
use async_trait::async_trait;

use crate::history::{id, recovered, with_events};
use crate::stalling_journal::{Stall, StallingJournal};
use crate::tally::{Log, Tally};
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
