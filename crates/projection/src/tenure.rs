//! The time for which this process may go on with a share.

use std::sync::Arc;

use actix_persistence_storage_api::{ProjectionRecord, ShareClaim};
use tokio::sync::watch;
use tokio::time::Instant;

/// Says whether this process may go on with a share.
#[derive(Clone)]
pub(crate) struct Tenure {
    pub(crate) claim: ShareClaim,
    /// The projection as it was when the leases were last renewed, or later.
    pub(crate) record: watch::Receiver<Option<Arc<ProjectionRecord>>>,
    /// The time until which the lease lasts, as far as this process knows.
    pub(crate) renewed: watch::Receiver<Instant>,
    /// True once the share is to be stopped.
    pub(crate) stop: watch::Receiver<bool>,
}

impl Tenure {
    /// Waits while the lease is over as far as this process knows: another one may have the share. Returns false once it is told
    /// to stop, or if the renewal after that has found that another one has it.
    ///
    /// # Cancel safety
    /// May be called again.
    pub(crate) async fn lasts(&mut self) -> bool {
        loop {
            if *self.stop.borrow() {
                return false;
            }
            if Instant::now() < *self.renewed.borrow_and_update() {
                return !self.is_lost();
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

    fn is_lost(&self) -> bool {
        let record = self.record.borrow();
        record
            .as_ref()
            .is_some_and(|record| is_lost(&self.claim, record))
    }

    /// Waits until it is told to stop.
    ///
    /// # Cancel safety
    /// May be called again.
    pub(crate) async fn ends(&mut self) {
        told(&mut self.stop).await;
    }
}

/// Returns whether a claim has ended, as a record says; one that is older than the claim says nothing.
pub(crate) fn is_lost(claim: &ShareClaim, record: &ProjectionRecord) -> bool {
    let Some(share) = record.shares.get(usize::from(claim.share)) else {
        return true;
    };
    let owner = share.lease.as_ref().map(|lease| &lease.owner);
    let is_held = share.epoch == claim.epoch && owner == Some(&claim.owner);
    !is_held && share.epoch >= claim.epoch
}

/// Waits until a switch is true, or no one is left to set it.
///
/// # Cancel safety
/// May be called again.
pub(crate) async fn told(switch: &mut watch::Receiver<bool>) {
    let _ = switch.wait_for(|is_on| *is_on).await;
}
