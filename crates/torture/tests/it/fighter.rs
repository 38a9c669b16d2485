//! A process that fights: the program `fighter`, and what it says.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use actix_persistence_torture::Retaining;

/// How long it may be silent on a loaded machine; it never should be.
const PATIENCE: Duration = Duration::from_secs(120);

/// Its process; killed when dropped.
pub(crate) struct Fighter {
    child: Child,
    /// The program ends when this is closed, also by the end of the test.
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    log: PathBuf,
}

impl Fighter {
    pub(crate) fn start(
        config: &Path,
        client: u32,
        retaining: Retaining,
        next: impl Iterator<Item = u64>,
        log: PathBuf,
    ) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fighter"))
            .arg(config)
            .args([client.to_string(), retaining.every.to_string()])
            .arg(retaining.keep.to_string())
            .args(next.map(|number| number.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            loop {
                let mut line = String::new();
                output.read_line(&mut line).unwrap();
                // A line that it was killed in has no end.
                if !line.ends_with('\n') || sender.send(line.trim_end().to_owned()).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            lines,
            log,
        }
    }

    /// What it says next; `None` when it has ended.
    pub(crate) fn next_line(&self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("it is silent:\n{}", self.log()),
        }
    }

    /// Sends a signal, by its name without `SIG`.
    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(status.success());
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Tells it to end as it should.
    pub(crate) fn end(&mut self) {
        self.input = None;
    }

    /// Waits for its end, after everything that it says was heard; fails if it was to end by itself and did not.
    pub(crate) fn ended(&mut self, by_itself: bool) {
        let status = self.child.wait().unwrap();
        assert_eq!(status.success(), by_itself, "{status}:\n{}", self.log());
    }

    fn log(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

impl Drop for Fighter {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
