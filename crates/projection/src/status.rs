//! The state of a projection in this process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_persistence_storage_api::{Epoch, ShareClaim, ShareRecord, Timestamp};
use tokio::time::Instant;

/// The state of a projection, as this process sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProjectionStatus {
    /// True if the projection is paused.
    pub paused: bool,
    /// The processes that take part, this one among them; empty until the first look, and once the projection was removed.
    pub members: Vec<Arc<str>>,
    /// The name under which this process takes part.
    pub owner: Arc<str>,
    /// The time since this process last heard from the offset store; `None` before the first time.
    pub since_last_look: Option<Duration>,
    /// The last error of the offset store, until it answers again; before it is initialised, that of the last attempt.
    pub error: Option<Arc<str>>,
    /// The shares that this process has, or had last, by their numbers; empty once the projection was removed.
    pub shares: BTreeMap<u16, ShareStatus>,
    /// The shares that were halted at the last look, whichever process had them, by their numbers, with the reasons.
    pub halted: BTreeMap<u16, Arc<str>>,
}

/// The state of a share that this process has or had.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShareStatus {
    /// The activity of the share.
    pub state: ShareState,
    /// The number of items that this process has handled since it took the share.
    pub handled: u64,
    /// The number of items that were skipped since then.
    pub skipped: u64,
    /// The number of persistence ids of the share that are parked; 0 once this process has left it, or halted it.
    pub parked: usize,
    /// The time at which the last item was written that the share is past, by the clock of its writer; `None` before this
    /// process has handled one.
    pub reached_time: Option<Timestamp>,
    /// The time at which the item was written that the share is busy with; `None` if it waits for new ones, or is left
    /// or halted. The distance from now is how far it is behind in time.
    pub busy_with: Option<Timestamp>,
    /// The time since the share last got on: since it began or stored a group, since its failures began, or since progress that
    /// brought no items.
    pub since_last_turn: Duration,
    /// The last error, until an item was handled after it, or this process has left the share.
    pub error: Option<Arc<str>>,
}

/// The activity of a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShareState {
    /// This process goes on with it.
    Running,
    /// Its handler has failed, or the database; it is tried again.
    Retrying,
    /// It is halted before an item for which the handler fails, until somebody resumes the projection.
    Halted,
    /// This process no longer has it.
    Left,
}

impl ProjectionStatus {
    /// Returns whether everything that this process has goes on: it has heard from the offset store within this time, which
    /// should be longer than the lease and than any handler takes, and no share is halted, or tries the same again or is busy
    /// with the same items for longer than that.
    ///
    /// A projection that is only far behind is healthy, and so is one that has parked ids. A share that other processes have
    /// halted, or this one before it was started again, is in [`halted`](Self::halted) only.
    pub fn is_healthy(&self, within: Duration) -> bool {
        let looks = self.since_last_look.is_some_and(|since| since <= within);
        let goes_on = |share: &ShareStatus| match share.state {
            ShareState::Left => true,
            ShareState::Running if share.busy_with.is_none() => true,
            ShareState::Running | ShareState::Retrying => share.since_last_turn <= within,
            ShareState::Halted => false,
        };
        looks && self.shares.values().all(goes_on)
    }
}

/// The state that the tasks of a projection keep.
#[derive(Debug, Default)]
pub(crate) struct Board(Mutex<Facts>);

#[derive(Debug, Default)]
struct Facts {
    paused: bool,
    members: Vec<Arc<str>>,
    last_look: Option<Instant>,
    error: Option<Arc<str>>,
    shares: BTreeMap<u16, ShareFacts>,
    halted: BTreeMap<u16, Arc<str>>,
}

#[derive(Clone, Debug)]
pub(crate) struct ShareFacts {
    /// The epoch in which this process took it.
    epoch: Epoch,
    pub(crate) state: ShareState,
    pub(crate) handled: u64,
    pub(crate) skipped: u64,
    pub(crate) parked: usize,
    pub(crate) reached_time: Option<Timestamp>,
    pub(crate) busy_with: Option<Timestamp>,
    pub(crate) last_turn: Instant,
    pub(crate) error: Option<Arc<str>>,
}

