//! Other programs, each in a process group of its own, so that nothing it started outlives it or us.

use std::io::{self, BufRead, BufReader, PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{self, Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use actix_persistence_test_servers as test_servers;
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::progress;

/// The time for which interrupted programs may end by themselves.
const GRACE: Duration = Duration::from_secs(3);
/// The time of silence of a program after which the silence is reported.
const SILENCE: Duration = Duration::from_secs(30);
/// The time for which we read on after a program has ended, for a daemon that keeps the pipe open.
const DRAIN: Duration = Duration::from_secs(2);
/// The exit code of a shell for a program that ended by an interrupt.
const INTERRUPTED: i32 = 130;

static RUNNING: Mutex<Running> = Mutex::new(Running {
    groups: Vec::new(),
    interrupted: false,
});

/// Held by what must not be ended half-way.
static UNDISTURBED: Mutex<()> = Mutex::new(());

struct Running {
    groups: Vec<Pid>,
    interrupted: bool,
}

/// An event of a program that is run by [`lines`].
pub(crate) enum Report<'a> {
    /// The program wrote a line, here without its line end.
    Line(&'a str),
    /// The program has written nothing for a while.
    Silent,
}

/// Passes Ctrl-C and SIGTERM on to the running programs, then ends this one with exit status 130 and no server left.
pub(crate) fn end_with_us_on_interrupt() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            signal_all(Signal::INT);
            // A caller that waits for the last program ends us sooner.
            thread::sleep(GRACE);
            signal_all(Signal::KILL);
            end_interrupted();
        }
    });
    Ok(())
}

/// Lets this be done before an interrupt ends us; programs that it runs by itself are not interrupted.
///
/// After an interrupt nothing more is begun.
pub(crate) fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    if running().interrupted {
        end_interrupted();
    }
    let _held = UNDISTURBED.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Runs a program that writes where we write.
pub(crate) fn run(mut command: Command) -> io::Result<ExitStatus> {
    finish(spawn(&mut command)?)
}

/// Runs a program and returns what it writes to standard output.
pub(crate) fn output(mut command: Command) -> io::Result<(ExitStatus, Vec<u8>)> {
    let mut child = spawn(command.stdout(Stdio::piped()))?;
    let mut stdout = child.stdout.take().expect("the pipe was asked for");
    let mut bytes = Vec::new();
    stdout.read_to_end(&mut bytes)?;
    Ok((finish(child)?, bytes))
}

/// Runs a program and reports each line as it comes, standard output and error in the order they were written.
///
/// Ends when the program has ended, even if a daemon that it has left keeps the pipe open.
pub(crate) fn lines(command: Command, report: impl FnMut(Report<'_>)) -> io::Result<ExitStatus> {
    lines_until(command, None, report)
}

/// Does the same, and kills the program if it still runs at the deadline.
pub(crate) fn lines_until(
    mut command: Command,
    mut deadline: Option<Instant>,
    mut report: impl FnMut(Report<'_>),
) -> io::Result<ExitStatus> {
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let child = spawn(&mut command)?;
    let group = group_of(&child);
    // The command holds the writing ends.
    drop(command);

    let (sender, events) = mpsc::channel();
    let lines = sender.clone();
    thread::spawn(move || send_lines(reader, &lines));
    thread::spawn(move || sender.send(Event::Exit(finish(child))));

    let mut exit = None;
    loop {
        if exit.is_none() && deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            kill(group);
            // Its end is reported like any other.
            deadline = None;
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let patience = match exit {
            None => left.map_or(SILENCE, |left| left.min(SILENCE)),
            Some(_) => DRAIN,
        };
        match events.recv_timeout(patience) {
            Ok(Event::Line(bytes)) => report(Report::Line(&String::from_utf8_lossy(&bytes))),
            Ok(Event::Exit(status)) => exit = Some(status),
            Err(RecvTimeoutError::Timeout) if exit.is_none() => report(Report::Silent),
            Err(_) => return exit.unwrap_or_else(|| Err(io::Error::other("lost the program"))),
        }
    }
}

enum Event {
    Line(Vec<u8>),
    Exit(io::Result<ExitStatus>),
}

fn send_lines(reader: PipeReader, events: &Sender<Event>) {
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                if line.last() == Some(&b'\n') {
                    line.pop();
                }
                if events.send(Event::Line(line)).is_err() {
                    return;
                }
            }
        }
    }
}

fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut running = running();
    if running.interrupted {
        wait_for_the_end(running);
    }
    let child = command.process_group(0).stdin(Stdio::null()).spawn()?;
    running.groups.push(group_of(&child));
    Ok(child)
}

/// Waits for the end of the program and kills what is left of its group.
fn finish(mut child: Child) -> io::Result<ExitStatus> {
    let group = group_of(&child);
    // Left unreaped until its group is dead, so that the number cannot come to mean another group.
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    retry_on_intr(|| waitid(WaitId::Pid(group), ended))?;
    let mut running = running();
    let _ = kill_process_group(group, Signal::KILL);
    let status = child.wait()?;
    running.groups.retain(|other| *other != group);
    if running.interrupted {
        wait_for_the_end(running);
    }
    Ok(status)
}

/// Ends this process if no other program runs any more; else its end does, or the time of grace.
fn wait_for_the_end(running: MutexGuard<'_, Running>) -> ! {
    let is_last = running.groups.is_empty();
    drop(running);
    if is_last {
        end_interrupted();
    }
    loop {
        thread::park();
    }
}

/// Servers are no programs of ours to wait for: they would end before the tests that use them.
fn end_interrupted() -> ! {
    if let Err(TryLockError::WouldBlock) = UNDISTURBED.try_lock() {
        progress::note("interrupted, ends as soon as the installation has ended");
    }
    let _ended = UNDISTURBED.lock();
    test_servers::remove_all();
    process::exit(INTERRUPTED)
}

fn signal_all(signal: Signal) {
    let mut running = running();
    running.interrupted = true;
    for group in &running.groups {
        // It may have ended meanwhile.
        let _ = kill_process_group(*group, signal);
    }
}

/// Kills a program with all that it has started, unless it has ended.
fn kill(group: Pid) {
    let running = running();
    if running.groups.contains(&group) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn group_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

fn running() -> MutexGuard<'static, Running> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn collect(script: &str) -> (ExitStatus, Vec<String>) {
        let mut seen = Vec::new();
        let status = lines(shell(script), |report| {
            if let Report::Line(line) = report {
                seen.push(line.to_owned());
            }
        });
        (status.unwrap(), seen)
    }

    #[test]
    fn lines_of_both_streams_come_in_the_order_they_were_written() {
        let (status, seen) = collect("echo one; echo two >&2; echo three; printf four >&2; exit 3");
        assert_eq!(status.code(), Some(3));
        assert_eq!(seen, ["one", "two", "three", "four"]);
    }

    #[test]
    fn bytes_that_are_not_utf8_do_not_end_the_reading() {
        let (status, seen) = collect(r"printf 'a\377b\n'; echo after");
        assert!(status.success());
        assert_eq!(seen, ["a\u{fffd}b", "after"]);
    }

    #[test]
    fn what_a_program_left_running_is_killed_with_its_end() {
        let (status, seen) = collect("sleep 1000 & echo $!");
        assert!(status.success());
        let left: i32 = seen[0].parse().unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while runs(left) {
            assert!(Instant::now() < deadline, "process {left} still runs");
            thread::yield_now();
        }
    }

    #[test]
    fn a_program_that_runs_at_its_deadline_is_killed() {
        let mut seen = Vec::new();
        let deadline = Instant::now() + Duration::from_millis(200);
        let hangs = shell("echo begun; sleep 1000");
        let status = lines_until(hangs, Some(deadline), |report| {
            if let Report::Line(line) = report {
                seen.push(line.to_owned());
            }
        });
        assert_eq!(status.unwrap().code(), None);
        assert_eq!(seen, ["begun"]);
    }

    #[test]
    fn a_daemon_that_keeps_the_pipe_open_does_not_keep_us() {
        let (status, seen) = collect("setsid sleep 1000 & echo $!");
        assert!(status.success());
        let daemon = Pid::from_raw(seen[0].parse().unwrap()).unwrap();
        // It has left the group, unless the end came sooner.
        let _ = rustix::process::kill_process(daemon, Signal::KILL);
    }

    #[test]
    fn output_gives_standard_output_alone() {
        let (status, bytes) = output(shell("echo out; echo err >&2")).unwrap();
        assert!(status.success());
        assert_eq!(bytes, b"out\n");
    }

    /// A dead process that its parent has not reaped yet does not run.
    fn runs(pid: i32) -> bool {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
    }
}
