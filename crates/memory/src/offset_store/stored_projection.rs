//! A projection as it is kept in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_persistence_storage_api::{
    Epoch, Lease, Progress, ProgressCommit, ProjectionRecord, ShareClaim, ShareConflict,
    ShareRecord, Skipped, TakenShare, Timestamp, divided, kept_text,
};

use super::ByKey;
use super::parked_rows::ParkedRows;

/// A projection with its shares and its members.
pub(crate) struct StoredProjection {
    pub(super) paused: bool,
    pub(super) live: bool,
    /// In the order of their numbers.
    shares: Vec<StoredShare>,
    /// The highest epoch of a share so far, of those included that are no more.
    last_epoch: Epoch,
    /// Those who take part, each with the time at which that ends.
    members: BTreeMap<Arc<str>, End>,
    /// The latest last.
    pub(super) skipped: Vec<Skipped>,
    pub(super) parked: ParkedRows,
}

/// A share and the latest claim to it.
pub(super) struct StoredShare {
    pub(super) progress: Progress,
    /// The epoch of the latest claim, or of the change that ended all claims.
    epoch: Epoch,
    /// The owner of the latest claim; none after a change that ended it.
    owner: Option<Arc<str>>,
    /// The end of its lease; none after a release.
    lease: Option<End>,
    pub(super) attempts: u32,
    pub(super) halted: Option<Arc<str>>,
    pub(super) handled: u64,
    pub(super) reached_time: Option<Timestamp>,
}

/// The end of a time; `None` if it lies beyond all times that there are.
type End = Option<Instant>;

/// Returns the share of a claim that is the latest one, or the refusal of the claim.
pub(super) fn latest<'p>(
    projections: &'p mut ByKey,
    claim: &ShareClaim,
) -> Result<&'p mut StoredShare, ShareConflict> {
    let projection = projections.get_mut(&claim.projection);
    let share = projection.and_then(|found| found.shares.get_mut(usize::from(claim.share)));
    match share {
        None => Err(ShareConflict::new(claim, None, 0)),
        Some(share) if share.is_claimed_by(claim) => Ok(share),
        Some(share) => Err(share.conflict(claim)),
    }
}

impl StoredProjection {
    pub(super) fn new(shares: impl IntoIterator<Item = Progress>, live: bool) -> Self {
        let shares = shares.into_iter().map(ShareRecord::new);
        Self {
            paused: false,
            live,
            shares: shares.map(|share| StoredShare::free(share, 0)).collect(),
            last_epoch: 0,
            members: BTreeMap::new(),
            skipped: Vec::new(),
            parked: ParkedRows::default(),
        }
    }

    pub(super) fn has_share(&self, share: u16) -> bool {
        usize::from(share) < self.shares.len()
    }

    pub(super) fn record(&self, now: Instant) -> ProjectionRecord {
        let shares = self.shares.iter().map(|share| share.record(now)).collect();
        let members = self.members.iter();
        let members = members.filter(|&(_, &end)| !is_over(end, now));
        let members = members.map(|(owner, _)| Arc::clone(owner)).collect();
        let mut record = ProjectionRecord::new(self.paused, shares, members);
        record.live = self.live;
        record.parked = self.parked.len() as u64;
        record
    }

    /// Renews the leases of an owner, even those that are over, and returns the record with the owner as a member.
    pub(super) fn attend(
        &mut self,
        owner: &str,
        now: Instant,
        lease: Duration,
    ) -> ProjectionRecord {
        let end = now.checked_add(lease);
        self.members.retain(|_, &mut end| !is_over(end, now));
        self.members.insert(owner.into(), end);
        let shares = self.shares.iter_mut();
        for share in shares.filter(|share| share.holder() == Some(owner)) {
            share.lease = Some(end);
        }
        let mut record = self.record(now);
        if is_over(end, now) {
            // A lease of no time at all.
            record.members = self.members.keys().cloned().collect();
        }
        record
    }

    pub(super) fn leave(&mut self, owner: &str) {
        self.members.remove(owner);
        let shares = self.shares.iter_mut();
        shares
            .filter(|share| share.holder() == Some(owner))
            .for_each(StoredShare::release);
    }

