//! An import under way, fed line by line through its standard input, so that it ends when a test wants it to.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::bank::Bank;
use crate::checker::{FileLine, HEADER};
use crate::receipts::{Receipt, Receipts};

/// The time that any step may take on a loaded machine; none is expected to.
const PATIENCE: Duration = Duration::from_secs(120);
const INTERVAL: Duration = Duration::from_millis(1);
/// A failed test shows this many lines of a log.
const LAST_LINES: usize = 40;
/// The text that a log has when a database is left alone for a while.
pub(crate) const OUTAGE: &str = "the store does not answer";

/// The process of an import; killed when dropped.
pub(crate) struct Import {
    child: Child,
    input: Option<ChildStdin>,
    receipts: Receipts,
    log: PathBuf,
}

impl Import {
    /// Starts an import whose receipts and log are called so, and feeds it the header.
    pub(crate) fn start(bank: &Bank, name: &str) -> Self {
        let (receipts, log) = (format!("{name}-receipts.csv"), format!("{name}.log"));
        let (receipts, log) = (bank.path(&receipts), bank.path(&log));
        let arguments = ["import", "-", "--receipts", receipts.to_str().unwrap()];
        let mut child = bank
            .command(&arguments)
            .stdin(Stdio::piped())
            // A file can be followed, and its reader is not waited for.
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{HEADER}").unwrap();
        Self {
            child,
            input: Some(input),
            receipts: Receipts::of(receipts),
            log,
        }
    }

    /// Adds lines to its input, which it reads in its own time.
    pub(crate) fn feed(&mut self, lines: &[FileLine]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let written = self.input.as_mut().unwrap().write_all(text.as_bytes());
        assert!(written.is_ok(), "it has ended:\n{}", end_of(&self.log));
    }

    /// Returns the receipts that it has given so far.
    pub(crate) fn receipts(&mut self) -> &[Receipt] {
        self.receipts.so_far()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until this many of its lines are decided.
    pub(crate) fn decides(&mut self, lines: usize) {
        self.until(|import| import.decided() >= lines);
    }

    /// Waits until its log has this text after the first `skipped` bytes.
    pub(crate) fn logs(&mut self, text: &str, skipped: usize) {
        self.until(|import| import.log()[skipped..].contains(text));
    }

    /// Kills it where it is; returns the receipts that it has left.
    pub(crate) fn kill(mut self) -> Vec<Receipt> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.receipts.so_far().to_vec()
    }

    /// Ends its input and waits until it has decided everything; returns its receipts.
    pub(crate) fn end(mut self) -> Vec<Receipt> {
        self.input = None;
        let mut ended: Option<ExitStatus> = None;
        wait_until(&self.log, || {
            ended = self.child.try_wait().unwrap();
            ended.is_some()
        });
        assert!(ended.unwrap().success(), "{}", end_of(&self.log));
        self.receipts.so_far().to_vec()
    }

    fn decided(&mut self) -> usize {
        let receipts = self.receipts.so_far();
        receipts.iter().filter(|receipt| receipt.is_final()).count()
    }

    /// Waits while it works.
    fn until(&mut self, mut condition: impl FnMut(&mut Self) -> bool) {
        let log = self.log.clone();
        wait_until(&log, || {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("it has ended with {status}:\n{}", end_of(&self.log));
            }
            condition(self)
        });
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal, by its name without `SIG`.
pub(crate) fn signal(process: &Child, name: &str) {
    let kill = format!("kill -{name} {}", process.id());
    let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(status.success());
}

fn wait_until(log: &Path, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        let late = started.elapsed() > PATIENCE;
        assert!(!late, "nothing happens:\n{}", end_of(log));
        std::thread::sleep(INTERVAL);
    }
}

/// The last lines of a log.
fn end_of(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}
