//! Tests of many writers at once, some of which run code of the application that takes its time.

use std::sync::Arc;

use actix_persistence_storage_api::{
    AtomicWrite, ChangeHandler, EventRecord, ExtensionError, Journal, Payload, PersistenceId,
    Plugin, Section, Session, SessionWork, StateChange, StateExtensions, StateStore, StorageError,
    StorageErrorKind, Timestamp, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use async_trait::async_trait;
use futures_util::future::join_all;
use tokio::sync::Semaphore;

use super::with_handler;
use crate::states::{revision_of, state, store};
use crate::{OnServer, Tables};

/// Says that it has begun, and ends when it is asked to.
pub(super) struct Held {
    pub(super) begun: Arc<Semaphore>,
    pub(super) may_end: Arc<Semaphore>,
}

#[async_trait]
impl ChangeHandler for Held {
    async fn process(
        &self,
        session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        session.select("SELECT 1", []).await?;
        self.begun.add_permits(1);
        self.may_end.acquire().await?.forget();
        Ok(())
    }
}

/// Stores the first event of an id that was never used.
async fn append(journal: &dyn Journal, number: usize) -> Result<(), StorageError> {
    let id = PersistenceId::of("Account", &number.to_string());
    let writer = WriterId::random();
    let epoch = journal.take_over_one(&id, writer).await?.epoch;
    let payload = Payload::new(1, "test.event:v1", "1");
    let event = EventRecord::new(1, Timestamp::now(), writer, payload);
    let write = AtomicWrite::new(id, epoch, vec![event]).expect("it is a valid write");
    let outcomes = journal.write_messages(vec![write]).await?;
    assert!(outcomes.iter().all(|outcome| outcome.is_stored()));
    Ok(())
}

async fn journal_of(plugin: &dyn Plugin, section: &Section) -> Arc<dyn Journal> {
    let journal = plugin.journal(section);
    let journal = journal.expect("the section is that of a journal");
    let initialized = journal.initialize().await;
    initialized.expect("the journal can be initialized");
    journal
}

async fn states_of(
    plugin: &dyn Plugin,
    section: &Section,
    extensions: StateExtensions,
) -> Arc<dyn StateStore> {
    let states = plugin.state_store(section, &extensions);
    let states = states.expect("the section is that of a state store");
    let initialized = states.initialize().await;
    initialized.expect("the state store can be initialized");
    states
}

/// Lets as many change handlers as the store has writers take as long as they may; meanwhile twenty states of others
/// and twenty events are stored, without one failure. For servers; the stores of the plugin share their connections, of
/// which two write. Returns the journal, which has them open.
///
/// # Panics
/// If one fails.
pub async fn slow_handlers_delay_no_other_writers(
    tables: &dyn OnServer,
    plugin: &dyn Plugin,
) -> Arc<dyn Journal> {
    let section = tables.section().with("acquire-timeout", "20s");
    let section = section.with("handler-timeout", "19s");
    let journal = journal_of(plugin, &section).await;
    let open = async |extensions| states_of(plugin, &section, extensions).await;
    let [begun, may_end] = [(); 2].map(|()| Arc::new(Semaphore::new(0)));
    let slow = open(with_handler(Held {
        begun: Arc::clone(&begun),
        may_end: Arc::clone(&may_end),
    }))
    .await;
    let others = open(StateExtensions::default()).await;
    let held = ["one", "two"].map(|name| {
        let slow = Arc::clone(&slow);
        tokio::spawn(async move { slow.upsert(state(name, 1)).await })
    });
    begun.acquire_many(2).await.expect("it is open").forget();

    let names: Vec<String> = (0..20).map(|number| format!("other-{number}")).collect();
    let states = join_all(names.iter().map(|name| others.upsert(state(name, 1))));
    let events = join_all((0..20).map(|number| append(&*journal, number)));
    let (states, events) = futures_util::future::join(states, events).await;
    for result in states.into_iter().chain(events) {
        result.expect("it waits for no handler");
    }
    may_end.add_permits(2);
    for write in held {
        let written = write.await.expect("no panic");
        written.expect("the handler had the time that it may take");
    }
    assert_eq!(revision_of(&*others, "one").await, 1);
    journal
}

/// Transactions of the application that hang, more than the store has places for, are refused as what they are: too much at
/// once, or too long. None of it counts as trouble of the store, and what the stores write comes between.
///
/// # Panics
/// If it is otherwise.
pub async fn a_crowd_of_the_application_is_no_trouble_of_the_store(tables: &dyn Tables) {
    let (plugin, section) = (tables.plugin(), tables.section_of_crowd());
    let journal = journal_of(&*plugin, &section).await;
    let states = states_of(&*plugin, &section, StateExtensions::default()).await;
    let begun = Arc::new(Semaphore::new(0));
    let crowd: Vec<_> = (0..8)
        .map(|_| {
            let (states, begun) = (Arc::clone(&states), Arc::clone(&begun));
            tokio::spawn(async move {
                let work = SessionWork::new(move |session| {
                    Box::pin(async move {
                        session.select("SELECT 1", []).await?;
                        begun.add_permits(1);
                        std::future::pending().await
                    })
                });
                states.sql().expect("it has SQL").transact(work).await
            })
        })
        .collect();
    begun.acquire().await.expect("it is open").forget();
    for number in 0..3 {
        let stored = append(&*journal, number).await;
        stored.expect("the journal has its turn");
    }
    let mut refused = 0;
    for transaction in crowd {
        let error = transaction.await.expect("no panic").expect_err("it hangs");
        assert!(error.is_not_stored(), "{error:?}");
        assert!(!error.kind().counts_as_store_failure(), "{error:?}");
        refused += usize::from(error.kind() == StorageErrorKind::Busy);
    }
    assert!(refused > 0, "there was a place for everybody");
    store(&*states, state("a", 1)).await;
}