    /// Takes a share that there is; the claim gets its epoch here.
    pub(super) fn take(
        &mut self,
        mut claim: ShareClaim,
        now: Instant,
        lease: Duration,
    ) -> Result<TakenShare, ShareConflict> {
        let share = &mut self.shares[usize::from(claim.share)];
        let by_other = share.holder().is_some_and(|holder| *holder != *claim.owner);
        let is_held = share.lease.is_some_and(|end| !is_over(end, now));
        if self.paused || share.halted.is_some() || by_other && is_held {
            return Err(share.conflict(&claim).paused(self.paused));
        }
        let was_released = share.lease.is_none();
        self.last_epoch += 1;
        claim.epoch = self.last_epoch;
        share.epoch = claim.epoch;
        share.owner = Some(Arc::clone(&claim.owner));
        share.lease = Some(now.checked_add(lease));
        let progress = share.progress.clone();
        Ok(TakenShare::new(
            claim,
            progress,
            share.attempts,
            was_released,
        ))
    }

    /// Stores a step that is allowed, and whose unparked items are removed.
    pub(super) fn store(&mut self, commit: ProgressCommit) {
        let ProgressCommit {
            claim,
            to,
            skipped,
            handled,
            reached_time,
            parked,
            ..
        } = commit;
        let share = &mut self.shares[usize::from(claim.share)];
        if share.progress != to {
            share.attempts = 0;
        }
        share.progress = to;
        share.handled = share.handled.saturating_add(handled);
        share.reached_time = reached_time.or(share.reached_time);
        self.skipped.extend(skipped.into_iter().map(|mut skipped| {
            skipped.item = kept_text(&skipped.item).into_owned();
            skipped.reason = kept_text(&skipped.reason).into_owned();
            skipped
        }));
        parked.into_iter().for_each(|item| self.parked.add(item));
    }

    pub(super) fn resume(&mut self) {
        self.paused = false;
        for share in &mut self.shares {
            if share.halted.take().is_some() {
                share.attempts = 0;
            }
        }
    }

    pub(super) fn set_offset(&mut self, offset: &str) {
        let shares = self.shares.iter().map(|share| {
            let mut new = ShareRecord::new(Progress::new(share.progress.slices(), offset));
            new.handled = share.handled;
            new
        });
        let shares = shares.collect();
        self.replace_shares(shares);
        self.parked.clear();
    }

    /// Divides the slices into so many shares; `None` if there cannot be so many.
    pub(super) fn divide(&mut self, number: u16) -> Option<()> {
        let now = Instant::now();
        let before: Vec<_> = self.shares.iter().map(|share| share.record(now)).collect();
        self.replace_shares(divided(&before, number)?);
        Some(())
    }

    /// Ends all claims, and frees all shares.
    pub(super) fn end_claims(&mut self) {
        self.last_epoch += 1;
        for share in &mut self.shares {
            share.epoch = self.last_epoch;
            share.owner = None;
            share.lease = None;
        }
    }

    /// Puts free shares in the place of all, in an epoch of their own, so that every claim from before is over.
    fn replace_shares(&mut self, shares: Vec<ShareRecord>) {
        self.last_epoch += 1;
        let shares = shares.into_iter();
        self.shares = shares
            .map(|share| StoredShare::free(share, self.last_epoch))
            .collect();
    }

    pub(super) fn progress(&self) -> impl Iterator<Item = &Progress> {
        self.shares.iter().map(|share| &share.progress)
    }
}

impl StoredShare {
    fn free(share: ShareRecord, epoch: Epoch) -> Self {
        Self {
            progress: share.progress,
            epoch,
            owner: None,
            lease: None,
            attempts: 0,
            halted: share.halted,
            handled: share.handled,
            reached_time: share.reached_time,
        }
    }

    fn record(&self, now: Instant) -> ShareRecord {
        let mut record = ShareRecord::new(self.progress.clone());
        record.epoch = self.epoch;
        record.lease = self.holder().zip(self.lease).map(|(owner, end)| {
            let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(now));
            Lease::new(owner, left)
        });
        record.attempts = self.attempts;
        record.halted = self.halted.clone();
        record.handled = self.handled;
        record.reached_time = self.reached_time;
        record
    }

    /// Returns the owner that holds it, or held it until its lease was over.
    fn holder(&self) -> Option<&str> {
        self.lease.and(self.owner.as_deref())
    }

    fn is_claimed_by(&self, claim: &ShareClaim) -> bool {
        self.epoch == claim.epoch && self.owner.as_ref() == Some(&claim.owner)
    }

    pub(super) fn release(&mut self) {
        self.lease = None;
    }

    pub(super) fn conflict(&self, claim: &ShareClaim) -> ShareConflict {
        let stored = self.holder().map(Arc::from);
        ShareConflict::new(claim, stored, self.epoch).halted(self.halted.clone())
    }
}

fn is_over(end: End, now: Instant) -> bool {
    end.is_some_and(|end| end <= now)
}
