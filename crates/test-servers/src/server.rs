//! A running database server of a test.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::account::Account;
use crate::certificate::Certificate;
use crate::database::Database;
use crate::error::ServerError;
use crate::home::Home;
use crate::recipe::{Recipe, Site};
use crate::{port, programs, residents, secret};

/// The time after which a server must answer, on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// The interval of the questions.
const INTERVAL: Duration = Duration::from_millis(20);
/// The time that a server may take to end at once; then it is killed.
const LONGEST_END: Duration = Duration::from_secs(2);
/// The number of ports to try when another program took the first one.
const TRIES: usize = 3;
/// The number of lines of a log that an error shows; MariaDB ends its log with much advice.
const LAST_LINES: usize = 40;

/// A server of its own; when it is dropped, its processes have ended and its data is gone.
pub struct Server {
    recipe: &'static dyn Recipe,
    account: Account,
    site: Site,
    process: Option<Child>,
    /// Dropped last: it kills who still lives there.
    home: Home,
}

/// The choices for a server.
#[derive(Clone, Copy, Debug, Default)]
struct Extras {
    encrypted: bool,
    binary_log: bool,
}

impl Server {
    /// Starts a server with an empty database and waits until it answers.
    ///
    /// `locks` is the folder of its lock file, the same for all runs in a clone: `target/tmp`, which integration
    /// tests know as `env!("CARGO_TARGET_TMPDIR")`. What a dead process left there is removed first.
    ///
    /// # Errors
    /// [`ServerError::NotInstalled`] without its programs, [`ServerError::NotStarted`] if it ended by itself.
    pub fn start(database: Database, locks: &Path) -> Result<Self, ServerError> {
        Self::start_with(database, locks, &env::temp_dir(), Extras::default())
    }

