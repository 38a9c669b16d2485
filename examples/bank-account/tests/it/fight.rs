//! Two processes that want the same accounts: one writes at a time, the other is told and goes on with what the first has done.

use std::collections::BTreeSet;

use crate::backend::{Backend, Sqlite};
use crate::bank::Bank;
use crate::checker::random_file;
use crate::fight_checker::{Fight, Fighter};
use crate::receipts;
use crate::rounds::{rounds, say};

const ACCOUNTS: usize = 100;
const LINES: usize = 10_000;
/// Fewer are no fight.
const FEWEST_CONFLICTS: usize = ACCOUNTS / 2;

fn two_processes_fight<B: Backend>(create: impl Fn() -> B) {
    for round in rounds() {
        let backend = create();
        let bank = Bank::on(&backend);
        // The tables are there before they start, so that they start as one.
        bank.stdout_of(&["balance", "nobody"]);
        let names = ["left", "right"];
        let files = names.map(|name| {
            let (text, lines) = random_file(name, LINES, ACCOUNTS);
            bank.write(&format!("{name}.csv"), text);
            lines
        });
        let processes = names.map(|name| {
            let (file, receipts) = (format!("{name}.csv"), format!("{name}-receipts.csv"));
            bank.spawn(
                &["import", &file, "--receipts", &receipts],
                &format!("{name}.log"),
            )
        });
        for (process, name) in processes.into_iter().zip(names) {
            let output = process.wait_with_output().unwrap();
            let log = std::fs::read_to_string(bank.path(&format!("{name}.log"))).unwrap();
            assert!(output.status.success(), "{name}: {log}");
        }
        let fighters = files.into_iter().zip(names).map(|(lines, name)| {
            let lines = lines.into_iter().map(|line| (line.account, line.id));
            Fighter {
                asked: lines.collect::<BTreeSet<_>>(),
                receipts: receipts::read(&bank.path(&format!("{name}-receipts.csv"))),
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