impl ShareFacts {
    /// Leaves what it has done, and nothing that only the one who has the share knows.
    fn leave(&mut self) {
        self.state = ShareState::Left;
        self.parked = 0;
        (self.busy_with, self.error) = (None, None);
    }

    /// Leaves the same, and the reason for which the share was halted: whoever has it next may be another process.
    pub(crate) fn halt(&mut self, reason: Arc<str>) {
        self.leave();
        self.state = ShareState::Halted;
        self.error = Some(reason);
    }
}

impl Board {
    pub(crate) fn status(&self, owner: &Arc<str>) -> ProjectionStatus {
        let facts = self.facts();
        let shares = facts.shares.iter().map(|(nr, share)| {
            let status = ShareStatus {
                state: share.state,
                handled: share.handled,
                skipped: share.skipped,
                parked: share.parked,
                reached_time: share.reached_time,
                busy_with: share.busy_with,
                since_last_turn: share.last_turn.elapsed(),
                error: share.error.clone(),
            };
            (*nr, status)
        });
        ProjectionStatus {
            paused: facts.paused,
            members: facts.members.clone(),
            owner: Arc::clone(owner),
            since_last_look: facts.last_look.map(|last| last.elapsed()),
            error: facts.error.clone(),
            shares: shares.collect(),
            halted: facts.halted.clone(),
        }
    }

    pub(crate) fn has_looked(&self, paused: bool, members: Vec<Arc<str>>) {
        let mut facts = self.facts();
        facts.last_look = Some(Instant::now());
        facts.error = None;
        (facts.paused, facts.members) = (paused, members);
    }

    pub(crate) fn cannot_look(&self, error: impl Into<Arc<str>>) {
        self.facts().error = Some(error.into());
    }

    /// Notes which shares are halted. Forgets those that are no longer there, and that one was halted if it was taken since,
    /// by whomever.
    pub(crate) fn has_shares(&self, stored: &[ShareRecord]) {
        let mut facts = self.facts();
        let halted = |(nr, share): (u16, &ShareRecord)| Some((nr, share.halted.clone()?));
        facts.halted = (0..).zip(stored).filter_map(halted).collect();
        facts.shares.retain(|nr, share| {
            let Some(stored) = stored.get(usize::from(*nr)) else {
                return false;
            };
            if share.state == ShareState::Halted && stored.epoch > share.epoch {
                share.leave();
            }
            true
        });
    }

    /// Notes that the projection was removed: it has no shares, and is no longer paused.
    pub(crate) fn is_removed(&self) {
        self.has_shares(&[]);
        let mut facts = self.facts();
        (facts.paused, facts.members) = (false, Vec::new());
    }

    pub(crate) fn takes(&self, claim: &ShareClaim) {
        let facts = ShareFacts {
            epoch: claim.epoch,
            state: ShareState::Running,
            handled: 0,
            skipped: 0,
            parked: 0,
            reached_time: None,
            busy_with: None,
            last_turn: Instant::now(),
            error: None,
        };
        self.facts().shares.insert(claim.share, facts);
    }

    /// Notes that this process no longer has a share.
    pub(crate) fn leaves(&self, share: u16) {
        self.change(share, ShareFacts::leave);
    }