    /// Starts a server as [`start`](Self::start) does, with its data in `parent` in place of the folder for temporary
    /// files.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn start_in(parent: &Path, database: Database, locks: &Path) -> Result<Self, ServerError> {
        Self::start_with(database, locks, parent, Extras::default())
    }

    /// Starts a server that lets clients encrypt, with a certificate for the name `localhost` and no other.
    ///
    /// # Errors
    /// As for [`start`](Self::start); or if the program `openssl` is missing.
    pub fn start_encrypted(database: Database, locks: &Path) -> Result<Self, ServerError> {
        let extras = Extras {
            encrypted: true,
            ..Extras::default()
        };
        Self::start_with(database, locks, &env::temp_dir(), extras)
    }

    /// Starts a server that shows no commit before it is on the disk, so that no reader sees what a crash takes back:
    /// MariaDB with a binary log, which costs it a write more for each commit.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn start_with_log(database: Database, locks: &Path) -> Result<Self, ServerError> {
        let extras = Extras {
            binary_log: true,
            ..Extras::default()
        };
        Self::start_with(database, locks, &env::temp_dir(), extras)
    }

    fn start_with(
        database: Database,
        locks: &Path,
        parent: &Path,
        extras: Extras,
    ) -> Result<Self, ServerError> {
        let recipe = database.recipe();
        let programs = programs::folder(recipe).ok_or(ServerError::NotInstalled {
            software: recipe.name(),
            package: recipe.package(),
        })?;
        let account = Account::choose(recipe.accounts())?;
        let home = Home::claim(locks, parent, database.key(), account)?;
        let mut server = Self {
            recipe,
            account,
            site: Site {
                programs,
                folder: home.folder().to_path_buf(),
                port: port::free()?,
                password: secret::password()?,
                binary_log: extras.binary_log,
                certificate: extras
                    .encrypted
                    .then(|| Certificate::make(home.folder(), account))
                    .transpose()?,
            },
            process: None,
            home,
        };
        server.create()?;
        for _ in 1..TRIES {
            match server.restart() {
                Err(_) if port::is_taken(server.site.port) => server.site.port = port::free()?,
                outcome => return outcome.map(|()| server),
            }
        }
        server.restart()?;
        Ok(server)
    }

    /// Returns the URL for an administrator: with a password, over TCP on 127.0.0.1.
    pub fn url(&self) -> String {
        self.recipe.url(&self.site)
    }

    /// Returns a file in PEM with the authority that signed the certificate of an encrypted server.
    pub fn authority(&self) -> Option<&Path> {
        let certificate = self.site.certificate.as_ref();
        certificate.map(|files| files.authority.as_path())
    }

    /// Returns the TCP port on 127.0.0.1; the same after [`restart`](Self::restart).
    pub fn port(&self) -> u16 {
        self.site.port
    }

    /// The folder of its socket, where it has one.
    pub fn socket_folder(&self) -> &Path {
        &self.site.folder
    }

    /// Kills every process of the server at once, as the end of its machine would, but for what the operating system
    /// has not yet written to the disk. Nothing happens if it does not run.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn kill(&mut self) -> Result<(), ServerError> {
        let action = || format!("kill {}", self.recipe.name());
        // Stopped before any of them dies: one that sees another die would still report it to its clients.
        self.suspend()?;
        residents::kill(self.home.folder()).map_err(ServerError::io(action()))?;
        if let Some(mut process) = self.process.take() {
            process.wait().map_err(ServerError::io(action()))?;
        }
        Ok(())
    }

    /// Starts the server again, on the same port with the same data, and waits until it answers.
    ///
    /// One that still runs is killed first.
    ///
    /// # Errors
    /// [`ServerError::NotStarted`] if it ended by itself; it can be tried again.
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        let mut answered = self.serve();
        // A first try leaves the files where they are: by them, a new server frees the memory of the killed one.
        if answered.is_err() && self.process.is_none() {
            self.kill()?;
            if self.recipe.forget_killed(&self.site) {
                answered = self.serve();
            }
        }
        if answered.is_err() {
            self.kill()?;
        }
        answered
    }

    /// Starts the server and waits until it answers; `process` is none after one that has ended by itself.
    fn serve(&mut self) -> Result<(), ServerError> {
        let mut command = self.recipe.serve(&self.site);
        self.process = Some(self.spawn(&mut command)?);
        self.wait_until_ready()
    }

    /// Stops every process of the server where it is (SIGSTOP): connections stay, nothing answers.
    ///
    /// # Errors
    /// If the operating system refuses. Nothing happens if the server does not run.
    pub fn suspend(&self) -> Result<(), ServerError> {
        let Some(process) = &self.process else {
            return Ok(());
        };
        residents::suspend(self.home.folder(), Pid::from_child(process))
            .map_err(ServerError::io(format!("suspend {}", self.recipe.name())))
    }

    /// Lets a suspended server go on (SIGCONT).
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn resume(&self) -> Result<(), ServerError> {
        residents::resume(self.home.folder())
            .map_err(ServerError::io(format!("resume {}", self.recipe.name())))
    }

    fn create(&self) -> Result<(), ServerError> {
        let mut command = self.recipe.create(&self.site)?;
        let status = self
            .spawn(&mut command)?
            .wait()
            .map_err(ServerError::io("wait for an empty database"))?;
        if status.success() {
            Ok(())
        } else {
            Err(self.not_started(format!("making an empty database ended with {status}")))
        }
    }

    fn wait_until_ready(&mut self) -> Result<(), ServerError> {
        let started = Instant::now();
        while let Some(process) = &mut self.process {
            let ended = process
                .try_wait()
                .map_err(ServerError::io("look after a server"))?;
            if let Some(status) = ended {
                // Its number may mean another process from now on.
                self.process = None;
                return Err(self.not_started(format!("it ended with {status}")));
            }
            if self.recipe.is_ready(&self.site, process.id()) {
                break;
            }
            if started.elapsed() > PATIENCE {
                return Err(self.not_started(format!("no answer within {PATIENCE:?}")));
            }
            thread::sleep(INTERVAL);
        }
        Ok(())
    }

    /// Starts a program of the server in its folder, where its user may be whatever folder we are in.
    fn spawn(&self, command: &mut Command) -> Result<Child, ServerError> {
        let output = || -> io::Result<(File, File)> {
            let log = File::options()
                .create(true)
                .append(true)
                .open(self.log_path())?;
            Ok((log.try_clone()?, log))
        };
        let (stdout, stderr) = output().map_err(ServerError::io("write a server's log"))?;
        self.account.apply(command);
        let name = command.get_program().to_string_lossy().into_owned();
        command
            .current_dir(self.home.folder())
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            // Ctrl-C on a terminal is for whoever uses it, and ends it in order.
            .process_group(0)
            .spawn()
            .map_err(ServerError::io(format!("run {name}")))
    }

    /// Lets the server end, where a killed one would leave something outside its folder.
    fn end_at_once(&mut self) {
        let (Some(process), Some(signal)) = (&mut self.process, self.recipe.end_at_once()) else {
            return;
        };
        let asked = residents::send(Pid::from_child(process), signal);
        // A suspended one hears of it when it goes on.
        if asked
            .and_then(|()| residents::resume(self.home.folder()))
            .is_err()
        {
            return;
        }
        let since = Instant::now();
        while since.elapsed() < LONGEST_END {
            if matches!(process.try_wait(), Ok(Some(_))) {
                // Its number may mean another process from now on.
                self.process = None;
                return;
            }
            thread::sleep(INTERVAL);
        }
    }

    fn log_path(&self) -> PathBuf {
        self.home.folder().join("log")
    }

    fn not_started(&self, what: String) -> ServerError {
        let log = fs::read(self.log_path()).unwrap_or_default();
        ServerError::NotStarted {
            software: self.recipe.name(),
            what,
            log: last_lines(&String::from_utf8_lossy(&log), LAST_LINES),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end_at_once();
        // Processes that still live are killed with the home; here only the dead are reaped.
        let _ = self.kill();
    }
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_the_end_of_the_log() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a\n", 2), "a");
        assert_eq!(last_lines("", 2), "");
    }
}
