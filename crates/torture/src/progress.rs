//! The progress of a run: one line that is rewritten on a terminal, a line now and then elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::Run;

/// The time between two lines where nothing can be rewritten.
const INTERVAL: Duration = Duration::from_secs(30);

pub(crate) struct Progress {
    length: Duration,
    bar: Option<ProgressBar>,
    told: Instant,
}

impl Progress {
    pub(crate) fn new(length: Duration) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{elapsed} {wide_msg}");
            let bar = ProgressBar::new_spinner();
            match style {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        Self {
            length,
            bar,
            told: Instant::now(),
        }
    }

    pub(crate) fn tell(&mut self, run: &Run) {
        let length = humantime::format_duration(self.length);
        if let Some(bar) = &self.bar {
            bar.set_message(format!("of {length}: {}", run.summary()));
            bar.tick();
        } else if self.told.elapsed() >= INTERVAL {
            self.told = Instant::now();
            eprintln!("of {length}: {}", run.summary());
        }
    }

    pub(crate) fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
