//! Today's bank reads what its programs of before have stored, on every database, and goes on.

mod missing_steps;

use actix_persistence_test_servers::Database;

use crate::backend::SharedServer;
use crate::bank::Bank;

/// The fixtures, see `fixtures/README.md`.
const FILE: &[u8] = include_bytes!("fixtures/old_bank.sqlite");
const POSTGRES: &str = include_str!("fixtures/old_bank_postgres.sql");
const MYSQL: &str = include_str!("fixtures/old_bank_mysql.sql");

/// Events of every version: two of the first name, one and two of the next versions, several bookings in one, one that is
/// retired, and two of today.
const HISTORY: &str = "1\tdeposit\t500\ta\tapplied\n\
                       2\twithdraw\t200\tb\tapplied\n\
                       3\tdeposit\t1000\tc\tapplied\n\
                       4\tdeposit\t250\td\tapplied\n\
                       5\twithdraw\t50\te\tapplied\n\
                       6\tdeposit\t100\tf/1\tapplied\n\
                       6\tdeposit\t200\tf/2\tapplied\n\
                       6\twithdraw\t300\tf/3\tapplied\n\
                       8\twithdraw\t10000\tg\trefused\n\
                       9\tdeposit\t1\th\tapplied\n";

/// Lines that were all decided before, and one new one for each account.
const MORE: &str = "id,account,kind,cents\n\
                    a,DE-2001,deposit,500\n\
                    f/2,DE-2001,deposit,200\n\
                    g,DE-2001,withdraw,10000\n\
                    a,DE-2002,deposit,700\n\
                    i,DE-2001,deposit,5\n\
                    i,DE-2002,withdraw,600\n\
                    i,DE-2003,deposit,7\n";

fn reads_all_versions_and_goes_on(bank: &Bank) {
    let balances = || ["DE-2001", "DE-2002", "DE-2003"].map(|name| bank.try_balance(name).unwrap());
    assert_eq!(bank.stdout_of(&["history", "DE-2001"]), HISTORY);
    // Of its first two events only the snapshot of an older version is left.
    let history = "3\twithdraw\t400\tc\tapplied\n";
    assert_eq!(bank.stdout_of(&["history", "DE-2002"]), history);
    assert_eq!(bank.stdout_of(&["history", "DE-2003"]), "");
    assert_eq!(balances(), [1_501, 600, 0]);

    bank.write("more.csv", MORE);
    let summary = bank.stdout_of(&["import", "more.csv"]);
    assert_eq!(summary, "applied 3 refused 0 duplicate 4 malformed 0\n");
    assert_eq!(balances(), [1_506, 0, 7]);
    // The events that mean nothing any more have kept their numbers.
    let history = format!("{HISTORY}10\tdeposit\t5\ti\tapplied\n");
    assert_eq!(bank.stdout_of(&["history", "DE-2001"]), history);
    let history = "2\tdeposit\t7\ti\tapplied\n";
    assert_eq!(bank.stdout_of(&["history", "DE-2003"]), history);
}

fn on_server(database: Database, rows: &str) {
    let backend = SharedServer::find(database);
    let bank = Bank::on(&backend);
    // Makes the tables.
    assert_eq!(bank.stdout_of(&["balance", "DE-2001"]), "0\n");
    backend.execute(rows);
    reads_all_versions_and_goes_on(&bank);
}

#[test]
fn all_versions_are_read_on_sqlite() {
    let bank = Bank::new();
    bank.write("bank.db", FILE);
    reads_all_versions_and_goes_on(&bank);
}

#[test]
fn all_versions_are_read_on_postgres() {
    on_server(Database::Postgres, POSTGRES);
}

#[test]
fn all_versions_are_read_on_mysql() {
    on_server(Database::MariaDb, MYSQL);
}
