//! The databases whose servers can be started.

use std::fmt;

use crate::postgres::Postgres;
use crate::programs;
use crate::recipe::Recipe;

/// A database server by its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Database {
    /// PostgreSQL, of any version that is installed; the newest if several are.
    Postgres,
}

impl Database {
    /// Every database there is.
    pub const ALL: [Self; 1] = [Self::Postgres];

    /// The name in a manifest: `[package.metadata.actix-persistence] test-servers = ["postgres"]`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
        }
    }

    /// The environment variable that gives tests the URL of a server.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Postgres => "ACTIX_PERSISTENCE_TEST_POSTGRES_URL",
        }
    }

    /// Debian's package of the server.
    pub fn package(self) -> &'static str {
        self.recipe().package()
    }

    /// Whether the programs are there.
    pub fn is_installed(self) -> bool {
        programs::folder(self.recipe()).is_some()
    }

    pub(crate) fn recipe(self) -> &'static dyn Recipe {
        match self {
            Self::Postgres => &Postgres,
        }
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.recipe().name())
    }
}
