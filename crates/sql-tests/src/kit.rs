//! The conformance kit on a server, whose tables are made for as few cases as possible.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
use tokio::sync::{
    MappedMutexGuard, Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard, OwnedSemaphorePermit,
    Semaphore,
};

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

/// The number of plugins whose connections stay open at the same time. A plugin has at most eight, of the 400 that a server of
/// the tests lets in; there are those of sixteen cases besides, and of the tests beside the kit.
const KEPT: usize = 40;

/// The number of stores of a case whose plugins stay open; few cases open more.
const KEPT_OF_CASE: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum User {
    Owner,
    Application,
}

/// Places on a server, whose tables are used by one case after the other, unless a case wants them empty.
///
/// No case finds anything of another: the ids of cases differ, and one that lists ids has a place of its own. So nothing
/// has to be removed in between, and it is no matter if a call that a case dropped is done later.
struct Places<S> {
    server: Arc<S>,
    next: Arc<AtomicUsize>,
    user: User,
    /// True if every place is used once.
    is_fresh: bool,
    free: Free,
    /// One for each plugin that may still be kept.
    permits: Arc<Semaphore>,
}

/// The tables that no case uses, by the user for whom they were made.
type Free = Arc<Mutex<BTreeMap<User, Vec<Tables>>>>;

/// The tables of a place that there are, and connections to them.
struct Tables {
    number: usize,
    user: User,
    /// The stores whose tables were made for the application.
    made: BTreeSet<StoreKind>,
    /// By the user, and by the number of the store among those that a case opens for this user.
    open: BTreeMap<(User, usize), Open>,
}

/// A plugin whose connections stay open from one case to the next: to open them takes longer than most cases.
struct Open {
    plugin: Box<dyn Plugin>,
    /// Connections live as long as a store that uses them; this one does nothing else.
    _store: Arc<dyn SnapshotStore>,
    _permit: OwnedSemaphorePermit,
}

/// A place for one case.
struct Place {
    /// `None` until a store is opened, for only then it is known for which user.
    taken: AsyncMutex<Option<Taken>>,
    /// The tables that cases before have used and later ones may use; `None` for a place that is used once.
    free: Option<Free>,
}

/// The tables that a case uses.
struct Taken {
    tables: Tables,
    /// The number of stores that the case has opened.
    opened: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let (Some(free), Some(taken)) = (&self.free, self.taken.get_mut().take()) {
            let Taken { tables, .. } = taken;
            lock(free).entry(tables.user).or_default().push(tables);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: KitServer> Places<S> {
    fn of(server: S) -> Self {
        Self {
            server: Arc::new(server),
            next: Arc::default(),
            user: User::Owner,
            is_fresh: false,
            free: Free::default(),
            permits: Arc::new(Semaphore::new(KEPT)),
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
            permits: Arc::clone(&self.permits),
        }
    }

    /// Returns other places, whose tables are empty: a journal that is measured must not find rows of another work.
    fn fresh(&self) -> Self {
        Self {
            is_fresh: true,
            ..self.of_user(User::Owner)
        }
    }

    /// Returns the tables of a place, and takes them for this user if the case has opened no store yet.
    async fn tables<'a>(&self, place: &'a Place, user: User) -> MappedMutexGuard<'a, Taken> {
        let taken = place.taken.lock().await;
        AsyncMutexGuard::map(taken, |taken| {
            taken.get_or_insert_with(|| {
                let free = place.free.as_ref();
                let free = free.and_then(|free| lock(free).get_mut(&user)?.pop());
                let tables = free.unwrap_or_else(|| Tables {
                    number: self.next.fetch_add(1, Ordering::Relaxed),
                    user,
                    made: BTreeSet::new(),
                    open: BTreeMap::new(),
                });
                Taken { tables, opened: 0 }
            })
        })
    }

