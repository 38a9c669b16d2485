//! Two processes that want the same accounts: one writes at a time, the other is told and goes on with what the first has done.

use crate::backend::{Backend, Sqlite};
use crate::bank::Bank;
use crate::checker::random_file;
use crate::fight_checker::{Fight, Fighter};
use crate::import::Import;
use crate::rounds::{rounds, say};

const ACCOUNTS: usize = 100;
/// How often both get lines for all accounts.
const ATTACKS: usize = 60;
/// How many lines each of them gets then.
const LINES: usize = ACCOUNTS;
/// Fewer are no fight.
const FEWEST_CONFLICTS: usize = ATTACKS;

fn two_processes_fight<B: Backend>(create: impl Fn() -> B) {
    for round in rounds() {
        let backend = create();
        let bank = Bank::on(&backend);
        let names = ["left", "right"];
        let files = names.map(|name| random_file(name, ATTACKS * LINES, ACCOUNTS));
        let mut processes = names.map(|name| Import::start(&bank, name));
        for attack in 0..ATTACKS {
            for (process, file) in processes.iter_mut().zip(&files) {
                process.feed(&file[attack * LINES..][..LINES]);
            }
            // Neither gets far ahead of the other, however fast it is.
            for process in &mut processes {
                process.decides(attack * LINES);
            }
        }
        let fighters = processes.into_iter().zip(files).map(|(process, file)| {
            let lines = file.into_iter().map(|line| (line.account, line.id));
            Fighter {
                asked: lines.collect(),
                receipts: process.end(),
            }
        });
        let fight = Fight {
            fighters: fighters.collect(),
            events: backend.events(),
        };
        let tally = fight.check().unwrap();
        assert!(tally.conflicts >= FEWEST_CONFLICTS, "no fight: {tally:?}");
        say(round, &format!("{tally:?}"));
    }
}

mod sqlite {
    use super::*;

    #[test]
    fn two_processes_on_the_same_accounts_lose_nothing_and_are_told_of_every_conflict() {
        two_processes_fight(Sqlite::new);
    }
}
