//! Pools of the application, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use actix_persistence_sql::{InvalidOption, ServerOptions};
use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;

/// Pools of the application that sections may name by `pool`.
///
/// Stores open connections of their own, as such a pool would open its next one: what is set later by
/// [`PgPool::set_connect_options`], a new password for example, counts for them, too. They do not borrow the pool's
/// connections, which belong to another runtime and may be left in any state, and do not call its hooks.
#[derive(Clone, Debug, Default)]
pub struct Pools(BTreeMap<String, NamedPool>);

/// A pool and how the config calls it.
#[derive(Clone)]
pub(crate) struct NamedPool {
    name: String,
    pool: PgPool,
}

impl Pools {
    /// Makes an empty set of pools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a pool under a name, by which sections refer to it.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, pool: PgPool) -> Self {
        let pool = NamedPool::new(name, pool);
        self.0.insert(pool.name.clone(), pool);
        self
    }

    pub(super) fn get(&self, name: &str) -> Option<NamedPool> {
        self.0.get(name).cloned()
    }

    /// Returns the message about a name that does not exist.
    pub(super) fn missing(&self) -> String {
        if self.0.is_empty() {
            return "must name a pool, and the application gave none".to_owned();
        }
        let names: Vec<_> = self.0.keys().map(String::as_str).collect();
        format!("must name a pool of the application: {}", names.join(", "))
    }
}

impl NamedPool {
    pub(super) fn new(name: impl Into<String>, pool: PgPool) -> Self {
        let name = name.into();
        Self { name, pool }
    }

    /// Returns the options with which its next connection would be made.
    pub(crate) fn connect_options(&self) -> Arc<PgConnectOptions> {
        self.pool.connect_options()
    }

    pub(super) fn mistakes(&self, server: &ServerOptions) -> Vec<InvalidOption> {
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

/// The pool's name distinguishes it from others of the application.
impl fmt::Display for NamedPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = self.connect_options();
        let database = options.get_database().unwrap_or_default();
        write!(
            f,
            "pool {} ({}:{}/{database})",
            self.name,
            options.get_host(),
            options.get_port()
        )
    }
}

impl fmt::Debug for NamedPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
