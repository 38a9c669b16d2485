//! The block `r2dbc` of Akka's plugin for SQL databases, as sections of our stores.

mod connection;

use actix_persistence_storage_api::{ConfigError, Item, Section, Value};

use super::super::unknown_name::unknown_name;
use super::{mistake, put_section, rename, take, take_section, without_library};

/// The name of the block, and the plugin id of the stores that it becomes.
const R2DBC: &str = "r2dbc";
const DIALECT: &str = "dialect";
const SCHEMA: &str = "schema";
/// The key of Pekko that lets a store connect in another way than the rest.
const USE_FACTORY: &str = "use-connection-factory";

/// The databases that there are here, too, by the name of their plugin.
const DIALECTS: [&str; 2] = [MYSQL, "postgres"];
const MYSQL: &str = "mysql";
/// The database if the block names none.
const DEFAULT_DIALECT: &str = "postgres";

/// The stores of the block: their section there, the section that they have here, and the key of their table.
const STORES: [(&str, &str, &str); 3] = [
    ("journal", "journal", "event-table"),
    ("snapshot", "snapshot-store", "snapshot-table"),
    ("state", "state", "state-table"),
];

/// The keys of queries that a state store has, too.
const QUERY: [(&str, &str); 2] = [
    ("refresh-interval", "refresh-interval"),
    ("buffer-size", "page-size"),
];

const LOOKS: &str = "the section 'query' of a state store says how that is queried";
const TIMES: &str = "the plugin takes care of times";
const PUBLISHED: &str = "'published-events' is the section about events that are published";

/// The keys without meaning of the block, its queries and its stores, and what there is instead.
const MEANINGLESS: [(&str, &str); 13] = [
    ("backtracking", LOOKS),
    ("behind-current-time", LOOKS),
    ("buffer-size", LOOKS),
    ("refresh-interval", LOOKS),
    ("persistence-ids", LOOKS),
    ("deduplicate-capacity", LOOKS),
    ("db-timestamp-monotonic-increasing", TIMES),
    ("use-app-timestamp", TIMES),
    ("publish-events", PUBLISHED),
    ("publish-events-dynamic", PUBLISHED),
    ("publish-events-number-of-topics", PUBLISHED),
    (
        "log-db-calls-exceeding",
        "'statement-timeout' bounds the duration of a statement",
    ),
    ("data-partition", "each store has one database"),
];

/// Reads the block as sections of stores, and returns what cannot be read.
///
/// A store is made if the block has a section for it, or if it is the default one. What the config says about the store
/// in our words goes before the block.
pub(super) fn take_over(persistence: &mut Section, warnings: &mut Vec<String>) -> Vec<ConfigError> {
    let Some(block) = take_section(persistence, R2DBC) else {
        return Vec::new();
    };
    let mut reading = Reading {
        warnings,
        refused: Vec::new(),
    };
    reading.block(block, persistence);
    reading.refused
}

/// The keys that block and store may both have.
struct Common {
    kind: Item,
    schema: Option<Item>,
}

/// Reads the block, and collects what is to be said about it.
struct Reading<'a> {
    warnings: &'a mut Vec<String>,
    refused: Vec<ConfigError>,
}

