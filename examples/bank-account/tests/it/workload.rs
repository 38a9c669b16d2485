//! A random file that is imported while something happens to the program or its database.

use std::ops::Range;

use crate::backend::{Backend, histories};
use crate::bank::Bank;
use crate::checker::{FileLine, Histories, balance, check, check_prefix, expected, random_file};
use crate::import::Import;
use crate::receipts::{Receipt, check_acknowledged};

const LINES: usize = 6_000;
const ACCOUNTS: usize = 150;

/// A file, and what its import has to lead to.
pub(crate) struct Workload {
    bank: Bank,
    lines: Vec<FileLine>,
    expected: Histories,
    imports: usize,
}

impl Workload {
    pub(crate) fn new(backend: &dyn Backend) -> Self {
        let lines = random_file("tx", LINES, ACCOUNTS);
        Self {
            bank: Bank::on(backend),
            expected: expected(&lines),
            lines,
            imports: 0,
        }
    }

    /// The lines of this one of `parts` equal parts.
    pub(crate) fn part(&self, part: usize, parts: usize) -> Range<usize> {
        LINES * part / parts..LINES * (part + 1) / parts
    }

    pub(crate) fn lines(&self, lines: Range<usize>) -> &[FileLine] {
        &self.lines[lines]
    }

    /// Starts an import that has not been given any line yet.
    pub(crate) fn import(&mut self) -> Import {
        self.imports += 1;
        Import::start(&self.bank, &format!("import-{}", self.imports))
    }

    /// Checks what holds at any time: a beginning of what is expected is stored, and all that was acknowledged before.
    pub(crate) fn check_so_far(&self, acknowledged: &[Receipt], backend: &dyn Backend) {
        let stored = histories(backend.events());
        check_prefix(&stored, &self.expected).unwrap();
        check_acknowledged(acknowledged, &stored).unwrap();
    }

    /// Checks what holds in the end.
    pub(crate) fn check_all(&mut self, acknowledged: &[Receipt], backend: &dyn Backend) {
        self.check_so_far(acknowledged, backend);
        check(&histories(backend.events()), &self.expected).unwrap();
        for (account, history) in self.expected.iter().take(5) {
            let printed = self.bank.stdout_of(&["balance", account]);
            assert_eq!(printed, format!("{}\n", balance(history)), "{account}");
        }
        let mut again = self.import();
        again.feed(&self.lines);
        let answers = again.end();
        assert_eq!(answers.len(), LINES);
        assert!(answers.iter().all(|answer| answer.outcome == "duplicate"));
    }
}
