//! Histories are written and read again.

use actix_persistence_history::{History, ReadError, check};

use crate::generate::{Size, history};

fn lines(history: &History) -> String {
    let lines = history.records.iter().map(|record| record.to_line() + "\n");
    lines.collect()
}

#[test]
fn a_history_is_read_as_it_was_written() {
    let written = history(1, Size::SMALL);
    let read = History::read(lines(&written).as_bytes()).expect("the lines are records");
    assert_eq!(read, written);
}

#[test]
fn a_last_line_without_its_end_is_left_out() {
    let written = history(2, Size::SMALL);
    let text = lines(&written);
    let read = History::read(&text.as_bytes()[..text.len() - 9]).expect("the others are records");
    assert_eq!(read.records, written.records[..written.records.len() - 1]);
    let error = History::read(&text.as_bytes()[3..]).expect_err("the first line is none");
    assert!(matches!(error, ReadError::Line { line: 1, .. }), "{error}");
}

#[test]
fn an_empty_history_has_no_violation() {
    assert_eq!(check(&History::default()), []);
}
