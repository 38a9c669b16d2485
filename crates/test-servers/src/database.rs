//! The databases whose servers can be started.

use std::fmt;

use crate::mariadb::MariaDb;
use crate::postgres::Postgres;
use crate::programs;
use crate::recipe::Recipe;

/// A database server by its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Database {
    /// PostgreSQL, of any version that is installed; the newest if several are.
    Postgres,
    /// MariaDB, for the tests of what runs on MySQL and MariaDB.
    MariaDb,
}

impl Database {
    /// Every database there is.
    pub const ALL: [Self; 2] = [Self::Postgres, Self::MariaDb];

    /// Returns the name in a manifest, that of the plugin: `[package.metadata.actix-persistence] test-servers =
    /// ["postgres", "mysql"]`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MariaDb => "mysql",
        }
    }

    /// The environment variable that holds the URL of a server for tests.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Postgres => "ACTIX_PERSISTENCE_TEST_POSTGRES_URL",
            Self::MariaDb => "ACTIX_PERSISTENCE_TEST_MYSQL_URL",
        }
    }

    /// Debian's package of the server.
    pub fn package(self) -> &'static str {
        self.recipe().package()
    }

    /// Returns whether the programs are there.
    pub fn is_installed(self) -> bool {
        programs::folder(self.recipe()).is_some()
    }

    pub(crate) fn recipe(self) -> &'static dyn Recipe {
        match self {
            Self::Postgres => &Postgres,
            Self::MariaDb => &MariaDb,
        }
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.recipe().name())
    }
}
