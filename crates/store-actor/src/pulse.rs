//! Finds out whether a thread goes on running its tasks.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The time between two beats.
const PERIOD: Duration = Duration::from_millis(200);

/// Beats as long as the runtime of its thread runs tasks, and a listener is left.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    beats: AtomicU64,
    /// The number of beats at which the runtime was found to stand still, plus one; 0 if it never was.
    missed: AtomicU64,
    /// True if the runtime has ended.
    stopped: AtomicBool,
}

thread_local! {
    static PULSE: RefCell<Weak<Pulse>> = const { RefCell::new(Weak::new()) };
}

impl Pulse {
    /// The pulse of the runtime that this is called in; one for all who listen at the same time.
    pub(crate) fn of_this_thread() -> Arc<Self> {
        PULSE.with_borrow_mut(|known| {
            let beating = known
                .upgrade()
                .filter(|pulse| !pulse.stopped.load(Ordering::Relaxed));
            beating.unwrap_or_else(|| {
                let pulse = Arc::default();
                *known = Arc::downgrade(&pulse);
                tokio::spawn(beat(Heart(Arc::downgrade(&pulse))));
                pulse
            })
        })
    }

    /// Returns the number of beats.
    pub(crate) fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }

    /// Notes that it has not beaten since.
    pub(crate) fn miss(&self, beats: u64) {
        self.missed.store(beats + 1, Ordering::Relaxed);
    }

    /// Returns whether it is known to stand still.
    pub(crate) fn stands_still(&self) -> bool {
        self.missed.load(Ordering::Relaxed) == self.beats() + 1
    }
}

/// The guard of the task that beats; dropped with the runtime it runs on.
struct Heart(Weak<Pulse>);

async fn beat(heart: Heart) {
    loop {
        tokio::time::sleep(PERIOD).await;
        let Some(pulse) = heart.0.upgrade() else {
            return;
        };
        pulse.beats.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        if let Some(pulse) = self.0.upgrade() {
            pulse.stopped.store(true, Ordering::Relaxed);
        }
    }
}
