//! The program under way.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::told::Told;

/// How long the program may do nothing on a loaded machine; it is never expected to take so long.
const PATIENCE: Duration = Duration::from_secs(120);
/// How much of its log a failed test shows.
const LAST_LINES: usize = 40;

/// Its process; killed when dropped.
pub(crate) struct Program {
    child: Child,
    /// The program ends when this is closed, also by the end of the test.
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    log: PathBuf,
}

impl Program {
    /// Starts it with a config file; what it logs goes to a file.
    pub(crate) fn start(config: &Path, parcels: u32, places: u32, log: PathBuf) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_parcels"))
            .arg(config)
            .args([parcels, places].map(|number| number.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            lines: whole_lines(child.stdout.take().unwrap()),
            child,
            log,
        }
    }

    /// Listens until so many moves are acknowledged, with those of earlier lives.
    pub(crate) fn acknowledges(&mut self, moves: usize, told: &mut Told) {
        let (mut so_far, mut since) = (told.acknowledged.len(), Instant::now());
        while told.acknowledged.len() < moves {
            match self.next_line() {
                Some(line) => told.hear(&line),
                None => panic!("the program has ended:\n{}", self.end_of_log()),
            }
            if told.acknowledged.len() > so_far {
                (so_far, since) = (told.acknowledged.len(), Instant::now());
            }
            let stuck = since.elapsed() > PATIENCE;
            assert!(!stuck, "every move fails:\n{}", self.end_of_log());
        }
        self.tells(told);
    }

    /// Listens to what it has said by now.
    pub(crate) fn tells(&mut self, told: &mut Told) {
        self.lines.try_iter().for_each(|line| told.hear(&line));
    }

    /// Kills it where it is, and listens to its last words.
    pub(crate) fn kill(mut self, told: &mut Told) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.listen_to_the_end(told);
    }

    /// Lets it end as it should.
    pub(crate) fn end(mut self, told: &mut Told) {
        self.input = None;
        self.listen_to_the_end(told);
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}:\n{}", self.end_of_log());
    }

    fn listen_to_the_end(&mut self, told: &mut Told) {
        while let Some(line) = self.next_line() {
            told.hear(&line);
        }
    }

    /// None when it has ended.
    fn next_line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("the program is silent:\n{}", self.end_of_log())
            }
        }
    }

    fn end_of_log(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a process says, line by line until it ends; a line that it was killed in is left out.
fn whole_lines(output: ChildStdout) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            if !line.ends_with('\n') || sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
