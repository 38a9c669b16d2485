//! A random file that is imported while something happens to the program or its database.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use crate::backend::{Backend, histories};
use crate::bank::Bank;
use crate::checker::{FileLine, Histories, balance, check, check_prefix, expected, random_file};
use crate::receipts::{self, check_acknowledged};

const LINES: usize = 6_000;
const ACCOUNTS: usize = 150;
/// How long anything may take on a loaded machine; nothing is expected to take so long.
const PATIENCE: Duration = Duration::from_secs(120);
const INTERVAL: Duration = Duration::from_millis(1);

/// A file, and what its import has to lead to.
pub(crate) struct Workload {
    bank: Bank,
    lines: Vec<FileLine>,
    expected: Histories,
}

/// An import under way; killed when dropped.
pub(crate) struct Import {
    child: Child,
    receipts: PathBuf,
    log: PathBuf,
}

impl Workload {
    pub(crate) fn new(backend: &dyn Backend) -> Self {
        let bank = Bank::on(backend);
        let (text, lines) = random_file("tx", LINES, ACCOUNTS);
        bank.write("file.csv", text);
        Self {
            bank,
            expected: expected(&lines),
            lines,
        }
    }

    /// How many decisions there will be.
    pub(crate) fn decisions(&self) -> usize {
        self.expected.values().map(Vec::len).sum()
    }

    /// A random number of decisions in this one of so many equal parts.
    pub(crate) fn somewhere_in(&self, part: usize, parts: usize) -> usize {
        let length = self.decisions() / parts;
        part * length + fastrand::usize(..length)
    }

    pub(crate) fn import(&self) -> Import {
        let arguments = ["import", "file.csv", "--receipts", "receipts.csv"];
        Import {
            child: self.bank.spawn(&arguments, "log"),
            receipts: self.bank.path("receipts.csv"),
            log: self.bank.path("log"),
        }
    }

    /// What has to hold at any time: a beginning of what is expected is stored, and all that was acknowledged.
    pub(crate) fn check_so_far(&self, backend: &dyn Backend) {
        // Read before the events: what is acknowledged meanwhile is none of them.
        let receipts = receipts::read(&self.bank.path("receipts.csv"));
        let stored = histories(backend.events());
        check_prefix(&stored, &self.expected).unwrap();
        check_acknowledged(&receipts, &stored).unwrap();
    }

    /// What has to hold in the end.
    pub(crate) fn check_all(&self, backend: &dyn Backend) {
        self.check_so_far(backend);
        check(&histories(backend.events()), &self.expected).unwrap();
        for (account, history) in self.expected.iter().take(5) {
            let printed = self.bank.stdout_of(&["balance", account]);
            assert_eq!(printed, format!("{}\n", balance(history)), "{account}");
        }
        let again = self.bank.stdout_of(&["import", "file.csv"]);
        let count = self.lines.len();
        assert_eq!(
            again,
            format!("applied 0 refused 0 duplicate {count} malformed 0\n")
        );
    }
}

impl Import {
    /// Waits until so many decisions were acknowledged, by this import and earlier ones; false if it has ended before.
    pub(crate) fn reaches(&mut self, decisions: usize) -> bool {
        self.until(|import| import.acknowledged() >= decisions)
    }

    /// Waits until the log has this text behind its first `skipped` bytes; false if the import has ended before.
    pub(crate) fn logs(&mut self, text: &str, skipped: usize) -> bool {
        self.until(|import| import.log()[skipped..].contains(text))
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end by itself.
    pub(crate) fn end(mut self) -> ExitStatus {
        let mut status = None;
        self.until(|import| {
            status = import.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// How many decisions were acknowledged, one that was told twice counting twice.
    pub(crate) fn acknowledged(&self) -> usize {
        let receipts = fs::read_to_string(&self.receipts).unwrap_or_default();
        let is_decision = |line: &&str| line.contains(",applied,") || line.contains(",refused,");
        receipts.lines().filter(is_decision).count()
    }

    fn until(&mut self, mut condition: impl FnMut(&mut Self) -> bool) -> bool {
        let started = Instant::now();
        loop {
            if condition(self) {
                return true;
            }
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            let late = started.elapsed() > PATIENCE;
            assert!(!late, "nothing happens, the log:\n{}", self.log());
            std::thread::sleep(INTERVAL);
        }
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
