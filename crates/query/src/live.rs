//! The delay until a live query looks again.

use std::future::pending;
use std::time::Duration;

use actix_persistence_storage_api::{BackOff, StorageError};
use tokio::sync::watch;

use crate::pages::Pages;

/// The delay after a write, until its change can be read while others are still writing.
const SOON: Duration = Duration::from_millis(10);

/// The delays of a live query.
pub(crate) struct Live {
    stored: watch::Receiver<()>,
    delay: Duration,
    back_off: BackOff,
}

impl Live {
    pub(crate) fn new(pages: &Pages) -> Self {
        let settings = &pages.settings;
        Self {
            stored: pages.stored(),
            delay: settings.refresh_interval,
            back_off: BackOff::new(Duration::from_millis(100), settings.max_back_off, 0.2),
        }
    }

    /// Makes the next [`wait`](Self::wait) end for everything that is stored from now on.
    pub(crate) fn about_to_read(&mut self) {
        self.stored.borrow_and_update();
    }

    /// Notes whether there was something to read, because there may be more in a moment.
    pub(crate) fn has_read(&mut self, any: bool) {
        self.back_off.reset();
        if any {
            self.delay = SOON;
        }
    }

    /// Waits until it may be worth while to look again.
    ///
    /// # Cancel safety
    /// May be called again.
    pub(crate) async fn wait(&mut self, pages: &Pages) {
        let limit = pages.settings.refresh_interval;
        let delay = self.delay.min(limit);
        let stored = &mut self.stored;
        let stored = async {
            if stored.changed().await.is_err() {
                pending::<()>().await;
            }
        };
        tokio::select! {
            () = stored => self.delay = SOON,
            () = pages.sleep(delay) => self.delay = delay.saturating_mul(2).min(limit),
        }
    }

    /// Waits after trouble that waiting may cure.
    pub(crate) async fn wait_after(&mut self, error: &StorageError, pages: &Pages) {
        let delay = self.back_off.next_delay();
        tracing::warn!(
            plugin_id = %pages.handle.settings().plugin_id,
            error = error as &dyn std::error::Error,
            ?delay,
            "a live query could not read changes of states and tries again"
        );
        pages.sleep(delay).await;
    }
}
