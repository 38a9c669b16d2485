//! Opens the stores of an application.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_offset_actor::OffsetHandle;
#[cfg(feature = "encryption")]
use actix_persistence_persistent_actor::KeyStore;
use actix_persistence_persistent_actor::{
    BackOffSettings, DeadLetters, OverflowReplies, OverflowStrategy, PublishedEvents, SerdeFormat,
    SerializerCollision, Serializers, StashPolicy,
};
use actix_persistence_projection::RunningProjections;
use actix_persistence_snapshot_actor::SnapshotHandle;
use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::{
    AdditionalColumn, ChangeHandler, Journal, OffsetStore, Plugin, Roles, SchemaSteps, Section,
    SnapshotStore, StateStore,
};
use actix_persistence_store_actor::StoreThread;
use tokio::runtime::{self, Runtime};

use crate::config::{
    CAPACITY, DEAD_LETTERS, MAX_CONCURRENT_RECOVERIES, Mistakes, NamedCode, PUBLISHED_EVENTS,
    PluginKind, Resolution, Settings, StoreSections, StoreSettings, bind_schema_steps,
};
use crate::current;
use crate::persistence::Shared;
use crate::stores::StoreSchema;
use crate::stores::made_stores::MadeStores;
use crate::stores::store_entries::{NewStores, StoreEntries};
use crate::stores::store_kind::StoreKind;
use crate::{Config, OpenError, Persistence};

/// The threads that do the stores' work; more would only make smaller groups.
const WORKER_THREADS: usize = 2;

/// Takes plugins and a config, and opens it all; made by [`Persistence::builder`].
#[must_use = "nothing is opened before `open`"]
pub struct Builder {
    config: Config,
    plugins: Vec<Arc<dyn Plugin>>,
    made: MadeStores,
    #[cfg(feature = "sqlite")]
    sqlite: Option<std::path::PathBuf>,
    formats: Vec<Arc<dyn SerdeFormat>>,
    #[cfg(feature = "encryption")]
    key_store: Option<Arc<dyn KeyStore>>,
    /// The code that the config may name.
    code: NamedCode,
    back_off: Option<BackOffSettings>,
    stash_policy: Option<StashPolicy>,
    makes_nothing: bool,
    schema_steps: Vec<SchemaSteps>,
    /// Numbers by the path of their key, which replace those of the config.
    numbers: Vec<(String, u32)>,
    left_out: LeftOut,
}

