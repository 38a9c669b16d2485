//! The conformance kit on a server, whose tables are made for as few cases as possible.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_persistence_journal_actor::{JournalProxy, JournalSettings};
use actix_persistence_offset_actor::{OffsetSettings, OffsetStoreProxy};
use actix_persistence_snapshot_actor::{SnapshotSettings, SnapshotStoreProxy};
use actix_persistence_state_actor::{StateSettings, StateStoreProxy};
use actix_persistence_storage_api::{
    ConfigErrors, Journal, OffsetStore, Plugin, Section, SnapshotStore, StateExtensions, StateStore,
};
use actix_persistence_tck::{BoxError, Fixture, Fronts, JournalPerf, Kit};
use async_trait::async_trait;

/// A database on a server with room for the tables of many places, distinguished by their numbers.
#[async_trait]
pub trait KitServer: Send + Sync + 'static {
    /// Returns a plugin with connections of its own, as in another process.
    fn plugin(&self) -> Box<dyn Plugin>;

    /// Returns the section of stores on the tables of a place, for the one who owns them; the stores make them.
    fn owner(&self, place: usize) -> Section;

    /// Returns the section for one who may use the tables, but not make or change them.
    fn application(&self, place: usize) -> Section;

    /// Makes the tables of one kind of store in a place, and lets the application use them.
    async fn make(&self, place: usize, kind: StoreKind);
}

/// The kinds of stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreKind {
    /// A store that keeps events.
    Journal,
    /// A store that keeps snapshots.
    SnapshotStore,
    /// A store that keeps states.
    StateStore,
}

/// Runs the kit: directly, as the owner of the tables, and through the actors in front of the stores, as one who may use
/// them but not change them.
pub fn run_kit(server: impl KitServer) -> ExitCode {
    let places = Places::of(server);
    Kit::new()
        .stores("", places.of_user(User::Owner))
        .stores(
            "proxied",
            places.of_user(User::Application).through(actors()),
        )
        .run()
}

/// Measures the journal, directly and through the actor in front of it, as the owner of the tables.
pub fn run_journal_perf(server: impl KitServer) -> ExitCode {
    let places = Places::of(server);
    JournalPerf::new()
        .journal("", places.fresh())
        .journal("proxied", places.fresh().through(actors()))
        .run()
}

/// Longer than a case may take: on a busy machine the case fails, and no call of it is given up before.
const PATIENCE: Duration = Duration::from_secs(90);

/// Returns the store actors, which stand in front of the stores of an application too; their time-outs are longer than
/// a case may take.
pub fn actors() -> Fronts {
    Fronts::new()
        .journal(|journal| {
            let mut settings = JournalSettings::new("tck");
            settings.circuit_breaker.call_timeout = PATIENCE;
            settings.write_timeout = PATIENCE;
            settings.recovery_event_timeout = PATIENCE;
            JournalProxy::spawn(journal, settings)
        })
        .snapshot_store(|store| {
            let mut settings = SnapshotSettings::new("tck");
            settings.circuit_breaker.call_timeout = PATIENCE;
            settings.load_timeout = PATIENCE;
            settings.save_timeout = PATIENCE;
            SnapshotStoreProxy::spawn(store, settings)
        })
        .state_store(|store| {
            let mut settings = StateSettings::new("tck");
            settings.circuit_breaker.call_timeout = PATIENCE;
            settings.recovery_timeout = PATIENCE;
            settings.write_timeout = PATIENCE;
            StateStoreProxy::spawn(store, settings)
        })
        .offset_store(|store| {
            let mut settings = OffsetSettings::new("tck");
            settings.circuit_breaker.call_timeout = PATIENCE;
            settings.read_timeout = PATIENCE;
            settings.write_timeout = PATIENCE;
            OffsetStoreProxy::spawn(store, settings)
        })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum User {
    Owner,
    Application,
}

/// Places on a server, of which those without states are used by one case after the other.
///
/// No case finds anything of another in a journal or a snapshot store: the ids of cases differ, and only state stores and
/// queries list ids, which have places of their own. So nothing has to be removed in between, and it is no matter if a call that a case dropped is done later.
struct Places<S> {
    server: Arc<S>,
    next: Arc<AtomicUsize>,
    user: User,
    /// True if a place is used once, even without states.
    is_fresh: bool,
    free: Free,
}

type Free = Arc<Mutex<Vec<Tables>>>;

/// The tables of a place that there are, and connections to them.
struct Tables {
    number: usize,
    made: BTreeSet<StoreKind>,
    open: Option<Open>,
}

/// A plugin whose connections stay open from one case to the next: to open them takes longer than most cases.
struct Open {
    plugin: Box<dyn Plugin>,
    /// Connections live as long as a store that uses them; this one does nothing else.
    _store: Arc<dyn SnapshotStore>,
}

/// A place for one case.
struct Place {
    number: usize,
    made: tokio::sync::Mutex<BTreeSet<StoreKind>>,
    open: Mutex<Option<Open>>,
    /// True once the case has opened a store.
    is_in_use: AtomicBool,
    /// True if no later case may use it.
    is_used_up: AtomicBool,
    free: Free,
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_used_up.load(Ordering::Relaxed) {
            let open = self.open.get_mut();
            let tables = Tables {
                number: self.number,
                made: std::mem::take(self.made.get_mut()),
                open: open.unwrap_or_else(PoisonError::into_inner).take(),
            };
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.push(tables);
        }
    }
}

