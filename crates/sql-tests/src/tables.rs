//! A database of a test's own: what the tests need of it.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    Journal, Plugin, Section, SnapshotStore, StateExtensions, StateStore, StorageError,
};
use async_trait::async_trait;

/// The tables of stores in a database of a test's own, and a way around the stores.
///
/// A store that is opened has connections of its own, as in another process, and is initialised.
#[async_trait]
pub trait Tables: Send + Sync {
    /// A fresh plugin, whose stores share no connections with those of another one.
    fn plugin(&self) -> Box<dyn Plugin>;

    /// Returns the section of stores that make their tables here, and wait longer than is usual: the machine of the tests
    /// may be busy. A test adds keys.
    fn section(&self) -> Section;

    /// Returns the URL of the database, as the section has it.
    fn url(&self) -> String;

    /// Opens a journal on the database at a URL, as another process does that makes the tables, too; the caller initialises
    /// it.
    fn journal_at(url: &str) -> Arc<dyn Journal>
    where
        Self: Sized;

    /// Returns the section of stores whose handlers have a minute, which is more than they need on a busy machine.
    fn section_of_handlers(&self) -> Section {
        let section = self.section().with("handler-timeout", "60s");
        section.with("acquire-timeout", "61s")
    }

    /// Returns the tables of all stores with the names of their columns, but the table of versions.
    async fn columns(&self) -> Vec<(String, String)>;

    /// Runs a statement around the stores; returns what the database says against it.
    async fn try_run(&self, sql: &str) -> Result<(), String>;

    /// Reads a number around the stores.
    async fn number(&self, sql: &str) -> i64;

    /// Returns a statement that stores event 1 of an id as another tool would, without the rows of the id. Where a
    /// database numbers all its events, the event has this number.
    fn event_of_another_tool(&self, persistence_id: &str, ordering: i64) -> String;

    /// Returns the statement that makes a trigger, which lets no event with this number be removed.
    fn stops_removal_at(&self, sequence_nr: u64) -> String;

