//! Ctrl-C.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::bank::Bank;

/// So many that there is time to interrupt, however fast the disk.
const ACCOUNTS: usize = 10_000;

#[test]
fn ctrl_c_ends_it_after_the_ids_under_way_and_it_goes_on_from_there() {
    let bank = Bank::with_accounts(ACCOUNTS);
    let list = bank.list(ACCOUNTS);
    let words = ["all-events", "--yes", "--ids-from", list.to_str().unwrap()];
    let mut child = bank.command(&words);
    let mut child = child.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let progress = lines.next().unwrap().unwrap();
    assert_eq!(progress, format!("100 of {ACCOUNTS} ids are done"));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let lines: Vec<String> = lines.map(Result::unwrap).collect();
    let last = lines.last().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{lines:#?}");

    let (_, done) = last.rsplit_once("--skip ").unwrap();
    let number: usize = done.parse().unwrap();
    assert!((100..ACCOUNTS).contains(&number), "{last}");
    let is_empty = |(events, highest): (Vec<u64>, u64)| {
        assert_eq!(highest, 5);
        events.is_empty()
    };
    let few_more = ACCOUNTS.min(number + 50);
    let streams = bank.streams(few_more).into_iter().map(is_empty);
    let expected = (0..few_more).map(|account| account < number);
    assert!(streams.eq(expected), "exactly the first {number} are done");

    bank.list(few_more);
    bank.output(&[&words[..], &["--skip", done]].concat());
    assert!(bank.streams(few_more).into_iter().all(is_empty));
}