    pub(crate) fn change(&self, share: u16, change: impl FnOnce(&mut ShareFacts)) {
        if let Some(facts) = self.facts().shares.get_mut(&share) {
            change(facts);
        }
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::{Progress, ProjectionKey};

    use super::*;

    const WITHIN: Duration = Duration::from_secs(30);

    /// Returns whether a process is healthy that has this share, after a time in which the offset store was heard of.
    async fn is_healthy_after(time: Duration, change: impl FnOnce(&mut ShareFacts)) -> bool {
        let board = Board::default();
        let key = ProjectionKey::new("words").unwrap();
        board.takes(&ShareClaim::new(key, 0, "one", 1));
        board.change(0, change);
        tokio::time::advance(time).await;
        board.has_looked(false, Vec::new());
        board.status(&"one".into()).is_healthy(WITHIN)
    }

    /// A daemon that lags was restarted for ever (marten#2945), and one that had died was healthy (marten#4961).
    #[tokio::test(start_paused = true)]
    async fn only_a_share_that_is_behind_and_does_not_get_on_is_unhealthy() {
        let (soon, late) = (WITHIN / 2, WITHIN * 2);
        let is_idle = |_: &mut ShareFacts| {};
        let is_busy = |share: &mut ShareFacts| share.busy_with = Some(Timestamp::MIN);
        let retries = |share: &mut ShareFacts| share.state = ShareState::Retrying;
        let is_halted = |share: &mut ShareFacts| share.state = ShareState::Halted;
        assert!(is_healthy_after(late, is_idle).await);
        // However old the events are.
        assert!(is_healthy_after(soon, is_busy).await);
        assert!(!is_healthy_after(late, is_busy).await);
        assert!(is_healthy_after(soon, retries).await);
        assert!(!is_healthy_after(late, retries).await);
        assert!(!is_healthy_after(soon, is_halted).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_halted_share_is_no_trouble_here_once_it_is_taken_again() {
        let board = Board::default();
        let key = ProjectionKey::new("words").unwrap();
        board.takes(&ShareClaim::new(key, 0, "one", 1));
        board.change(0, |share| share.state = ShareState::Halted);
        let mut stored = ShareRecord::new(Progress::new(0..=1023, ""));
        for (epoch, is_healthy) in [(1, false), (2, true)] {
            stored.epoch = epoch;
            board.has_looked(false, Vec::new());
            board.has_shares(std::slice::from_ref(&stored));
            let status = board.status(&"one".into());
            assert_eq!(status.is_healthy(WITHIN), is_healthy);
        }
    }

    #[test]
    fn a_share_that_was_left_shows_only_what_was_done_with_it() {
        let board = Board::default();
        let key = ProjectionKey::new("words").unwrap();
        board.takes(&ShareClaim::new(key, 0, "one", 1));
        board.change(0, |share| {
            (share.handled, share.skipped, share.parked) = (3, 2, 1);
            share.busy_with = Some(Timestamp::MIN);
            share.error = Some("the disk is full".into());
        });
        board.leaves(0);
        let share = &board.status(&"one".into()).shares[&0];
        assert_eq!(share.state, ShareState::Left);
        assert_eq!((share.handled, share.skipped, share.parked), (3, 2, 0));
        assert_eq!((share.busy_with, &share.error), (None, &None));
    }

    #[test]
    fn a_halted_share_shows_its_reason_and_what_was_done_with_it() {
        let board = Board::default();
        let key = ProjectionKey::new("words").unwrap();
        board.takes(&ShareClaim::new(key, 0, "one", 1));
        board.change(0, |share| {
            (share.handled, share.parked) = (3, 1);
            share.busy_with = Some(Timestamp::MIN);
        });
        board.change(0, |share| share.halt("it is too much".into()));
        let share = &board.status(&"one".into()).shares[&0];
        assert_eq!(share.state, ShareState::Halted);
        assert_eq!((share.handled, share.parked), (3, 0));
        assert_eq!(share.busy_with, None);
        assert_eq!(share.error.as_deref(), Some("it is too much"));
    }

    #[test]
    fn a_share_that_another_process_has_halted_is_shown_until_it_is_resumed() {
        let board = Board::default();
        let mut stored = [0, 1].map(|_| ShareRecord::new(Progress::new(0..=1023, "")));
        for reason in [Some("it is too much"), None] {
            stored[1].halted = reason.map(Arc::from);
            board.has_shares(&stored);
            let halted = board.status(&"one".into()).halted;
            assert_eq!(halted.get(&1).map(|reason| &**reason), reason);
            assert!(!halted.contains_key(&0));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_without_contact_to_the_offset_store_is_unhealthy() {
        let board = Board::default();
        let is_healthy = || board.status(&"one".into()).is_healthy(WITHIN);
        assert!(!is_healthy());
        board.has_looked(false, Vec::new());
        assert!(is_healthy());
        tokio::time::advance(WITHIN * 2).await;
        assert!(!is_healthy());
    }
}
