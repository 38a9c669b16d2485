//! The stores that a kind can run on.

use std::fmt;

use actix_persistence_test_servers::Database;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A store that a kind runs on.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize, Deserialize,
)]
pub enum Backend {
    /// The database SQLite, in files.
    Sqlite,
    /// The database PostgreSQL, on a server.
    Postgres,
    /// A MySQL or MariaDB server.
    Mysql,
    /// No database: all in this process.
    Memory,
}

impl Backend {
    /// The backends that are databases.
    pub const DATABASES: &'static [Self] = &[Self::Sqlite, Self::Postgres, Self::Mysql];
    /// The databases that are servers.
    pub const SERVERS: &'static [Self] = &[Self::Postgres, Self::Mysql];

    /// Returns the name in a command and in the `kind` of a store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
            Self::Memory => "memory",
        }
    }

    /// The server that it needs, if it needs one.
    pub fn server(self) -> Option<Database> {
        match self {
            Self::Postgres => Some(Database::Postgres),
            Self::Mysql => Some(Database::MariaDb),
            Self::Sqlite | Self::Memory => None,
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
