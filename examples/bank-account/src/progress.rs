//! Shows how far an import is: a bar on a terminal, plain lines elsewhere; always on stderr.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The interval at which the bar is drawn without news.
const TICK: Duration = Duration::from_millis(100);
/// The interval at which a plain line is written.
const PLAIN_INTERVAL: Duration = Duration::from_secs(2);

/// The progress of one import.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    total_bytes: Option<u64>,
    line: u64,
    bytes: u64,
    decided: u64,
    last_plain: Instant,
}

impl Progress {
    /// `total_bytes` is the size of the input, where that is known.
    pub(crate) fn new(total_bytes: Option<u64>) -> Self {
        Self {
            bar: stderr().is_terminal().then(|| bar(total_bytes)),
            total_bytes,
            line: 0,
            bytes: 0,
            decided: 0,
            last_plain: Instant::now(),
        }
    }

    /// Counts one more line that has its answer.
    pub(crate) fn decided(&mut self) {
        self.decided += 1;
        self.show();
    }

    /// The input was read up to here.
    pub(crate) fn read(&mut self, line: u64, bytes: u64) {
        (self.line, self.bytes) = (line, bytes);
        self.show();
    }

    fn show(&mut self) {
        if let Some(bar) = &self.bar {
            bar.set_position(self.bytes);
            bar.set_message(format!("line {}, {} decided", self.line, self.decided));
        } else if self.last_plain.elapsed() >= PLAIN_INTERVAL {
            self.last_plain = Instant::now();
            let percent = match self.total_bytes {
                Some(total) if total > 0 => format!(" ({} %)", 100 * self.bytes / total),
                _ => String::new(),
            };
            eprintln!(
                "import: line {}{percent}, {} decided",
                self.line, self.decided
            );
        }
    }

    /// A message that stays.
    pub(crate) fn say(&self, message: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{message}")),
            None => eprintln!("{message}"),
        }
    }

    /// Clears the bar from the terminal.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(total_bytes: Option<u64>) -> ProgressBar {
    let bar = match total_bytes {
        Some(total) => ProgressBar::new(total),
        None => ProgressBar::new_spinner(),
    };
    let template = match total_bytes {
        Some(_) => "{bar:30} {percent:>3} % {elapsed_precise} {msg}",
        None => "{spinner} {elapsed_precise} {msg}",
    };
    // Draws even while nothing is read or answered, so that a person sees that the program lives.
    bar.enable_steady_tick(TICK);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
