//! A process that keeps the table of balances.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crate::bank::Bank;
use crate::import::signal;

/// The time that any step may take on a loaded machine; none is expected to.
const PATIENCE: Duration = Duration::from_secs(120);

/// Killed when dropped.
pub(crate) struct Keeping {
    child: Child,
    lines: Receiver<String>,
}

impl Keeping {
    /// Starts a process with the shortest lease.
    pub(crate) fn start(bank: &Bank) -> Self {
        let mut child = bank.command(&["keep", "--lease", "1s"]).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { child, lines }
    }

    /// Waits until it has this number of shares.
    pub(crate) fn has_shares(&self, number: usize) {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("it never has {number} shares"));
            let rest = line.strip_prefix("shares here: ").unwrap();
            let (here, _) = rest.split_once(';').unwrap();
            let shares = here.split(' ').filter(|share| *share != "none");
            if shares.count() == number {
                return;
            }
        }
    }

    /// Kills it where it is.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it as Ctrl-C does; it must end well.
    pub(crate) fn interrupt(mut self) {
        signal(&self.child, "INT");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
