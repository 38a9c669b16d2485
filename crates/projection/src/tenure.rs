//! The time for which this process may go on with a share.

use std::sync::Arc;

use actix_persistence_storage_api::{ProjectionRecord, ShareClaim};
use tokio::sync::watch;
use tokio::time::Instant;

/// A look at a projection, which has renewed the leases of this process.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    /// The time until which they last, as far as this process knows.
    pub(crate) until: Instant,
    /// The projection as it was then.
    pub(crate) record: Option<Arc<ProjectionRecord>>,
}

impl Look {
    /// Returns what is known before the first look.
    pub(crate) fn none() -> Self {
        Self {
            until: Instant::now(),
            record: None,
        }
    }
}

/// Says whether this process may go on with a share.
#[derive(Clone)]
pub(crate) struct Tenure {
    pub(crate) claim: ShareClaim,
    /// The last look.
    pub(crate) looks: watch::Receiver<Look>,
    /// True once the share is to be stopped.
    pub(crate) stop: watch::Receiver<bool>,
    /// True once the whole projection is to be stopped in this process, before each of its shares hears of it.
    pub(crate) stop_of_all: watch::Receiver<bool>,
}

impl Tenure {
    /// Waits while the lease is over as far as this process knows: another one may have the share. Returns false once it is told
    /// to stop, or another one was seen to have it: a lease that is renewed later may be one of other shares.
    ///
    /// # Cancel safety
    /// May be called again.
    pub(crate) async fn lasts(&mut self) -> bool {
        loop {
            if *self.stop.borrow() || *self.stop_of_all.borrow() {
                return false;
            }
            {
                let look = self.looks.borrow_and_update();
                let record = look.record.as_deref();
                if record.is_some_and(|record| !is_held(&self.claim, record)) {
                    return false;
                }
                if Instant::now() < look.until {
                    return true;
                }
            }
            let looked = tokio::select! {
                () = told(&mut self.stop) => Ok(()),
                () = told(&mut self.stop_of_all) => Ok(()),
                looked = self.looks.changed() => looked,
            };
            if looked.is_err() {
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
        tokio::select! {
            () = told(&mut self.stop) => {}
            () = told(&mut self.stop_of_all) => {}
        }
    }
}

/// Returns whether a claim holds its share, as a record says that may be older than the claim.
pub(crate) fn is_held(claim: &ShareClaim, record: &ProjectionRecord) -> bool {
    let Some(share) = record.shares.get(usize::from(claim.share)) else {
        return false;
    };
    let lease = share.lease.as_ref();
    let is_its_own = lease.is_some_and(|lease| lease.owner == claim.owner);
    share.epoch < claim.epoch || (share.epoch == claim.epoch && is_its_own)
}

/// Waits until a switch is true, or no one is left to set it.
///
/// # Cancel safety
/// May be called again.
pub(crate) async fn told(switch: &mut watch::Receiver<bool>) {
    let _ = switch.wait_for(|is_on| *is_on).await;
}
