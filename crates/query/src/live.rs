//! The delay until a live query looks again.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_state_actor::Observed;
use actix_persistence_storage_api::BackOff;
use tokio::time::{Instant, Sleep};

use crate::QuerySettings;
use crate::pages::Pages;
use crate::store::Queried;

/// The delay after a write, until its change can be read while others are still writing.
const SOON: Duration = Duration::from_millis(10);

/// The time from one look to the next that a write brings about: as many times as long as the look took, and not less or more than
/// this. Where writes come all the time, each look brings those of several groups, and costs about as much as for one; on a busy
/// machine, where it takes longer, looks take no larger part of the time, and an event waits for half of the longest time on average.
const TIMES_A_LOOK: u32 = 8;
const SHORTEST_PACE: Duration = Duration::from_millis(3);
const LONGEST_PACE: Duration = Duration::from_millis(7);

/// The number of writes in a row that brought nothing to read, after which the look after the next one is delayed.
const VAIN_WRITES: u32 = 3;

/// The delays of a live query.
pub(crate) struct Live {
    stored: Arc<Observed<u64>>,
    /// The number of calls that had stored something before it last read.
    seen: u64,
    /// The number of hints of other processes before it last waited.
    hinted: u64,
    /// The time at which it last began to read.
    looked: Option<Instant>,
    /// The time that this took.
    took: Duration,
    delay: Duration,
    /// True if there was something to read when it last did.
    has_brought: bool,
    /// The number of waits in a row that a write ended, since there was last something to read, or no write for a whole delay.
    vain_writes: u32,
    trouble: Trouble,
}

/// The delays of a live query after trouble that waiting may cure.
pub(crate) struct Trouble {
    back_off: BackOff,
}

impl Trouble {
    pub(crate) fn new(settings: &QuerySettings) -> Self {
        Self {
            back_off: BackOff::new(Duration::from_millis(100), settings.max_back_off, 0.2),
        }
    }

    /// Notes that there is no trouble any more.
    pub(crate) fn is_over(&mut self) {
        self.back_off.reset();
    }

    /// Returns the delay after this error, which is longer than the one before.
    pub(crate) fn wait_after<H: Queried>(
        &mut self,
        error: &(dyn Error + Sync + 'static),
        pages: &Pages<H>,
    ) -> Sleep {
        let delay = self.back_off.next_delay();
        tracing::warn!(
            plugin_id = %pages.handle.plugin_id(),
            error = error as &(dyn Error + 'static),
            ?delay,
            "a live query could not read and tries again"
        );
        pages.sleep(delay)
    }
}

impl Live {
    pub(crate) fn new<H: Queried>(pages: &Pages<H>) -> Self {
        let settings = &pages.settings;
        Self {
            stored: Arc::clone(pages.handle.stored()),
            seen: pages.handle.stored().get(),
            hinted: 0,
            looked: None,
            took: Duration::ZERO,
            delay: settings.refresh_interval,
            has_brought: false,
            vain_writes: 0,
            trouble: Trouble::new(settings),
        }
    }

    /// Makes the next [`wait`](Self::wait) end for everything that is stored from now on.
    pub(crate) fn about_to_read<H: Queried>(&mut self, pages: &Pages<H>) {
        self.looked = Some(pages.now());
        self.seen = self.stored.get();
    }

    /// Notes whether there was something to read, because there may be more in a moment.
    pub(crate) fn has_read<H: Queried>(&mut self, pages: &Pages<H>, any: bool) {
        self.trouble.is_over();
        let looked = self.looked.map(|looked| pages.now().duration_since(looked));
        self.took = looked.unwrap_or_default();
        self.has_brought = any;
        if any {
            self.delay = SOON;
            self.vain_writes = 0;
        }
    }

    /// Waits until it may be worth while to look again, at most for this time.
    ///
    /// # Cancel safety
    /// May be called again.
    pub(crate) async fn wait<H: Queried>(&mut self, pages: &Pages<H>, limit: Duration) {
        let mut delay = self.delay.min(limit);
        if self.has_brought {
            // What is stored meanwhile would have to wait for this anyway, and would wake the reader twice.
            let pause = self.pause(pages).min(delay);
            if !pause.is_zero() {
                pages.sleep(pause).await;
            }
            delay -= pause;
        }
        let seen = self.seen;
        tokio::select! {
            // Every run of a simulation decides alike.
            biased;
            _ = self.stored.wait_for(|stored| *stored != seen) => self.after_a_write(pages, limit).await,
            hinted = pages.handle.hints(self.hinted) => {
                self.hinted = hinted;
                self.after_a_write(pages, limit).await;
            }
            () = pages.sleep(delay) => {
                self.delay = self.delay.min(limit).saturating_mul(2).min(limit);
                self.vain_writes = 0;
            }
        }
    }

    /// Returns the time that is left until a write may bring about a look.
    fn pause<H: Queried>(&self, pages: &Pages<H>) -> Duration {
        let pace = self.took.saturating_mul(TIMES_A_LOOK);
        let pace = pace.clamp(SHORTEST_PACE, LONGEST_PACE);
        let looked = self.looked.map(|looked| looked + pace);
        looked.map_or(Duration::ZERO, |next| {
            next.saturating_duration_since(pages.now())
        })
    }

    /// Waits a moment where writes come all the time, and longer where a query selects little of them: it does not look
    /// without a pause.
    async fn after_a_write<H: Queried>(&mut self, pages: &Pages<H>, limit: Duration) {
        self.delay = SOON;
        let pause = match self.vain_writes {
            VAIN_WRITES.. => SOON,
            _ => self.pause(pages),
        };
        if !pause.is_zero() {
            pages.sleep(pause.min(limit)).await;
        }
        self.vain_writes = self.vain_writes.saturating_add(1);
    }

    /// Waits after trouble that waiting may cure.
    pub(crate) async fn wait_after<H: Queried>(
        &mut self,
        error: &(dyn Error + Sync + 'static),
        pages: &Pages<H>,
    ) {
        self.trouble.wait_after(error, pages).await;
    }
}
