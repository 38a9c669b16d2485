//! The time for which this process may go on with a share.

use tokio::sync::watch;
use tokio::time::Instant;

/// Says whether this process may go on with a share.
#[derive(Clone)]
pub(crate) struct Tenure {
    /// The time until which the lease lasts, as far as this process knows.
    pub(crate) renewed: watch::Receiver<Instant>,
    /// True once the share is to be stopped.
    pub(crate) stop: watch::Receiver<bool>,
}

impl Tenure {
    /// Waits while the lease is over as far as this process knows: another one may have the share. Returns false once it is told
    /// to stop.
    ///
    /// # Cancel safety
    /// May be called again.
    pub(crate) async fn lasts(&mut self) -> bool {
        loop {
            if *self.stop.borrow() {
                return false;
            }
            if Instant::now() < *self.renewed.borrow_and_update() {
                return true;
            }
            let renewed = tokio::select! {
                () = told(&mut self.stop) => Ok(()),
                renewed = self.renewed.changed() => renewed,
            };
            if renewed.is_err() {
                // No one is left to renew it.
                return false;
            }
        }
    }

    /// Waits until it is told to stop.
    ///
    /// # Cancel safety
    /// May be called again.
    pub(crate) async fn ends(&mut self) {
        told(&mut self.stop).await;
    }
}

/// Waits until a switch is true, or no one is left to set it.
///
/// # Cancel safety
/// May be called again.
pub(crate) async fn told(switch: &mut watch::Receiver<bool>) {
    let _ = switch.wait_for(|is_on| *is_on).await;
}
