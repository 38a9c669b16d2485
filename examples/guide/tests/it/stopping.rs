//! docs/guide/stopping.md

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::program::program;

#[test]
fn what_was_ordered_is_cooked_and_ctrl_c_closes_the_kitchen() {
    assert_eq!(
        printed(&["soup", "fish"], "fish"),
        "soup\nfish\nclosed after 2 meals\n1 of 1 actors stopped\n"
    );
}

#[test]
fn what_is_ordered_after_the_close_is_not_cooked() {
    assert_eq!(
        printed(&["soup", "close", "fish"], "closed after 1 meals"),
        "soup\nclosed after 1 meals\n0 of 0 actors stopped\n"
    );
}

/// Returns the output of the kitchen with these orders, when Ctrl-C is pressed after this line.
fn printed(orders: &[&str], last_line: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut child = program("stopping")
        .arg(folder.path().join("kitchen.db"))
        .args(orders)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        printed.push_str(&line);
        printed.push('\n');
        if line == last_line {
            let kill = format!("kill -INT {}", child.id());
            let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
            assert!(status.success());
        }
    }
    assert!(child.wait().unwrap().success());
    printed
}