    /// Returns the statement that drops this trigger.
    fn lets_removal_go_on(&self) -> &'static str {
        "DROP TRIGGER stop"
    }

    /// Returns the section of stores with so little time that not all of a crowd of the application has its turn.
    fn section_of_crowd(&self) -> Section {
        let section = self.section().with("acquire-timeout", "800ms");
        section.with("handler-timeout", "700ms")
    }

    /// Returns the columns by which the row of a tag names its event.
    fn key_of_tags(&self) -> &'static str {
        "persistence_id, sequence_nr, ordering, slice"
    }

    /// Returns the columns of a row of a state that come from its slice.
    fn columns_of_slice(&self) -> &'static str {
        "slice"
    }

    /// Returns assignments that make an event one that cannot be read, beside those that every database takes.
    fn damages(&self) -> &'static [&'static str];

    /// Returns statements that would store what no store can read, beside those that are the same everywhere.
    fn unreadable_rows(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns a query that takes a minute or more.
    fn endless_query(&self) -> &'static str;

    /// Returns a table as code of the application names it, which does not run in the schema of the stores everywhere.
    fn of_application(&self, table: &str) -> String {
        table.to_owned()
    }

    /// Returns the type of a column of texts that can have an index.
    fn indexed_text(&self) -> &'static str {
        "TEXT"
    }

    /// Returns a name as it stands in a statement.
    fn quoted(&self, name: &str) -> String {
        format!("\"{name}\"")
    }

    /// Runs a statement that the database must take.
    async fn run(&self, sql: &str) {
        if let Err(error) = self.try_run(sql).await {
            panic!("{sql}: {error}");
        }
    }

    /// Returns a journal on these tables.
    async fn journal(&self) -> Arc<dyn Journal> {
        self.journal_with(self.section()).await
    }

    /// Returns an initialised journal with these settings.
    async fn journal_with(&self, section: Section) -> Arc<dyn Journal> {
        let journal = self.new_journal(section);
        let initialized = journal.initialize().await;
        initialized.expect("the journal can be initialized");
        journal
    }

    /// Returns a journal that is not initialised.
    fn new_journal(&self, section: Section) -> Arc<dyn Journal> {
        let made = self.plugin().journal(&section);
        made.expect("the section is that of a journal")
    }

    /// Returns a snapshot store.
    async fn snapshot_store(&self) -> Arc<dyn SnapshotStore> {
        self.snapshot_store_with(self.section()).await
    }

    /// Returns an initialised snapshot store with these settings.
    async fn snapshot_store_with(&self, section: Section) -> Arc<dyn SnapshotStore> {
        let store = self.new_snapshot_store(section);
        let initialized = store.initialize().await;
        initialized.expect("the snapshot store can be initialized");
        store
    }

    /// Returns a snapshot store that is not initialised.
    fn new_snapshot_store(&self, section: Section) -> Arc<dyn SnapshotStore> {
        let made = self.plugin().snapshot_store(&section);
        made.expect("the section is that of a snapshot store")
    }

    /// Returns a state store.
    async fn open(&self) -> Arc<dyn StateStore> {
        self.open_with(&StateExtensions::default()).await
    }

    /// Returns a state store with what an application adds to it.
    async fn open_with(&self, extensions: &StateExtensions) -> Arc<dyn StateStore> {
        self.state_store_with(self.section(), extensions).await
    }

    /// Returns a state store with what an application adds to it, whose handlers have a minute.
    async fn open_with_handlers(&self, extensions: &StateExtensions) -> Arc<dyn StateStore> {
        self.state_store_with(self.section_of_handlers(), extensions)
            .await
    }

    /// Returns a state store with these settings and extensions.
    async fn state_store_with(
        &self,
        section: Section,
        extensions: &StateExtensions,
    ) -> Arc<dyn StateStore> {
        let made = self.plugin().state_store(&section, extensions);
        let store = made.expect("the section is that of a state store");
        let initialized = store.initialize().await;
        initialized.expect("the state store can be initialized");
        store
    }

    /// Initialises a journal, a snapshot store and a state store with these extensions, of their own.
    ///
    /// # Errors
    /// The error of the first one that fails.
    async fn initialize_all(&self, extensions: &StateExtensions) -> Result<(), StorageError> {
        self.new_journal(self.section()).initialize().await?;
        self.new_snapshot_store(self.section()).initialize().await?;
        let states = self.plugin().state_store(&self.section(), extensions);
        let states = states.expect("the section is that of a state store");
        states.initialize().await
    }

    /// Returns a state store without `assert-single-writer`.
    async fn open_for_any_revision(&self) -> Arc<dyn StateStore> {
        let section = self.section().with("assert-single-writer", false);
        let none = StateExtensions::default();
        self.state_store_with(section, &none).await
    }

    /// Returns a state store with pages of this many bytes.
    async fn open_with_page_bytes(&self, bytes: usize) -> Arc<dyn StateStore> {
        let section = self.section().with("max-page-events", 1_000);
        let section = section.with("max-page-bytes", bytes as i64);
        let none = StateExtensions::default();
        self.state_store_with(section, &none).await
    }

    /// A state store and the journal into which it writes its changes, of which another process may hold either.
    async fn open_with_change_events(&self) -> (Arc<dyn StateStore>, Arc<dyn Journal>) {
        let mut extensions = StateExtensions::default();
        extensions.change_event_journal = Some(self.section());
        (self.open_with(&extensions).await, self.journal().await)
    }
}

/// Returns when a number around the stores is as it should be, looking every few milliseconds: a test that looked all the
/// time would keep processor and server from what it waits for.
pub async fn until_number(tables: &dyn Tables, sql: &str, is_so: impl Fn(i64) -> bool) {
    while !is_so(tables.number(sql).await) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
