//! The conformance kit on MySQL or MariaDB: directly, as a user who makes the tables, and through the actors in front of
//! the stores, as one that may use them but not change them.
#![allow(clippy::unwrap_used)]

#[path = "it/database.rs"]
mod database;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_journal_actor::{JournalProxy, JournalSettings};
use actix_persistence_mysql::{MysqlJournal, MysqlOptions, MysqlSnapshotStore, MysqlStateStore};
use actix_persistence_snapshot_actor::{SnapshotSettings, SnapshotStoreProxy};
use actix_persistence_state_actor::{StateSettings, StateStoreProxy};
use actix_persistence_storage_api::{Journal, SnapshotStore, StateExtensions, StateStore};
use actix_persistence_tck::{
    BoxError, JournalFixture, Kit, SnapshotStoreFixture, StateStoreFixture,
};
use async_trait::async_trait;

use database::{Place, TestDatabase};

/// Tables of their own for each place, in one database.
struct Direct(Arc<TestDatabase>);

impl Direct {
    fn options(&self, place: &Place) -> MysqlOptions {
        self.0.options().with_store(|store| place.names(store))
    }
}

#[async_trait]
impl JournalFixture for Direct {
    type Store = Place;

    async fn create(&self) -> Place {
        self.0.next_place()
    }

    async fn open(&self, place: &Place) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(Arc::new(MysqlJournal::new(self.options(place))?))
    }
}

#[async_trait]
impl SnapshotStoreFixture for Direct {
    type Store = Place;

    async fn create(&self) -> Place {
        self.0.next_place()
    }

    async fn open(&self, place: &Place) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        Ok(Arc::new(MysqlSnapshotStore::new(self.options(place))?))
    }
}

#[async_trait]
impl StateStoreFixture for Direct {
    type Store = Place;

    async fn create(&self) -> Place {
        self.0.next_place()
    }

    async fn open(&self, place: &Place) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(Arc::new(MysqlStateStore::new(self.options(place))?))
    }

    async fn open_with(
        &self,
        place: &Place,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        // Cases wait for it.
        let soon = Duration::from_millis(500);
        let options = self.options(place);
        let options = options.with_store(|store| store.with_handler_timeout(soon));
        let store = MysqlStateStore::with_extensions(options, &extensions)?;
        Ok(Arc::new(store))
    }
}

/// The tables are made by their owner beforehand.
struct Application(Direct);

impl Application {
    fn options(&self, place: &Place) -> MysqlOptions {
        MysqlOptions::new(self.0.0.application_url())
            .with_store(|store| place.names(store).with_auto_initialize(false))
    }
}

#[async_trait]
impl JournalFixture for Application {
    type Store = Place;

    async fn create(&self) -> Place {
        let place = self.0.0.next_place();
        let owner = MysqlJournal::new(self.0.options(&place)).unwrap();
        owner.initialize().await.unwrap();
        self.0.0.grant(&place).await;
        place
    }

    async fn open(&self, place: &Place) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(Arc::new(MysqlJournal::new(self.options(place))?))
    }
}

#[async_trait]
impl SnapshotStoreFixture for Application {
    type Store = Place;

    async fn create(&self) -> Place {
        let place = self.0.0.next_place();
        let owner = MysqlSnapshotStore::new(self.0.options(&place)).unwrap();
        owner.initialize().await.unwrap();
        self.0.0.grant(&place).await;
        place
    }

    async fn open(&self, place: &Place) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        Ok(Arc::new(MysqlSnapshotStore::new(self.options(place))?))
    }
}

#[async_trait]
impl StateStoreFixture for Application {
    type Store = Place;

    async fn create(&self) -> Place {
        let place = self.0.0.next_place();
        let owner = MysqlStateStore::new(self.0.options(&place)).unwrap();
        owner.initialize().await.unwrap();
        self.0.0.grant(&place).await;
        place
    }

    async fn open(&self, place: &Place) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(Arc::new(MysqlStateStore::new(self.options(place))?))
    }

    /// Cases change tables, which only their owner may.
    async fn open_with(
        &self,
        place: &Place,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        self.0.open_with(place, extensions).await
    }
}

/// Through the actors.
struct Proxied(Application);

#[async_trait]
impl JournalFixture for Proxied {
    type Store = Place;

    async fn create(&self) -> Place {
        JournalFixture::create(&self.0).await
    }

    async fn open(&self, place: &Place) -> Result<Arc<dyn Journal>, BoxError> {
        let journal = JournalFixture::open(&self.0, place).await?;
        let proxy = JournalProxy::spawn(journal, JournalSettings::new("tck"))?;
        Ok(Arc::new(proxy))
    }
}

#[async_trait]
impl SnapshotStoreFixture for Proxied {
    type Store = Place;

    async fn create(&self) -> Place {
        SnapshotStoreFixture::create(&self.0).await
    }

    async fn open(&self, place: &Place) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        let store = SnapshotStoreFixture::open(&self.0, place).await?;
        let proxy = SnapshotStoreProxy::spawn(store, SnapshotSettings::new("tck"))?;
        Ok(Arc::new(proxy))
    }
}

#[async_trait]
impl StateStoreFixture for Proxied {
    type Store = Place;

    async fn create(&self) -> Place {
        StateStoreFixture::create(&self.0).await
    }

    async fn open(&self, place: &Place) -> Result<Arc<dyn StateStore>, BoxError> {
        let store = StateStoreFixture::open(&self.0, place).await?;
        let proxy = StateStoreProxy::spawn(store, StateSettings::new("tck"))?;
        Ok(Arc::new(proxy))
    }

    async fn open_with(
        &self,
        place: &Place,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        let store = self.0.open_with(place, extensions).await?;
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
