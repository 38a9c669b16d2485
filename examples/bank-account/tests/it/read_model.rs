//! The table of balances and the statements are those of the events, on every database.

use std::collections::BTreeMap;

use actix_persistence_test_servers::Database;

use crate::backend::{Backend, SharedServer, Sqlite, histories};
use crate::bank::{Bank, sql};
use crate::checker::{FileLine, HEADER, Histories, balances, expected, random_file};

fn import(bank: &Bank, lines: &[FileLine]) {
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    bank.write("file.csv", format!("{HEADER}\n{lines}"));
    bank.stdout_of(&["import", "file.csv"]);
}

/// Returns the text that `balances` prints of these histories.
fn printed_balances(histories: &Histories) -> String {
    let balances = balances(histories).into_iter();
    balances
        .map(|(account, (cents, bookings))| format!("{account}\t{cents}\t{bookings}\n"))
        .collect()
}

/// Returns the text that `statement` prints of these histories, if all of it was booked in one month.
fn printed_statement(histories: &Histories) -> String {
    let mut turnovers = BTreeMap::<&str, (u64, u64, u64)>::new();
    for (account, history) in histories {
        for entry in history.iter().filter(|entry| entry.booking.applied) {
            let (deposited, withdrawn, bookings) = turnovers.entry(account).or_default();
            match entry.booking.kind.as_str() {
                "Deposit" => *deposited += entry.booking.cents,
                _ => *withdrawn += entry.booking.cents,
            }
            *bookings += 1;
        }
    }
    let turnovers = turnovers.into_iter();
    turnovers
        .map(|(account, (deposited, withdrawn, bookings))| {
            format!("{account}\t{deposited}\t{withdrawn}\t{bookings}\n")
        })
        .collect()
}

fn follows_the_events(backend: &dyn Backend) {
    let bank = Bank::with_table_on(backend);
    assert_eq!(bank.stdout_of(&["balances"]), "");
    let lines = random_file("tx", 300, 20);
    for stored in [100, 300] {
        import(&bank, &lines[..stored]);
        let expected = expected(&lines[..stored]);
        assert_eq!(bank.stdout_of(&["balances"]), printed_balances(&expected));
        assert_eq!(backend.balances(), balances(&histories(backend.events())));
    }
}

#[test]
fn the_table_of_balances_follows_the_events_on_sqlite() {
    follows_the_events(&Sqlite::new());
}

#[test]
fn the_table_of_balances_follows_the_events_on_postgres() {
    follows_the_events(&SharedServer::find(Database::Postgres));
}

#[test]
fn the_table_of_balances_follows_the_events_on_mysql() {
    follows_the_events(&SharedServer::find(Database::MariaDb));
}

#[test]
fn a_statement_has_what_was_booked_in_its_month_alone() {
    let bank = Bank::new();
    let lines = random_file("tx", 300, 20);
    import(&bank, &lines[..200]);
    // Whatever month it is, this was booked in another one. The sum over each row has its tags.
    sql(
        &bank.path("bank.db"),
        "UPDATE event_tag SET tag = '2025-02'; UPDATE event_journal SET checksum = NULL",
    );
    import(&bank, &lines[200..]);
    let (before, after) = (expected(&lines[..200]), expected(&lines));
    let statement = bank.stdout_of(&["statement", "2025-02"]);
    assert_eq!(statement, printed_statement(&before));
    let mut this_month = after;
    for (account, history) in &mut this_month {
        history.drain(..before.get(account).map_or(0, Vec::len));
    }
    let statement = bank.stdout_of(&["statement"]);
    assert_eq!(statement, printed_statement(&this_month));
    assert_eq!(bank.stdout_of(&["statement", "1999-12"]), "");
}

#[test]
fn what_is_no_month_and_no_lease_is_refused() {
    let bank = Bank::new();
    let (_, error) = bank.stderr_of(&["statement", "11/2026"]);
    assert!(error.contains("such as 2026-11"), "{error}");
    let (_, error) = bank.stderr_of(&["keep", "--lease", "10ms"]);
    assert!(error.contains("1s or longer"), "{error}");
}

#[test]
fn an_account_holds_no_more_than_the_table_can() {
    let bank = Bank::new();
    let most = i64::MAX;
    bank.write(
        "file.csv",
        format!(
            "{HEADER}\na,DE-1,deposit,{most}\nb,DE-1,deposit,1\nc,DE-1,withdraw,2\nd,DE-1,deposit,1\ne,DE-2,deposit,{}\n",
            u64::MAX
        ),
    );
    let summary = bank.stdout_of(&["import", "file.csv"]);
    assert_eq!(summary, "applied 3 refused 2 duplicate 0 malformed 0\n");
    let balances = bank.stdout_of(&["balances"]);
    assert_eq!(balances, format!("DE-1\t{}\t3\n", most - 1));
}

#[test]
fn without_a_database_there_are_no_balances_and_none_is_made() {
    let bank = Bank::new();
    assert_eq!(bank.stdout_of(&["balances"]), "");
    assert_eq!(bank.stdout_of(&["statement"]), "");
    assert!(!bank.path("bank.db").exists());
}

#[test]
fn a_config_without_a_place_for_the_table_is_refused() {
    let bank = Bank::on(&Sqlite::new());
    let (status, error) = bank.stderr_of(&["balances"]);
    assert_eq!(status, 2, "{error}");
    assert!(error.contains("persistence.state.plugin"), "{error}");
}
