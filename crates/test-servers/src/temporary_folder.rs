//! A folder for the temporary files of tests.

use std::path::Path;

use crate::account::Account;
use crate::error::ServerError;
use crate::home::Home;

/// A folder that is gone with everyone who lives in it when it is dropped, or when its owner dies, of SIGKILL too: what programs
/// leave in it when they are killed would else stay for good.
pub struct TemporaryFolder {
    home: Home,
}

impl TemporaryFolder {
    /// Makes a folder in `parent`, for us alone; `locks` is the folder of its lock file, as for
    /// [`Server::start`](crate::Server::start).
    ///
    /// # Errors
    /// If the folder or its lock file cannot be made.
    pub fn make_in(parent: &Path, locks: &Path) -> Result<Self, ServerError> {
        let home = Home::claim(locks, parent, "tests", Account::Ours)?;
        Ok(Self { home })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        self.home.folder()
    }
}
