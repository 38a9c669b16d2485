//! The promise: whatever moment the process is killed at, nothing acknowledged is lost, doubled or out of order.

use std::process::Child;
use std::time::{Duration, Instant};

use crate::bank::Bank;
use crate::checker::{balance, check, check_prefix, expected, random_file};

const LINES: usize = 6_000;
const ACCOUNTS: usize = 150;
/// After so many kills between its first event and its end the import is left alone.
const KILLS_HALFWAY: usize = 10;

#[test]
fn an_import_killed_again_and_again_ends_with_every_balance_right() {
    let bank = Bank::new();
    let (text, lines) = random_file(LINES, ACCOUNTS);
    let expected = expected(&lines);
    bank.write("file.csv", text);

    // The longest life grows, so that slow machines get through and fast ones are killed in the middle.
    let mut longest = Duration::from_millis(40);
    let mut halfway = 0;
    while halfway < KILLS_HALFWAY {
        let import = bank.spawn(&["import", "file.csv"]);
        if !killed_after(import, longest.mul_f64(fastrand::f64())) {
            // It came to its end: nothing more can be shown with what is left.
            break;
        }
        longest += Duration::from_millis(15);
        let stored = bank.histories();
        check_prefix(&stored, &expected).unwrap();
        halfway += usize::from(!stored.is_empty());
    }
    assert!(halfway > 0, "no kill came after the first stored event");
    let summary = bank.stdout_of(&["import", "file.csv"]);
    assert!(summary.ends_with(" malformed 0\n"), "{summary}");

    let stored = bank.histories();
    check(&stored, &expected).unwrap();
    for (account, history) in expected.iter().take(5) {
        let printed = bank.stdout_of(&["balance", account]);
        assert_eq!(printed, format!("{}\n", balance(history)), "{account}");
    }
    let again = bank.stdout_of(&["import", "file.csv"]);
    let all = format!(
        "applied 0 refused 0 duplicate {} malformed 0\n",
        lines.len()
    );
    assert_eq!(again, all);
}

/// Kills the process when its time has come; gives whether it was still running.
fn killed_after(mut child: Child, life: Duration) -> bool {
    let end = Instant::now() + life;
    std::thread::sleep(end - Instant::now());
    let running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    running
}