impl Reading<'_> {
    fn block(&mut self, mut block: Section, persistence: &mut Section) {
        let (path, origin) = (block.path().to_owned(), block.origin().clone());
        let mut factory = take_section(&mut block, "connection-factory").unwrap_or_default();
        // Newer versions of the plugin have it there.
        if let Some(dialect) = factory.remove(DIALECT) {
            block.insert(DIALECT, dialect);
        }
        let default = Item {
            value: DEFAULT_DIALECT.into(),
            origin: origin.clone(),
        };
        let common = self.common(&mut block, default);
        let connection = connection::read(factory, self.warnings);
        let cleanup = "the crate 'actix-persistence-cleanup' has no section";
        take(&mut block, "cleanup", cleanup, self.warnings);
        let mut query = take_section(&mut block, "query").unwrap_or_default();

        let mut made = Vec::new();
        for (name, section, table) in STORES {
            let own = take_section(&mut block, name);
            let mut stores = take_section(persistence, section)
                .unwrap_or_else(|| Section::new(persistence.path_of(section), origin.clone()));
            let is_default = shorten_default(&mut stores, &format!("{path}.{name}"));
            if own.is_some() || is_default {
                let there = take_section(&mut stores, R2DBC);
                let mut store =
                    there.unwrap_or_else(|| Section::new(stores.path_of(R2DBC), origin.clone()));
                store.fall_back_to(&self.store(own.unwrap_or_default(), table, &common));
                store.fall_back_to(&connection);
                if section == "state" {
                    queries(&mut query, &mut store);
                }
                made.push(format!("'{}'", store.path()));
                put_section(&mut stores, R2DBC, store);
            }
            if !stores.is_empty() {
                put_section(persistence, section, stores);
            }
        }
        self.meaningless(&mut query);
        let stores = STORES.into_iter().map(|(name, _, _)| name);
        let known = [DIALECT, SCHEMA, "connection-factory", "query"];
        self.no_other_keys(block, known.into_iter().chain(stores));
        self.no_other_keys(query, QUERY.into_iter().map(|(key, _)| key));
        self.warnings.push(match made.as_slice() {
            [] => format!(
                "{origin}: '{path}' has no meaning here and is ignored; no default plugin names a store of it"
            ),
            made => format!(
                "{origin}: '{path}' is read as {}; write that instead",
                made.join(", ")
            ),
        });
    }

    /// Returns the section of a store without the keys that all of them share.
    fn store(&mut self, mut own: Section, table: &str, common: &Common) -> Section {
        let own_common = self.common(&mut own, common.kind.clone());
        let is_of_postgres = own_common.kind.value != Value::from(MYSQL);
        own.insert("kind", own_common.kind);
        let schema = own_common.schema.or_else(|| common.schema.clone());
        if let Some(schema) = schema.filter(|_| is_of_postgres) {
            own.insert(SCHEMA, schema);
        }
        rename(&mut own, "table", table, self.warnings);
        let payload = own.reader().string("payload-column-type");
        if let Some(mut item) = own.remove("payload-column-type") {
            let word = payload.unwrap_or_default().to_ascii_lowercase();
            let column = match &*word {
                "bytea" => "bytes",
                "jsonb" => "json",
                other => other,
            };
            item.value = column.into();
            own.insert("payload-column", item);
        }
        own
    }

    fn common(&mut self, section: &mut Section, default: Item) -> Common {
        self.meaningless(section);
        self.own_factory(section);
        let kind = self.kind(section).unwrap_or(default);
        let schema = section.reader().string(SCHEMA);
        let is_empty = schema.is_some_and(|name| name.is_empty());
        if kind.value == Value::from(MYSQL) && !is_empty {
            take(section, SCHEMA, "'database' names it", self.warnings);
        }
        let schema = section.remove(SCHEMA).filter(|_| !is_empty);
        Common { kind, schema }
    }

    fn kind(&mut self, section: &mut Section) -> Option<Item> {
        let name = section.reader().string(DIALECT).unwrap_or_default();
        let item = section.remove(DIALECT)?;
        let name = name.to_ascii_lowercase();
        if let Some(known) = DIALECTS.into_iter().find(|known| *known == name) {
            let value = known.into();
            return Some(Item { value, ..item });
        }
        let message = unknown_name("dialect", &name, &DIALECTS);
        let path = section.path_of(DIALECT);
        self.refused.push(mistake(path, item.origin, &message));
        None
    }

    /// Refuses a store with connections of its own: it would be opened in the database of the others.
    fn own_factory(&mut self, section: &mut Section) {
        let name = section.reader().string(USE_FACTORY).unwrap_or_default();
        if let Some(item) = section.remove(USE_FACTORY)
            && without_library(&name) != "persistence.r2dbc.connection-factory"
        {
            let path = section.path_of(USE_FACTORY);
            let message = "names another section; write a section for the store, with its database";
            self.refused.push(mistake(path, item.origin, message));
        }
    }

    fn meaningless(&mut self, section: &mut Section) {
        for (key, instead) in MEANINGLESS {
            take(section, key, instead, self.warnings);
        }
    }

    fn no_other_keys<'k>(&mut self, mut section: Section, known: impl Iterator<Item = &'k str>) {
        section.also_known(known);
        if let Err(errors) = section.reader().finish() {
            self.refused.extend(errors.into_errors());
        }
    }
}

/// Names the default store by its plugin id, if it is the store of the block; returns whether it is.
fn shorten_default(stores: &mut Section, path: &str) -> bool {
    let name = stores.reader().string("plugin").unwrap_or_default();
    let is_default = without_library(&name) == path;
    if is_default && let Some(item) = stores.remove("plugin") {
        let value = R2DBC.into();
        stores.insert("plugin", Item { value, ..item });
    }
    is_default
}

/// Moves the keys of queries that a state store has to that store.
fn queries(query: &mut Section, store: &mut Section) {
    let mut own = Section::new(store.path_of("query"), query.origin().clone());
    for (key, name) in QUERY {
        if let Some(item) = query.remove(key) {
            own.insert(name, item);
        }
    }
    let mut made = Section::new(store.path(), store.origin().clone());
    if !own.is_empty() {
        put_section(&mut made, "query", own);
    }
    store.fall_back_to(&made);
}