impl<S: KitServer> Places<S> {
    fn of(server: S) -> Self {
        Self {
            server: Arc::new(server),
            next: Arc::default(),
            user: User::Owner,
            is_fresh: false,
            free: Free::default(),
        }
    }

    /// Returns other places on the same server.
    fn of_user(&self, user: User) -> Self {
        Self {
            server: Arc::clone(&self.server),
            next: Arc::clone(&self.next),
            user,
            is_fresh: self.is_fresh,
            free: Free::default(),
        }
    }

    /// Returns other places, whose tables are empty: a journal that is measured must not find rows of another work.
    fn fresh(&self) -> Self {
        Self {
            is_fresh: true,
            ..self.of_user(User::Owner)
        }
    }

    /// Returns a place with these tables, or with none.
    fn place(&self, tables: Option<Tables>) -> Place {
        let tables = tables.unwrap_or_else(|| Tables {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            made: BTreeSet::new(),
            open: None,
        });
        Place {
            number: tables.number,
            made: tokio::sync::Mutex::new(tables.made),
            open: Mutex::new(tables.open),
            is_in_use: AtomicBool::new(false),
            is_used_up: AtomicBool::new(false),
            free: Arc::clone(&self.free),
        }
    }

    /// Returns the section of a store whose tables are there, unless it makes them itself.
    async fn section(&self, place: &Place, kind: StoreKind) -> Section {
        if self.user == User::Owner {
            return self.server.owner(place.number);
        }
        let mut made = place.made.lock().await;
        if !made.contains(&kind) {
            self.server.make(place.number, kind).await;
            made.insert(kind);
        }
        self.server.application(place.number)
    }

    /// Opens a store in a place that later cases may use. The first one of a case has the connections of the cases before,
    /// each further one connections of its own: it stands for a restart, or for another process.
    fn open<T>(
        &self,
        place: &Place,
        section: &Section,
        store: impl FnOnce(&dyn Plugin) -> Result<T, ConfigErrors>,
    ) -> Result<T, ConfigErrors> {
        if place.is_in_use.swap(true, Ordering::Relaxed) {
            return store(&*self.server.plugin());
        }
        let mut open = place.open.lock().unwrap_or_else(PoisonError::into_inner);
        let open = match &mut *open {
            Some(open) => open,
            none => {
                let plugin = self.server.plugin();
                let _store = plugin.snapshot_store(section)?;
                none.insert(Open { plugin, _store })
            }
        };
        store(&*open.plugin)
    }
}

#[async_trait]
impl<S: KitServer> Fixture for Places<S> {
    type Place = Place;

    async fn create(&self) -> Place {
        let place = self.place(None);
        place.is_used_up.store(true, Ordering::Relaxed);
        place
    }

    async fn create_or_reuse(&self) -> Place {
        if self.is_fresh {
            return self.create().await;
        }
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        self.place(free.pop())
    }

    async fn journal(&self, place: &Place) -> Result<Arc<dyn Journal>, BoxError> {
        let section = self.section(place, StoreKind::Journal).await;
        Ok(self.open(place, &section, |plugin| plugin.journal(&section))?)
    }

    async fn snapshot_store(&self, place: &Place) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        let section = self.section(place, StoreKind::SnapshotStore).await;
        Ok(self.open(place, &section, |plugin| plugin.snapshot_store(&section))?)
    }

    async fn state_store(&self, place: &Place) -> Result<Arc<dyn StateStore>, BoxError> {
        place.is_used_up.store(true, Ordering::Relaxed);
        let section = self.section(place, StoreKind::StateStore).await;
        let none = StateExtensions::default();
        Ok(self.server.plugin().state_store(&section, &none)?)
    }

    /// Cases make tables by the work of commits, which only the owner may.
    async fn offset_store(&self, place: &Place) -> Result<Arc<dyn OffsetStore>, BoxError> {
        // What the owner has made by itself is not what the script for the application's rights expects.
        place.is_used_up.store(true, Ordering::Relaxed);
        let section = self.server.owner(place.number);
        Ok(self.server.plugin().offset_store(&section)?)
    }

    /// Cases change tables, which only their owner may, and wait for the time-out of a handler.
    async fn state_store_with(
        &self,
        place: &Place,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        place.is_used_up.store(true, Ordering::Relaxed);
        let section = self.server.owner(place.number);
        let section = section.with("handler-timeout", "1500ms");
        Ok(self.server.plugin().state_store(&section, &extensions)?)
    }
}
