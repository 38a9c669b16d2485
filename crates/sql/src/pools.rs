//! Pools of the application, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use actix_persistence_storage_api::SectionReader;
use sqlx::{Connection, Database, Pool};

use crate::{InvalidOption, ServerEndpoint, ServerKind, ServerOptions};

/// The options with which a database's driver opens connections.
pub type ConnectOptionsOf<DB> = <<DB as Database>::Connection as Connection>::Options;

/// Pools of the application that sections may name by `pool`.
///
/// Stores open connections of their own, as such a pool would open its next one: what is set later by
/// [`Pool::set_connect_options`], a new password for example, counts for them, too. They do not borrow the pool's
/// connections, which belong to another runtime and may be left in any state, and do not call its hooks.
pub struct Pools<DB: Database>(BTreeMap<String, NamedPool<DB>>);

/// A pool, and its name in the config, by which it differs from others.
pub struct NamedPool<DB: Database> {
    name: String,
    pool: Pool<DB>,
}

impl<DB: Database> Pools<DB> {
    /// Makes an empty set of pools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a pool under a name, by which sections refer to it.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, pool: Pool<DB>) -> Self {
        let pool = NamedPool::new(name, pool);
        self.0.insert(pool.name.clone(), pool);
        self
    }

    /// Reads the key `pool`, and reports a name that no pool has.
    pub fn read(&self, reader: &mut SectionReader<'_>) -> Option<NamedPool<DB>> {
        let name = reader.string("pool")?;
        let found = self.0.get(&name).cloned();
        if found.is_none() {
            reader.reject("pool", self.missing());
        }
        found
    }

    fn missing(&self) -> String {
        if self.0.is_empty() {
            return "must name a pool, and the application gave none".to_owned();
        }
        let names: Vec<_> = self.0.keys().map(String::as_str).collect();
        format!("must name a pool of the application: {}", names.join(", "))
    }
}

impl<DB: Database> NamedPool<DB> {
    /// Makes it from its parts.
    pub fn new(name: impl Into<String>, pool: Pool<DB>) -> Self {
        let name = name.into();
        Self { name, pool }
    }

    /// Returns the options with which its next connection would be made.
    pub fn connect_options(&self) -> Arc<ConnectOptionsOf<DB>> {
        self.pool.connect_options()
    }

    /// Returns what is wrong with the options of a server beside those of the pool.
    pub fn mistakes(&self, server: &ServerOptions) -> Vec<InvalidOption> {
        let mut mistakes = server.mistakes_but_endpoint();
        if server.names_an_endpoint() {
            mistakes.push(InvalidOption::new(
                "pool",
                "stands for the place of the server; leave out 'url', 'host', 'password', 'tls' and the like",
            ));
        }
        mistakes
    }
}

/// The server that a store uses, and how it connects: as its options say, or as a pool of the application does.
#[derive(Debug)]
pub enum ServerSource<DB: Database> {
    /// The options name the server.
    Options(ServerEndpoint),
    /// A pool of the application stands for it.
    Pool(NamedPool<DB>),
}

impl<DB: Database> ServerSource<DB> {
    /// Returns the pool, or what the options say.
    ///
    /// # Errors
    /// If the options cannot be used.
    pub fn new(
        pool: Option<&NamedPool<DB>>,
        server: &ServerOptions,
        kind: &ServerKind,
    ) -> Result<Self, InvalidOption> {
        Ok(match pool {
            Some(pool) => ServerSource::Pool(pool.clone()),
            None => ServerSource::Options(server.endpoint(kind)?),
        })
    }

    /// Returns the address, for messages, and to distinguish one from another; `address` is that of a pool's options.
    pub fn endpoint(&self, address: impl FnOnce(&ConnectOptionsOf<DB>) -> String) -> String {
        match self {
            ServerSource::Options(endpoint) => endpoint.to_string(),
            ServerSource::Pool(pool) => {
                format!("pool {} ({})", pool.name, address(&pool.connect_options()))
            }
        }
    }

    /// Returns the first key in which two that have one address differ.
    pub fn conflicting_option(&self, other: &Self) -> Option<&'static str> {
        match (self, other) {
            (ServerSource::Options(one), ServerSource::Options(other)) => {
                one.conflicting_option(other)
            }
            _ => None,
        }
    }
}

impl<DB: Database> Default for Pools<DB> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<DB: Database> Clone for Pools<DB> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<DB: Database> fmt::Debug for Pools<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.values()).finish()
    }
}

impl<DB: Database> Clone for NamedPool<DB> {
    fn clone(&self) -> Self {
        Self::new(self.name.clone(), self.pool.clone())
    }
}

impl<DB: Database> Clone for ServerSource<DB> {
    fn clone(&self) -> Self {
        match self {
            ServerSource::Options(endpoint) => ServerSource::Options(endpoint.clone()),
            ServerSource::Pool(pool) => ServerSource::Pool(pool.clone()),
        }
    }
}

impl<DB: Database> PartialEq for NamedPool<DB> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl<DB: Database> Eq for NamedPool<DB> {}

impl<DB: Database> fmt::Debug for NamedPool<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
