//! Two processes keep the table of balances, and one is killed: the other takes over, and every balance is right.

use actix_persistence_test_servers::Database;

use crate::backend::{Backend, SharedServer, Sqlite, histories};
use crate::bank::Bank;
use crate::checker::{balances, check, expected, random_file};
use crate::import::Import;
use crate::keeping::Keeping;

const LINES: usize = 1_500;
const ACCOUNTS: usize = 60;
/// The number of shares that the bank divides the work into.
const SHARES: usize = 4;

fn another_process_takes_over(backend: &dyn Backend) {
    let bank = Bank::with_table_on(backend);
    let lines = random_file("tx", LINES, ACCOUNTS);
    let survivor = Keeping::start(&bank);
    survivor.has_shares(SHARES);
    let victim = Keeping::start(&bank);
    victim.has_shares(SHARES / 2);
    survivor.has_shares(SHARES / 2);

    let mut import = Import::start(&bank, "import");
    import.feed(&lines[..LINES / 2]);
    import.decides(LINES / 4);
    victim.kill();
    import.feed(&lines[LINES / 2..]);
    import.end();
    survivor.has_shares(SHARES);

    let expected = expected(&lines);
    check(&histories(backend.events()), &expected).unwrap();
    // It waits until the survivor is there.
    let printed = bank.stdout_of(&["balances"]);
    assert_eq!(printed.lines().count(), balances(&expected).len());
    assert_eq!(backend.balances(), balances(&expected));
    survivor.interrupt();
}

#[test]
fn a_killed_process_is_followed_by_another_one_on_sqlite() {
    another_process_takes_over(&Sqlite::new());
}

#[test]
fn a_killed_process_is_followed_by_another_one_on_postgres() {
    another_process_takes_over(&SharedServer::find(Database::Postgres));
}
