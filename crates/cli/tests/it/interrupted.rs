//! Ctrl-C, and kill.

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

#[test]
fn what_was_killed_is_finished_by_running_it_again() {
    let bank = Bank::with_accounts(ACCOUNTS);
    let list = bank.list(ACCOUNTS);
    let mut words = vec!["all", "--reset-numbers", "--yes", "--parallelism", "4"];
    words.extend(["--ids-from", list.to_str().unwrap()]);
    let mut child = bank.command(&words);
    let mut child = child.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "it was killed");
    let (done, few_more) = (100, 1_000);
    for (account, (events, highest)) in bank.streams(few_more).into_iter().enumerate() {
        // Each is as it was, without its events, or reset.
        let stands = (events.len(), highest);
        assert!([(5, 5), (0, 5), (0, 0)].contains(&stands), "{stands:?}");
        assert!(account >= done || stands == (0, 0), "{account}: {stands:?}");
    }

    bank.list(few_more);
    bank.output(&words);
    assert_eq!(bank.streams(few_more), vec![(vec![], 0); few_more]);
}