    /// Returns the section of a store whose tables are there, unless it makes them itself.
    async fn section(&self, taken: &mut Taken, kind: StoreKind) -> Section {
        let tables = &mut taken.tables;
        if self.user == User::Owner {
            return self.server.owner(tables.number);
        }
        if !tables.made.contains(&kind) {
            self.server.make(tables.number, kind).await;
            tables.made.insert(kind);
        }
        self.server.application(tables.number)
    }

    /// Opens a store. Each one of a case has connections of its own: it stands for a restart, or for another process.
    fn open<T>(
        &self,
        taken: &mut Taken,
        user: User,
        section: &Section,
        store: impl FnOnce(&dyn Plugin) -> Result<T, ConfigErrors>,
    ) -> Result<T, ConfigErrors> {
        let number = taken.opened;
        taken.opened += 1;
        self.open_as((user, number), taken, section, store)
    }

    /// Opens a store with the connections that the store of this user and number had in the cases before, if they stay open.
    fn open_as<T>(
        &self,
        (user, number): (User, usize),
        taken: &mut Taken,
        section: &Section,
        store: impl FnOnce(&dyn Plugin) -> Result<T, ConfigErrors>,
    ) -> Result<T, ConfigErrors> {
        let open = &mut taken.tables.open;
        if let Some(open) = open.get(&(user, number)) {
            return store(&*open.plugin);
        }
        let plugin = self.server.plugin();
        let opened = store(&*plugin)?;
        if number < KEPT_OF_CASE
            && let Ok(_permit) = Arc::clone(&self.permits).try_acquire_owned()
        {
            let _store = plugin.snapshot_store(section)?;
            let kept = Open {
                plugin,
                _store,
                _permit,
            };
            open.insert((user, number), kept);
        }
        Ok(opened)
    }
}

#[async_trait]
impl<S: KitServer> Fixture for Places<S> {
    type Place = Place;

    async fn create(&self) -> Place {
        Place {
            taken: AsyncMutex::default(),
            free: None,
        }
    }

    async fn create_or_reuse(&self) -> Place {
        Place {
            taken: AsyncMutex::default(),
            free: (!self.is_fresh).then(|| Arc::clone(&self.free)),
        }
    }

    async fn journal(&self, place: &Place) -> Result<Arc<dyn Journal>, BoxError> {
        let mut taken = self.tables(place, self.user).await;
        let section = self.section(&mut taken, StoreKind::Journal).await;
        Ok(self.open(&mut taken, self.user, &section, |plugin| {
            plugin.journal(&section)
        })?)
    }

    async fn snapshot_store(&self, place: &Place) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        let mut taken = self.tables(place, self.user).await;
        let section = self.section(&mut taken, StoreKind::SnapshotStore).await;
        Ok(self.open(&mut taken, self.user, &section, |plugin| {
            plugin.snapshot_store(&section)
        })?)
    }

    async fn state_store(&self, place: &Place) -> Result<Arc<dyn StateStore>, BoxError> {
        let mut taken = self.tables(place, self.user).await;
        let section = self.section(&mut taken, StoreKind::StateStore).await;
        let none = StateExtensions::default();
        Ok(self.open(&mut taken, self.user, &section, |plugin| {
            plugin.state_store(&section, &none)
        })?)
    }

    /// Cases make tables by the work of commits, which only the owner may.
    async fn offset_store(&self, place: &Place) -> Result<Arc<dyn OffsetStore>, BoxError> {
        let mut taken = self.tables(place, User::Owner).await;
        let section = self.server.owner(taken.tables.number);
        Ok(self.open(&mut taken, User::Owner, &section, |plugin| {
            plugin.offset_store(&section)
        })?)
    }

    /// Cases change tables, which only their owner may, and wait for the time-out of a handler.
    ///
    /// They open many stores, of which none stands for another process.
    async fn state_store_with(
        &self,
        place: &Place,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        let mut taken = self.tables(place, User::Owner).await;
        let section = self.server.owner(taken.tables.number);
        let section = section.with("handler-timeout", "1500ms");
        Ok(
            self.open_as((User::Owner, 0), &mut taken, &section, |plugin| {
                plugin.state_store(&section, &extensions)
            })?,
        )
    }
}
