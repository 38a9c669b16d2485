//! Database servers for the tests: started before them, stopped after them, whatever happens.

pub(crate) mod install;

use std::env;
use std::path::Path;
use std::process::Command;
use std::thread;

use actix_persistence_test_servers::{Database, Server};
use anyhow::Context;
use cargo_metadata::Package;

use crate::memory;
use crate::progress::{self, Step};
use crate::workspace::Workspace;

/// The servers that the tests of some packages need; stopped when dropped.
pub(crate) struct Servers {
    running: Vec<(Database, Server)>,
    missing: Vec<(Database, anyhow::Error)>,
    is_ci: bool,
}

impl Servers {
    /// Starts those that these packages name in their manifests and for which no variable of the environment names a
    /// URL.
    pub(crate) fn start_for(workspace: &Workspace, packages: &[&Package]) -> Self {
        Self::start(workspace, needed_by(packages))
    }

    /// Starts them as [`start_for`](Self::start_for) does, with their data in memory if there is room.
    pub(crate) fn start_in_memory_for(workspace: &Workspace, packages: &[&Package]) -> Self {
        let disk = env::temp_dir();
        let folder = memory::folder().unwrap_or(&disk);
        Self::start_in(folder, workspace, needed_by(packages))
    }

    /// Starts these, but for those for which a variable of the environment names a URL.
    pub(crate) fn start(workspace: &Workspace, needed: Vec<Database>) -> Self {
        Self::start_in(&env::temp_dir(), workspace, needed)
    }

    fn start_in(folder: &Path, workspace: &Workspace, mut needed: Vec<Database>) -> Self {
        let mut servers = Self {
            running: Vec::new(),
            missing: Vec::new(),
            is_ci: is_set(env::var("CI").ok().as_deref()),
        };
        needed.retain(|database| env::var_os(database.variable()).is_none());
        // One after the other: there is one package manager.
        needed.retain(|database| match install::if_missing(*database) {
            Ok(()) => true,
            Err(error) => {
                servers.missing.push((*database, error));
                false
            }
        });
        for (database, outcome) in start_all(folder, &needed, &workspace.locks()) {
            match outcome {
                Ok(server) => servers.running.push((database, server)),
                Err(error) => servers.missing.push((database, error)),
            }
        }
        servers.warn();
        servers
    }

    /// Passes to a test program where they are.
    pub(crate) fn tell(&self, command: &mut Command) {
        for (database, server) in &self.running {
            command.env(database.variable(), server.url());
        }
    }

    /// Returns whether one of those that were asked for can be used.
    pub(crate) fn has(&self, database: Database) -> bool {
        self.missing.iter().all(|(missing, _)| *missing != database)
    }

    /// Says loudly which of them could not be started.
    pub(crate) fn warn(&self) {
        for (database, error) in &self.missing {
            progress::note(format_args!(
                "WARNING: no {database}: its tests cannot pass or are left out: {error:#}"
            ));
        }
    }

    /// Returns those that could not be started, with the reason, if that is a failure: a person may do without a server,
    /// CI may not.
    pub(crate) fn faults(&self) -> &[(Database, anyhow::Error)] {
        if self.is_ci { &self.missing } else { &[] }
    }
}

/// Starts all servers at once, for each waits for its disk.
fn start_all(
    folder: &Path,
    databases: &[Database],
    locks: &Path,
) -> Vec<(Database, anyhow::Result<Server>)> {
    thread::scope(|scope| {
        let starts: Vec<_> = databases
            .iter()
            .map(|database| (*database, scope.spawn(|| start(folder, *database, locks))))
            .collect();
        let finished = starts.into_iter().map(|(database, start)| {
            let outcome = start.join();
            let panicked = |_| Err(anyhow::anyhow!("starting it panicked"));
            (database, outcome.unwrap_or_else(panicked))
        });
        finished.collect()
    })
}

fn start(folder: &Path, database: Database, locks: &Path) -> anyhow::Result<Server> {
    let step = Step::start(format!("starting {database}"));
    let outcome = Server::start_in(folder, database, locks);
    match &outcome {
        Ok(server) => step.end(format_args!("answers on port {}", server.port())),
        Err(_) => step.end("FAILED"),
    };
    let variable = database.variable();
    outcome.with_context(|| {
        format!("could not start {database}, start one and give its URL in {variable}")
    })
}

/// Returns the servers that these packages name: `[package.metadata.actix-persistence] test-servers = ["postgres"]`.
pub(crate) fn needed_by(packages: &[&Package]) -> Vec<Database> {
    let mut needed = Database::ALL.to_vec();
    needed.retain(|database| {
        packages.iter().any(|package| {
            let servers = &package.metadata["actix-persistence"]["test-servers"];
            let named = servers.as_array().into_iter().flatten();
            named.into_iter().any(|name| name == database.key())
        })
    });
    needed
}

/// Returns whether a variable is set, as most programs understand it.
fn is_set(variable: Option<&str>) -> bool {
    variable.is_some_and(|value| !value.is_empty() && value != "false" && value != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(is_ci: bool) -> Servers {
        Servers {
            running: Vec::new(),
            missing: vec![(Database::Postgres, anyhow::anyhow!("no such program"))],
            is_ci,
        }
    }

    #[test]
    fn a_missing_server_is_a_failure_in_ci_alone() {
        let servers_of_ci = servers(true);
        let [(database, error)] = servers_of_ci.faults() else {
            panic!("one server is missing");
        };
        assert_eq!(*database, Database::Postgres);
        assert_eq!(error.to_string(), "no such program");
        assert!(servers(false).faults().is_empty());
    }

    #[test]
    fn ci_is_what_says_so() {
        assert!(is_set(Some("true")));
        assert!(is_set(Some("1")));
        for no in [None, Some(""), Some("false"), Some("0")] {
            assert!(!is_set(no), "{no:?}");
        }
    }
}
