//! Two processes that want the same accounts: one writes at a time, the other is told and goes on with what the first has done.

use std::time::Duration;

use actix_persistence_test_servers::Database;

use crate::backend::{Backend, SharedServer, Sqlite};
use crate::bank::Bank;
use crate::checker::{FileLine, random_file};
use crate::fight_checker::{Fight, Fighter, Tally};
use crate::import::Import;
use crate::rounds::{rounds, say};

const ACCOUNTS: usize = 100;
/// How many lines each of them gets at once.
const LINES: usize = ACCOUNTS;
/// How often both get lines for all accounts.
const ATTACKS: usize = 30;
/// How often one of them is paused while the other works.
const PAUSES: usize = 6;
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// Two imports on the same accounts.
struct Two {
    bank: Bank,
    files: [Vec<FileLine>; 2],
    imports: [Import; 2],
    fed: [usize; 2],
}

impl Two {
    /// With a file of so many times [`LINES`] for each of them.
    fn start(backend: &dyn Backend, times: usize) -> Self {
        let bank = Bank::on(backend);
        let names = ["left", "right"];
        Self {
            files: names.map(|name| random_file(name, times * LINES, ACCOUNTS)),
            imports: names.map(|name| Import::start(&bank, name)),
            fed: [0, 0],
            bank,
        }
    }

    /// Gives one of them its next lines.
    fn feed(&mut self, one: usize) {
        let next = self.fed[one]..self.fed[one] + LINES;
        self.fed[one] = next.end;
        self.imports[one].feed(&self.files[one][next]);
    }

    fn end(self, backend: &dyn Backend) -> Tally {
        let fighters = self.imports.into_iter().zip(self.files);
        let fighters = fighters.map(|(import, file)| {
            let lines = file.into_iter().map(|line| (line.account, line.id));
            Fighter {
                asked: lines.collect(),
                receipts: import.end(),
            }
        });
        let fight = Fight {
            fighters: fighters.collect(),
            events: backend.events(),
        };
        let tally = fight.check();
        drop(self.bank);
        tally.unwrap()
    }
}

fn two_processes_fight<B: Backend>(create: impl Fn() -> B) {
    for round in rounds() {
        let backend = create();
        let mut two = Two::start(&backend, ATTACKS);
        for attack in 0..ATTACKS {
            for one in [0, 1] {
                two.feed(one);
            }
            // Neither gets far ahead of the other, however fast it is.
            for import in &mut two.imports {
                import.decides(attack * LINES);
            }
        }
        let tally = two.end(&backend);
        assert!(tally.conflicts >= ATTACKS, "no fight: {tally:?}");
        say(round, &format!("{tally:?}"));
    }
}

/// The paused one may have any number of requests under way, some of which arrive when it goes on.
fn one_is_paused_while_the_other_works<B: Backend>(create: impl Fn() -> B) {
    for round in rounds() {
        let backend = create();
        let mut two = Two::start(&backend, 2 * PAUSES);
        for pause in 0..PAUSES {
            let [paused, working] = [pause % 2, (pause + 1) % 2];
            let before = two.fed[paused];
            two.feed(paused);
            two.imports[paused].decides(before + fastrand::usize(..LINES));
            two.imports[paused].pause();
            two.feed(working);
            // It may have been paused in the middle of a transaction that keeps everybody out.
            let all = two.fed[working];
            two.imports[working].decides_within(all, LONGEST_PAUSE);
            two.imports[paused].go_on();
            two.feed(paused);
            two.feed(working);
        }
        let tally = two.end(&backend);
        assert!(tally.conflicts >= PAUSES, "no fight: {tally:?}");
        say(round, &format!("{tally:?}"));
    }
}

mod sqlite {
    use super::*;

    #[test]
    fn two_processes_on_the_same_accounts_lose_nothing_and_are_told_of_every_conflict() {
        two_processes_fight(Sqlite::new);
    }

    #[test]
    fn a_process_that_was_paused_is_told_who_has_its_accounts_and_goes_on() {
        one_is_paused_while_the_other_works(Sqlite::new);
    }
}

mod postgres {
    use super::*;

    #[test]
    fn two_processes_on_the_same_accounts_lose_nothing_and_are_told_of_every_conflict() {
        two_processes_fight(|| SharedServer::find(Database::Postgres));
    }

    #[test]
    fn a_process_that_was_paused_is_told_who_has_its_accounts_and_goes_on() {
        one_is_paused_while_the_other_works(|| SharedServer::find(Database::Postgres));
    }
}

mod mysql {
    use super::*;

    #[test]
    fn two_processes_on_the_same_accounts_lose_nothing_and_are_told_of_every_conflict() {
        two_processes_fight(|| SharedServer::find(Database::MariaDb));
    }

    #[test]
    fn a_process_that_was_paused_is_told_who_has_its_accounts_and_goes_on() {
        one_is_paused_while_the_other_works(|| SharedServer::find(Database::MariaDb));
    }
}
