//! The differences between database servers.

use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use crate::certificate::Certificate;
use crate::error::ServerError;

/// The steps by which a server is prepared, run and asked whether it answers.
pub(crate) trait Recipe: Sync {
    /// Returns the name of the server for a person.
    fn name(&self) -> &'static str;
    /// Returns the name of Debian's package.
    fn package(&self) -> &'static str;
    /// The programs by which an installation is recognised; all are in one folder.
    fn programs(&self) -> &'static [&'static str];
    /// Returns the folders into which packages put the programs if they are not on the PATH, best first.
    fn folders(&self) -> Vec<PathBuf>;
    /// Accounts to run it as in place of root, best first.
    fn accounts(&self) -> &'static [&'static str];
    /// The program that makes an empty database in the folder, after what it reads has been written there.
    fn create(&self, site: &Site) -> Result<Command, ServerError>;
    /// Returns the command that runs the server in the foreground.
    fn serve(&self, site: &Site) -> Command;
    /// Returns the signal that ends the server at once, if a killed one would leave something outside its folder.
    fn end_at_once(&self) -> Option<Signal> {
        None
    }
    /// Removes the files by which a killed server seems to run still, and returns whether there were any. While they are
    /// there, no new server starts if another process has the number in them.
    fn forget_killed(&self, _site: &Site) -> bool {
        false
    }
    /// Returns whether the server with this process number takes connections.
    fn is_ready(&self, site: &Site, process: u32) -> bool;
    /// Returns the URL for clients.
    fn url(&self, site: &Site) -> String;
}

/// The place in which one server runs.
pub(crate) struct Site {
    /// The folder of the programs.
    pub(crate) programs: PathBuf,
    /// The server's own folder.
    pub(crate) folder: PathBuf,
    /// The port, on 127.0.0.1.
    pub(crate) port: u16,
    /// The password of the administrator, whose commands could run programs: other users of the machine reach the port
    /// too.
    pub(crate) password: String,
    /// True if MariaDB writes a binary log, which PostgreSQL has no like of.
    pub(crate) binary_log: bool,
    /// The certificate with which it lets clients encrypt, if it does.
    pub(crate) certificate: Option<Certificate>,
}

impl Site {
    /// Returns the call of a program of the server, without the variables by which the environment names other servers of
    /// its kind.
    pub(crate) fn program(&self, name: &str) -> Command {
        self.program_at(self.programs.join(name))
    }

    /// The same of a program that lies elsewhere.
    pub(crate) fn program_at(&self, path: PathBuf) -> Command {
        let mut command = Command::new(path);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            // A MariaDB that starts removes temporary tables from here, whosever they are.
            .env("TMPDIR", &self.folder);
        command
    }

    /// Returns the folder of the data.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }
}
