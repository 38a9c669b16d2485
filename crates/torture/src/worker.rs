//! A process under test, as the driver sees it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};

use crate::{Line, is_interrupted};

/// The longest time for which a worker may be silent on a loaded machine; it never should be.
const PATIENCE: Duration = Duration::from_secs(120);
/// The time between two looks whether someone pressed Ctrl-C.
const INTERVAL: Duration = Duration::from_millis(200);
/// The time for which a process may go on once something is violated, or the run is interrupted: it may end as it should,
/// and say what is wrong besides.
const GRACE: Duration = Duration::from_secs(5);
/// The number of lines of its log that an error shows.
const LAST_LINES: usize = 40;

/// A process to be started.
pub struct WorkerBuilder {
    program: PathBuf,
    log: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    run_has_failed: Arc<AtomicBool>,
}

impl WorkerBuilder {
    /// A process of a run that is over once it has failed.
    pub(crate) fn new(
        program: &Path,
        kind: &str,
        log: PathBuf,
        run_has_failed: Arc<AtomicBool>,
    ) -> Self {
        Self {
            run_has_failed,
            program: program.to_owned(),
            log,
            arguments: vec!["worker".into(), kind.into()],
            environment: Vec::new(),
        }
    }

    /// Adds one more argument.
    #[must_use]
    pub fn arg(mut self, argument: impl ToString) -> Self {
        self.arguments.push(argument.to_string().into());
        self
    }

    /// A variable of its environment, besides those of this process.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Starts it, in a process group of its own: Ctrl-C does not reach it.
    ///
    /// It ends with the thread that has started it, whatever happens.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn start(self) -> anyhow::Result<Worker> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut child = Command::new(&self.program)
            .args(self.arguments)
            .envs(self.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0)
            .spawn()
            .with_context(|| format!("could not start {}", self.program.display()))?;
        let output = child.stdout.take().context("no standard output")?;
        Ok(Worker {
            input: child.stdin.take(),
            child,
            lines: whole_lines(output),
            log: self.log,
            run_has_failed: self.run_has_failed,
            to_end_since: None,
            is_cut_short: false,
        })
    }
}

/// A process under test; killed when dropped.
pub struct Worker {
    child: Child,
    /// The worker ends well when this is closed.
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    log: PathBuf,
    run_has_failed: Arc<AtomicBool>,
    /// The moment at which this process was seen to go on although the run had failed or was interrupted.
    to_end_since: Option<Instant>,
    /// True if it was killed because of that.
    is_cut_short: bool,
}

impl Worker {
    /// Returns the next line; `None` when it has ended. After Ctrl-C it is killed, and soon after something was violated:
    /// what goes wrong may keep it from its end for long.
    ///
    /// # Errors
    /// If it is silent for two minutes, or says what is no [`Line`].
    pub fn next_line(&mut self) -> anyhow::Result<Option<Line>> {
        let since = Instant::now();
        loop {
            self.cut_short()?;
            match self.lines.recv_timeout(INTERVAL) {
                Ok(line) => {
                    let read = serde_json::from_str(&line);
                    return Ok(Some(
                        read.with_context(|| format!("a worker said {line:?}"))?,
                    ));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if is_interrupted() => self.kill()?,
                Err(RecvTimeoutError::Timeout) if since.elapsed() > PATIENCE => {
                    anyhow::bail!("a worker is silent:\n{}", self.end_of_log());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Returns a line if there is one; `None` if there is none yet, or no more.
    ///
    /// # Errors
    /// If it says what is no [`Line`].
    pub fn line_now(&mut self) -> anyhow::Result<Option<Line>> {
        let Ok(line) = self.lines.try_recv() else {
            return Ok(None);
        };
        let read = serde_json::from_str(&line);
        Ok(Some(
            read.with_context(|| format!("a worker said {line:?}"))?,
        ))
    }

    /// Kills it if it goes on for too long, and says something all the time, in a run that has failed or is interrupted.
    fn cut_short(&mut self) -> anyhow::Result<()> {
        let is_to_end = self.run_has_failed.load(Ordering::Relaxed) || is_interrupted();
        if !is_to_end || self.is_cut_short {
            return Ok(());
        }
        let since = *self.to_end_since.get_or_insert_with(Instant::now);
        if since.elapsed() > GRACE {
            self.is_cut_short = true;
            self.kill()?;
        }
        Ok(())
    }

    /// Stops it where it is (SIGSTOP).
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn pause(&self) -> anyhow::Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets the worker go on (SIGCONT).
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn resume(&self) -> anyhow::Result<()> {
        self.signal(Signal::CONT)
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }

    /// Kills it (SIGKILL); what it has said before can still be read.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        Ok(self.child.kill()?)
    }

    /// Asks the worker to end as it should.
    pub fn end(&mut self) {
        self.input = None;
    }

    /// Waits for its end, after everything that it says was heard: by itself and well, or by a kill.
    ///
    /// A process that has failed, and was killed afterwards, has ended otherwise.
    ///
    /// # Errors
    /// If it ended otherwise, with the end of its log.
    pub fn ended(&mut self, by_itself: bool) -> anyhow::Result<()> {
        self.ended_as(match by_itself {
            true => ExitStatus::success,
            false => |status| is_by(status, Signal::KILL),
        })
    }

    /// The same for one that was killed when it may have ended by itself and well already.
    ///
    /// # Errors
    /// If it ended otherwise, with the end of its log.
    pub fn ended_or_killed(&mut self) -> anyhow::Result<()> {
        self.ended_as(|status| status.success() || is_by(status, Signal::KILL))
    }

    /// The same for one that Ctrl-C has ended before it listened to that.
    ///
    /// # Errors
    /// If it ended otherwise, with the end of its log.
    pub fn ended_by_ctrl_c(&mut self) -> anyhow::Result<()> {
        self.ended_as(|status| is_by(status, Signal::INT))
    }

    /// The same for one that has to end with an error.
    ///
    /// # Errors
    /// If it ended otherwise, with the end of its log.
    pub fn failed(&mut self) -> anyhow::Result<()> {
        self.ended_as(|status| status.code().is_some_and(|code| code != 0))
    }

    fn ended_as(&mut self, is_right: fn(&ExitStatus) -> bool) -> anyhow::Result<()> {
        let status = self.child.wait()?;
        let is_killed = self.is_cut_short && is_by(&status, Signal::KILL);
        if !is_right(&status) && !is_killed && !is_interrupted() {
            anyhow::bail!("a worker ended with {status}:\n{}", self.end_of_log());
        }
        Ok(())
    }

    /// Removes its log, which grows with every life that has it.
    pub fn forget_log(&self) {
        let _ = fs::remove_file(&self.log);
    }

    fn end_of_log(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_by(status: &ExitStatus, signal: Signal) -> bool {
    status.signal() == Some(signal.as_raw())
}

/// Passes on the lines of a process until it ends; a line that it was killed in is left out.
fn whole_lines(output: ChildStdout) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut line = String::new();
            let read = output.read_line(&mut line);
            if read.is_err() || !line.ends_with('\n') || sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
