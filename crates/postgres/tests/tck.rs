//! The conformance kit on PostgreSQL: directly, as a role that makes the tables, and through the actors in front of the
//! stores, as one that may use them but not change them.
#![allow(clippy::unwrap_used)]

#[path = "it/database.rs"]
mod database;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_journal_actor::{JournalProxy, JournalSettings};
use actix_persistence_postgres::{
    PostgresJournal, PostgresOptions, PostgresSnapshotStore, PostgresStateStore,
};
use actix_persistence_snapshot_actor::{SnapshotSettings, SnapshotStoreProxy};
use actix_persistence_state_actor::{StateSettings, StateStoreProxy};
use actix_persistence_storage_api::{Journal, SnapshotStore, StateExtensions, StateStore};
use actix_persistence_tck::{
    BoxError, JournalFixture, Kit, SnapshotStoreFixture, StateStoreFixture,
};
use async_trait::async_trait;

use database::{TestDatabase, execute};

/// A schema for each place, in one database.
struct Direct(Arc<TestDatabase>);

impl Direct {
    fn options(&self, schema: &str) -> PostgresOptions {
        self.0.options().with_schema(schema)
    }
}

#[async_trait]
impl JournalFixture for Direct {
    type Store = String;

    async fn create(&self) -> String {
        self.0.next_schema()
    }

    async fn open(&self, schema: &String) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(Arc::new(PostgresJournal::new(self.options(schema))?))
    }
}

#[async_trait]
impl SnapshotStoreFixture for Direct {
    type Store = String;

    async fn create(&self) -> String {
        self.0.next_schema()
    }

    async fn open(&self, schema: &String) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        Ok(Arc::new(PostgresSnapshotStore::new(self.options(schema))?))
    }
}

#[async_trait]
impl StateStoreFixture for Direct {
    type Store = String;

    async fn create(&self) -> String {
        self.0.next_schema()
    }

    async fn open(&self, schema: &String) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(Arc::new(PostgresStateStore::new(self.options(schema))?))
    }

    async fn open_with(
        &self,
        schema: &String,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        // Cases wait for it.
        let soon = Duration::from_millis(500);
        let options = self.options(schema);
        let options = options.with_store(|store| store.with_handler_timeout(soon));
        let store = PostgresStateStore::with_extensions(options, &extensions)?;
        Ok(Arc::new(store))
    }
}

/// The tables are made beforehand, by what the plugin prints for that.
struct Application(Direct);

impl Application {
    fn options(&self, schema: &str) -> PostgresOptions {
        self.0.0.application_options().with_schema(schema)
    }
}

#[async_trait]
impl JournalFixture for Application {
    type Store = String;

    async fn create(&self) -> String {
        let schema = self.0.0.next_schema();
        let store = PostgresJournal::new(self.0.options(&schema)).unwrap();
        let script = store.schema_sql(Some(&self.0.0.roles())).unwrap();
        execute(&mut self.0.0.connect().await, script).await;
        schema
    }

    async fn open(&self, schema: &String) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(Arc::new(PostgresJournal::new(self.options(schema))?))
    }
}

#[async_trait]
impl SnapshotStoreFixture for Application {
    type Store = String;

    async fn create(&self) -> String {
        let schema = self.0.0.next_schema();
        let store = PostgresSnapshotStore::new(self.0.options(&schema)).unwrap();
        let script = store.schema_sql(Some(&self.0.0.roles())).unwrap();
        execute(&mut self.0.0.connect().await, script).await;
        schema
    }

    async fn open(&self, schema: &String) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        Ok(Arc::new(PostgresSnapshotStore::new(self.options(schema))?))
    }
}

#[async_trait]
impl StateStoreFixture for Application {
    type Store = String;

    async fn create(&self) -> String {
        let schema = self.0.0.next_schema();
        let store = PostgresStateStore::new(self.0.options(&schema)).unwrap();
        let script = store.schema_sql(Some(&self.0.0.roles())).unwrap();
        execute(&mut self.0.0.connect().await, script).await;
        schema
    }

    async fn open(&self, schema: &String) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(Arc::new(PostgresStateStore::new(self.options(schema))?))
    }

    /// Cases change tables, which only their owner may.
    async fn open_with(
        &self,
        schema: &String,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        self.0.open_with(schema, extensions).await
    }
}

/// Through the actors.
struct Proxied(Application);

#[async_trait]
impl JournalFixture for Proxied {
    type Store = String;

    async fn create(&self) -> String {
        JournalFixture::create(&self.0).await
    }

    async fn open(&self, schema: &String) -> Result<Arc<dyn Journal>, BoxError> {
        let journal = JournalFixture::open(&self.0, schema).await?;
        let proxy = JournalProxy::spawn(journal, JournalSettings::new("tck"))?;
        Ok(Arc::new(proxy))
    }
}

#[async_trait]
impl SnapshotStoreFixture for Proxied {
    type Store = String;

    async fn create(&self) -> String {
        SnapshotStoreFixture::create(&self.0).await
    }

    async fn open(&self, schema: &String) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        let store = SnapshotStoreFixture::open(&self.0, schema).await?;
        let proxy = SnapshotStoreProxy::spawn(store, SnapshotSettings::new("tck"))?;
        Ok(Arc::new(proxy))
    }
}

#[async_trait]
impl StateStoreFixture for Proxied {
    type Store = String;

    async fn create(&self) -> String {
        StateStoreFixture::create(&self.0).await
    }

    async fn open(&self, schema: &String) -> Result<Arc<dyn StateStore>, BoxError> {
        let store = StateStoreFixture::open(&self.0, schema).await?;
        let proxy = StateStoreProxy::spawn(store, StateSettings::new("tck"))?;
        Ok(Arc::new(proxy))
    }

    async fn open_with(
        &self,
        schema: &String,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        let store = self.0.open_with(schema, extensions).await?;
        let proxy = StateStoreProxy::spawn(store, StateSettings::new("tck"))?;
        Ok(Arc::new(proxy))
    }
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = Arc::new(runtime.block_on(TestDatabase::create()));
    let direct = || Direct(Arc::clone(&database));
    Kit::new()
        .journal("", direct())
        .journal("proxied", Proxied(Application(direct())))
        .snapshot_store("", direct())
        .snapshot_store("proxied", Proxied(Application(direct())))
        .state_store("", direct())
        .state_store("proxied", Proxied(Application(direct())))
        .run()
}
