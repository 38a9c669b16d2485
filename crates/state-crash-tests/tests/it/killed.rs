//! The promise: whatever moment a process or its database is killed at, the counts are what the states say, no revision
//! is skipped or used twice, and nothing acknowledged is lost.

use std::fs;
use std::path::PathBuf;

use actix_persistence_test_servers::Database;
use tempfile::TempDir;

use crate::backend::Backend;
use crate::checker::check;
use crate::program::Program;
use crate::scale::Scale;
use crate::told::Told;

const PARCELS: u32 = 500;
const PLACES: u32 = 8;
/// A server is killed once per so many kills of the process.
const PROCESSES_PER_SERVER: usize = 4;

/// How the program waits for its database: less patient than in production, so that nothing lasts.
const IMPATIENT: &str = "
[persistence.back-off]
min = \"5ms\"
max = \"100ms\"
[persistence.state-plugin-fallback.circuit-breaker]
max-failures = 3
call-timeout = \"2s\"
reset-timeout = \"500ms\"
";

/// Who is killed.
#[derive(Clone, Copy)]
enum Victim {
    Process,
    Server,
}

/// What is to be proved, and what was told so far.
struct Trial {
    backend: Backend,
    folder: TempDir,
    lives: usize,
    told: Told,
}

fn killed_again_and_again(backend: Backend) {
    let scale = Scale::of_this_run();
    let victims = victims(&backend, scale.kills);
    let mut trial = Trial::on(backend);
    let mut program = trial.program();
    for (number, victim) in victims.iter().enumerate() {
        let part = scale.moves / (victims.len() + 1);
        let moment = part * number + fastrand::usize(1..=part);
        program.acknowledges(moment, &mut trial.told);
        match victim {
            Victim::Process => {
                program.kill(&mut trial.told);
                trial.check();
                program = trial.program();
            }
            Victim::Server => {
                trial.kill_server();
                program.tells(&mut trial.told);
                trial.check();
            }
        }
    }
    program.acknowledges(scale.moves, &mut trial.told);
    program.end(&mut trial.told);
    trial.check();
    trial.say(victims.len());
}

/// Who is killed, one after the other.
fn victims(backend: &Backend, processes: usize) -> Vec<Victim> {
    let mut victims = Vec::new();
    for number in 0..processes {
        victims.push(Victim::Process);
        if matches!(backend, Backend::Server(..)) && number % PROCESSES_PER_SERVER == 0 {
            victims.push(Victim::Server);
        }
    }
    victims
}

impl Trial {
    fn on(backend: Backend) -> Self {
        backend.make_tables(PLACES);
        let trial = Self {
            folder: tempfile::tempdir().unwrap(),
            lives: 0,
            told: Told::default(),
            backend,
        };
        let section = trial.backend.section();
        let config = format!(
            "[persistence.state]\nplugin = \"parcels\"\n[persistence.state.parcels]\n{section}\
             change-handler.Parcel = \"place-counts\"\n{IMPATIENT}"
        );
        fs::write(trial.config(), config).unwrap();
        trial
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("parcels.toml")
    }

    /// Starts the program for its next life.
    fn program(&mut self) -> Program {
        self.lives += 1;
        let log = self.folder.path().join(format!("life-{}.log", self.lives));
        Program::start(&self.config(), PARCELS, PLACES, log)
    }

    /// Kills the server and starts it again; the program goes on by itself.
    fn kill_server(&mut self) {
        if let Backend::Server(_, server) = &mut self.backend {
            server.kill().unwrap();
            server.restart().unwrap();
        }
    }

    fn check(&self) {
        check(&self.told.acknowledged, &self.backend.stored()).unwrap();
    }

    /// Tells whoever waits for a long run.
    fn say(&self, kills: usize) {
        let Told {
            acknowledged,
            failed,
        } = &self.told;
        let acknowledged = acknowledged.len();
        let unanswered = self.backend.stored().moves.len() - acknowledged;
        eprintln!(
            "{kills} kills: {acknowledged} moves acknowledged, {unanswered} stored without an answer, {failed} failed"
        );
    }
}

mod sqlite {
    use super::*;

    #[test]
    fn counts_are_what_the_states_say_after_every_kill() {
        killed_again_and_again(Backend::file());
    }
}

mod postgres {
    use super::*;

    #[test]
    fn counts_are_what_the_states_say_after_every_kill() {
        killed_again_and_again(Backend::server(Database::Postgres));
    }
}

mod mysql {
    use super::*;

    #[test]
    fn counts_are_what_the_states_say_after_every_kill() {
        killed_again_and_again(Backend::server(Database::MariaDb));
    }
}