/// The kinds of stores that are not opened.
#[derive(Clone, Copy, Debug, Default)]
struct LeftOut {
    journals: bool,
    snapshot_stores: bool,
    state_stores: bool,
    offset_stores: bool,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            config: Config::new(),
            plugins: vec![
                Arc::new(actix_persistence_memory::MemoryPlugin::new()),
                #[cfg(feature = "sqlite")]
                Arc::new(actix_persistence_sqlite::SqlitePlugin::new()),
                #[cfg(feature = "postgres")]
                Arc::new(actix_persistence_postgres::PostgresPlugin::new()),
                #[cfg(feature = "mysql")]
                Arc::new(actix_persistence_mysql::MysqlPlugin::new()),
            ],
            made: MadeStores::default(),
            #[cfg(feature = "sqlite")]
            sqlite: None,
            formats: Vec::new(),
            #[cfg(feature = "encryption")]
            key_store: None,
            code: NamedCode::default(),
            back_off: None,
            stash_policy: None,
            makes_nothing: false,
            schema_steps: Vec::new(),
            numbers: Vec::new(),
            left_out: LeftOut::default(),
        }
    }

    /// Sets the config to open.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Registers a plugin, so that a section can choose it by its `kind`; one of the same name is replaced.
    pub fn plugin(mut self, plugin: impl Plugin + 'static) -> Self {
        self.plugins.retain(|known| known.name() != plugin.name());
        self.plugins.push(Arc::new(plugin));
        self
    }

    /// Stores events, snapshots, states and the progress of projections in one SQLite file, as [`Persistence::sqlite`] does, under the plugin id
    /// `sqlite`. The config may hold further settings in the sections of this id, and other stores; these are the
    /// defaults.
    #[cfg(feature = "sqlite")]
    pub fn sqlite(mut self, path: impl AsRef<std::path::Path>) -> Self {
        self.sqlite = Some(path.as_ref().to_owned());
        self
    }

    /// Stores events, snapshots and states in memory, as [`Persistence::memory`] does, under the plugin id `memory`.
    pub fn memory(self) -> Self {
        let storage = actix_persistence_memory::MemoryStorage::new();
        self.journal("memory", Arc::new(storage.journal()))
            .snapshot_store("memory", Arc::new(storage.snapshot_store()))
            .state_store("memory", Arc::new(storage.state_store()))
            .offset_store("memory", Arc::new(storage.offset_store()))
    }

    /// Adds a journal that the program made itself, under this plugin id; the first one is the default unless the
    /// config names another. The config may hold the settings that all journals share in a section of this id.
    pub fn journal(mut self, plugin_id: &str, journal: Arc<dyn Journal>) -> Self {
        self.made.journals.add(plugin_id, journal);
        self
    }

    /// Adds a snapshot store that the program made itself, as [`journal`](Self::journal).
    pub fn snapshot_store(mut self, plugin_id: &str, store: Arc<dyn SnapshotStore>) -> Self {
        self.made.snapshot_stores.add(plugin_id, store);
        self
    }

    /// Adds a state store that the program made itself, as [`journal`](Self::journal).
    pub fn state_store(mut self, plugin_id: &str, store: Arc<dyn StateStore>) -> Self {
        self.made.state_stores.add(plugin_id, store);
        self
    }

    /// Adds an offset store that the program made itself, as [`journal`](Self::journal).
    pub fn offset_store(mut self, plugin_id: &str, store: Arc<dyn OffsetStore>) -> Self {
        self.made.offset_stores.add(plugin_id, store);
        self
    }

    /// Lets the section `additional-columns` of a state store choose a column by this name, which need not be that of
    /// the column.
    pub fn additional_column(
        mut self,
        name: &str,
        column: impl AdditionalColumn + 'static,
    ) -> Self {
        let columns = &mut self.code.columns;
        columns.insert(name.to_owned(), Arc::new(column));
        self
    }

    /// Lets the section `change-handler` of a state store choose a handler by this name.
    pub fn change_handler(mut self, name: &str, handler: impl ChangeHandler + 'static) -> Self {
        let handlers = &mut self.code.change_handlers;
        handlers.insert(name.to_owned(), Arc::new(handler));
        self
    }

    /// Adds the steps that make the application's own tables in the database of a state store, beside those of the store: what
    /// its change handlers and [`transact`](Persistence::transact) use. They have run before the first of these runs.
    ///
    /// The key `auto-initialize` of the store decides whether they are run, or have to have run.
    /// [`schema`](Self::schema) returns them, too.
    pub fn schema_steps(mut self, steps: SchemaSteps) -> Self {
        self.schema_steps.push(steps);
        self
    }

    /// Registers a format for types of serde, so that the key `serializer` of a store may choose it by its name, types may
    /// name it as [`Serializer::Registered`](crate::Serializer::Registered), and what it wrote is read.
    ///
    /// Two that have the same id or name are an error of [`open`](Self::open).
    pub fn serializer(mut self, format: impl SerdeFormat) -> Self {
        self.formats.push(Arc::new(format));
        self
    }

    /// Sets the keys with which events, snapshots and states are encrypted that have a
    /// [data subject](crate::Event::data_subject).
    #[cfg(feature = "encryption")]
    pub fn key_store(mut self, key_store: Arc<dyn KeyStore>) -> Self {
        self.key_store = Some(key_store);
        self
    }

    /// Sets the back-off of failed actors, for actors that set none themselves; replaces the section
    /// `persistence.back-off`.
    pub fn back_off(mut self, settings: BackOffSettings) -> Self {
        self.back_off = Some(settings);
        self
    }

    /// Sets the number of messages that an actor holds while it recovers or persists, and the fate of further ones, for
    /// actors that set neither themselves; replaces the section `persistence.internal-stash`.
    pub fn stash_policy(mut self, policy: StashPolicy) -> Self {
        self.stash_policy = Some(policy);
        self
    }

    /// Sets the number of actors that may recover from one journal or state store at the same time, at least 1;
    /// replaces the setting `persistence.max-concurrent-recoveries`.
    pub fn max_concurrent_recoveries(mut self, actors: u32) -> Self {
        let key = format!("persistence.{MAX_CONCURRENT_RECOVERIES}");
        self.numbers.push((key, actors));
        self
    }

    /// Returns the answers for the setting `persistence.internal-stash.overflow = "reply"`.
    pub fn overflow_replies(mut self, replies: OverflowReplies) -> Self {
        self.code.overflow.replies = replies;
        self
    }

    /// Lets the setting `persistence.internal-stash.overflow` choose a strategy of the application by this name.
    pub fn overflow_strategy(
        mut self,
        name: &str,
        strategy: impl OverflowStrategy + 'static,
    ) -> Self {
        let strategies = &mut self.code.overflow.strategies;
        strategies.insert(name.to_owned(), Arc::new(strategy));
        self
    }

    /// Sets the number of [published events](Persistence::events) that are kept for a slow reader; replaces the setting
    /// `persistence.published-events.capacity`.
    pub fn published_events_capacity(mut self, capacity: u32) -> Self {
        let key = format!("persistence.{PUBLISHED_EVENTS}.{CAPACITY}");
        self.numbers.push((key, capacity));
        self
    }

    /// Sets the number of [dead letters](Persistence::dead_letters) that are kept for a slow reader; replaces the
    /// setting `persistence.dead-letters.capacity`.
    pub fn dead_letters_capacity(mut self, capacity: u32) -> Self {
        let key = format!("persistence.{DEAD_LETTERS}.{CAPACITY}");
        self.numbers.push((key, capacity));
        self
    }

    /// Uses the databases and tables that are there, and makes none, whatever `auto-initialize` says: a table that is
    /// missing, or of an older version, is an error. For tools that work on the data of an application: they need not
    /// register the [serializers](Self::serializer) that its config names, unless they decode what these wrote.
    ///
    /// Plugins of third parties may make something all the same, see [`Plugin::without_making`].
    pub fn without_making(mut self) -> Self {
        self.makes_nothing = true;
        self.code.may_lack_serializers = true;
        self
    }

    /// Opens no journal, even if the config has one: as if it had none. Its keys are still checked.
    pub fn without_journals(mut self) -> Self {
        self.left_out.journals = true;
        self
    }

    /// Opens no snapshot store, even if the config has one: as if it had none. Its keys are still checked.
    pub fn without_snapshot_stores(mut self) -> Self {
        self.left_out.snapshot_stores = true;
        self
    }

    /// Opens no state store, even if the config has one: as if it had none. Its keys are still checked, but the columns
    /// and change handlers that it names need not be registered.
    pub fn without_state_stores(mut self) -> Self {
        self.left_out.state_stores = true;
        self.code.may_lack_extensions = true;
        self
    }

    /// Opens no offset store, even if the config has one: as if it had none. Its keys are still checked.
    pub fn without_offset_stores(mut self) -> Self {
        self.left_out.offset_stores = true;
        self
    }

    /// Opens every store of the config that is not left out, and waits for the first attempt of each.
    ///
    /// # Errors
    /// As [`Persistence::from_config`].
    ///
    /// # Cancel safety
    /// If the future is dropped, the stores that were opened are closed.
    pub async fn open(self) -> Result<Persistence, OpenError> {
        let persistence = Persistence(Arc::new(self.start()?));
        for store in persistence.0.stores.all() {
            store.first_attempt().await?;
        }
        persistence.0.warn_of_weaker_snapshots();
        current::install(&persistence);
        Ok(persistence)
    }

    /// Returns the statements that make what the stores of the config need, for a person who does it instead of
    /// `auto-initialize`; with roles, they include the rights of the two accounts. Opens nothing, and does without the
    /// columns and change handlers that the config names and that are not registered.
    ///
    /// # Errors
    /// [`OpenError::Config`] with every mistake of the config, or if a database knows no roles.
    pub fn schema(self, roles: Option<&Roles>) -> Result<Vec<StoreSchema>, OpenError> {
        let mut builder = self.complete()?;
        builder.code.may_lack_extensions = true;
        builder.code.may_lack_serializers = true;
        let Resolution {
            settings,
            mut mistakes,
        } = builder.resolve();
        let mut schemas = Vec::new();
        builder.add_schemas::<JournalHandle>(
            &settings.journals,
            roles,
            &mut schemas,
            &mut mistakes,
        );
        builder.add_schemas::<SnapshotHandle>(
            &settings.snapshot_stores,
            roles,
            &mut schemas,
            &mut mistakes,
        );
        builder.add_schemas::<StateHandle>(
            &settings.state_stores,
            roles,
            &mut schemas,
            &mut mistakes,
        );
        builder.add_schemas::<OffsetHandle>(
            &settings.offset_stores,
            roles,
            &mut schemas,
            &mut mistakes,
        );
        mistakes.check()?;
        Ok(schemas)
    }

    fn add_schemas<K: StoreKind>(
        &self,
        sections: &StoreSections<K::Settings>,
        roles: Option<&Roles>,
        schemas: &mut Vec<StoreSchema>,
        mistakes: &mut Mistakes,
    ) {
        for section in &sections.stores {
            let plugin = self.plugin_of(section.kind);
            match K::schema(plugin, &section.section, &section.settings, roles) {
                Ok(sql) => {
                    schemas.push(StoreSchema::new(K::Settings::NAME, &section.plugin_id, sql));
                }
                Err(errors) => mistakes.add(section.where_written(errors)),
            }
        }
    }

    fn start(self) -> Result<Shared, OpenError> {
        let builder = self.complete()?;
        let (settings, stores) = builder.make_stores()?;

        let runtime = new_runtime().map_err(OpenError::Threads)?;
        let thread = StoreThread::start("persistence-actors").map_err(OpenError::Threads)?;
        Ok(Shared {
            stores: StoreEntries::start(&settings, stores, runtime.handle(), &thread),
            serializers: builder.code.serializers,
            back_off: builder.back_off.unwrap_or(settings.back_off),
            stash_policy: builder.stash_policy.unwrap_or(settings.stash_policy),
            published_events: PublishedEvents::new(settings.notifications.published_events),
            dead_letters: DeadLetters::new(settings.notifications.dead_letters),
            environments: Mutex::new(HashMap::new()),
            projections: RunningProjections::default(),
            _thread: thread,
            runtime: Some(runtime),
        })
    }

    /// Adds the stores, serializers and settings that the program made itself.
    fn complete(mut self) -> Result<Self, OpenError> {
        self.code.serializers = self.known_serializers()?;
        #[cfg(feature = "sqlite")]
        if let Some(path) = self.sqlite.take() {
            let url = crate::sqlite_url::of(&path)?;
            for store in [
                JournalHandle::SECTION,
                SnapshotHandle::SECTION,
                StateHandle::SECTION,
                OffsetHandle::SECTION,
            ] {
                self.config = self
                    .config
                    .with(&format!("persistence.{store}.plugin"), "sqlite")
                    .with(&format!("persistence.{store}.sqlite.url"), url.as_str());
            }
        }
        self.config = self.made.declare(self.config);
        for (key, number) in std::mem::take(&mut self.numbers) {
            self.config = self.config.with(&key, i64::from(number));
        }
        self.plugins.push(Arc::new(std::mem::take(&mut self.made)));
        Ok(self)
    }

    fn known_serializers(&self) -> Result<Serializers, SerializerCollision> {
        let known = Serializers::default();
        #[cfg(feature = "encryption")]
        let known = match &self.key_store {
            Some(key_store) => known.with_key_store(Arc::clone(key_store)),
            None => known,
        };
        let mut formats = self.formats.iter();
        formats.try_fold(known, |known, format| known.with_format(Arc::clone(format)))
    }

    fn resolve(&self) -> Resolution {
        let kinds: Vec<_> = self
            .plugins
            .iter()
            .map(|plugin| PluginKind::from(&**plugin))
            .collect();
        let mut resolution = self.config.resolve(&kinds, &self.code);
        if !self.left_out.state_stores {
            bind_schema_steps(&self.schema_steps, &mut resolution);
        }
        resolution
    }

    /// Lets the plugins make the stores, and reports the mistakes of all sections together.
    fn make_stores(&self) -> Result<(Settings, NewStores), OpenError> {
        let Resolution {
            mut settings,
            mut mistakes,
        } = self.resolve();
        leave_out(self.left_out.journals, &mut settings.journals);
        leave_out(self.left_out.snapshot_stores, &mut settings.snapshot_stores);
        leave_out(self.left_out.state_stores, &mut settings.state_stores);
        leave_out(self.left_out.offset_stores, &mut settings.offset_stores);
        let stores = NewStores {
            journals: self.make::<JournalHandle>(&settings.journals, &mut mistakes),
            snapshot_stores: self.make::<SnapshotHandle>(&settings.snapshot_stores, &mut mistakes),
            state_stores: self.make::<StateHandle>(&settings.state_stores, &mut mistakes),
            offset_stores: self.make::<OffsetHandle>(&settings.offset_stores, &mut mistakes),
        };
        mistakes.check()?;
        Ok((settings, stores))
    }

    /// Returns the stores of one kind, one for each of its sections, unless there are mistakes.
    fn make<K: StoreKind>(
        &self,
        sections: &StoreSections<K::Settings>,
        mistakes: &mut Mistakes,
    ) -> Vec<Arc<K::Store>> {
        let mut stores = Vec::new();
        for section in &sections.stores {
            let plugin = self.plugin_of(section.kind);
            let for_plugin = self.section_for(plugin, &section.section);
            match K::make(plugin, &for_plugin, &section.settings) {
                Ok(store) => stores.push(store),
                Err(errors) => mistakes.add(section.where_written(errors)),
            }
        }
        stores
    }

    fn section_for<'s>(&self, plugin: &dyn Plugin, section: &'s Section) -> Cow<'s, Section> {
        if self.makes_nothing {
            Cow::Owned(plugin.without_making(section))
        } else {
            Cow::Borrowed(section)
        }
    }

    fn plugin_of(&self, kind: &str) -> &dyn Plugin {
        let plugin = self.plugins.iter().find(|plugin| plugin.name() == kind);
        &**plugin.expect("sections are resolved with the kinds of these plugins")
    }
}

fn leave_out<S>(left_out: bool, sections: &mut StoreSections<S>) {
    if left_out {
        *sections = StoreSections::default();
    }
}

fn new_runtime() -> std::io::Result<Runtime> {
    runtime::Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .thread_name("persistence-io")
        .enable_all()
        .build()
}
