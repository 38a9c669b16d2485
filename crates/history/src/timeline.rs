//! A history sorted: calls with their answers, by id and life.

use std::collections::HashMap;

use crate::violation::{Invariant, Violations};
use crate::{Answer, History, Operation, What};

/// A call with its answer. One without has `until` at the end of all time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'h> {
    pub(crate) process: u32,
    pub(crate) from: u64,
    pub(crate) until: u64,
    /// The line of the question.
    pub(crate) line: usize,
    /// The line of the answer, or of the question where there is none.
    pub(crate) answer_line: usize,
    pub(crate) operation: &'h Operation,
    pub(crate) answer: &'h Answer,
}

/// Returns every call, in the order of the lines of the questions.
pub(crate) fn calls<'h>(history: &'h History, violations: &mut Violations) -> Vec<Call<'h>> {
    let mut calls: Vec<Call<'h>> = Vec::new();
    let mut open = HashMap::new();
    for (line, record) in (1..).zip(&history.records) {
        if let What::Invoke { call, operation } = &record.what {
            let invoked = Call {
                process: record.process,
                from: record.at,
                until: u64::MAX,
                line,
                answer_line: line,
                operation,
                answer: &Answer::Unknown,
            };
            if let Some(earlier) = open.insert((record.process, *call), calls.len()) {
                let other: &Call<'_> = &calls[earlier];
                let sentence = format!(
                    "process {} used the number of call {call} twice",
                    record.process
                );
                violations.add(Invariant::WellFormed, [other.line, line], sentence);
            }
            calls.push(invoked);
        }
    }
    for (line, record) in (1..).zip(&history.records) {
        let What::Answer { call, answer } = &record.what else {
            continue;
        };
        let Some(index) = open.remove(&(record.process, *call)) else {
            let sentence = format!(
                "call {call} of process {} is answered without a question, or twice",
                record.process
            );
            violations.add(Invariant::WellFormed, [line], sentence);
            continue;
        };
        let asked = &mut calls[index];
        if record.at < asked.from {
            let sentence = format!("call {call} was answered before it was made");
            violations.add(Invariant::WellFormed, [asked.line, line], sentence);
        }
        // Of unknown outcome: whatever it does may come at any time.
        if !matches!(answer, Answer::Unknown) {
            asked.answer = answer;
        }
        asked.until = record.at;
        asked.answer_line = line;
    }
    calls
}

/// The times at which an id was reset: its numbers start again, and so a new life begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resets {
    /// The spans of time, each from a first try until the one that succeeded.
    windows: Vec<(u64, u64)>,
}

impl Resets {
    /// Makes the resets in the order of their questions.
    pub(crate) fn new(mut calls: Vec<(u64, u64, bool)>) -> Self {
        // A try that failed comes before the one that succeeded, even in the same instant.
        calls.sort_unstable_by_key(|&(from, until, done)| (from, done, until));
        let mut windows = Vec::new();
        let mut begun = None;
        for (from, until, done) in calls {
            let first = *begun.get_or_insert(from);
            if done {
                windows.push((first, until));
                begun = None;
            }
        }
        windows.extend(begun.map(|first| (first, u64::MAX)));
        Self { windows }
    }

    pub(crate) fn any(&self) -> bool {
        !self.windows.is_empty()
    }

    /// Returns the life in which something happened in this time; `None` if a reset was under way. Something that had
    /// ended in the instant in which a reset was asked for happened before it.
    pub(crate) fn life(&self, from: u64, until: u64) -> Option<usize> {
        let before = self.windows.partition_point(|window| window.1 < from);
        let next = self.windows.get(before);
        next.is_none_or(|window| until <= window.0)
            .then_some(before)
    }

    /// Returns the first and the last life in which something can have happened in this time.
    pub(crate) fn lives(&self, from: u64, until: u64) -> (usize, usize) {
        let first = self.windows.partition_point(|window| window.1 < from);
        let last = self.windows.partition_point(|window| window.0 <= until);
        (first, last.max(first))
    }

    /// Returns the life at the end of all time; `None` if a reset was under way.
    pub(crate) fn last_life(&self) -> Option<usize> {
        self.life(u64::MAX, u64::MAX)
    }
}
