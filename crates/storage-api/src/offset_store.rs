//! The contract of a store that keeps how far projections have read.

mod division;
mod kept_text;
mod parked;
mod progress;
mod projection_key;
mod projection_record;
mod replacement;
mod share_claim;
mod share_conflict;

use std::any::Any;
use std::ops::RangeInclusive;
use std::time::Duration;

use async_trait::async_trait;

pub use division::divided;
pub use kept_text::kept_text;
pub use parked::{ParkedId, ParkedItem, ParkedRequest, Unparked};
pub use progress::{InvalidProgress, Piece, Progress, shares_of};
pub use projection_key::{InvalidProjectionKey, ProjectionKey};
pub use projection_record::{Lease, ProjectionChange, ProjectionRecord, ShareRecord};
pub use replacement::{OldVersion, Replacement, VersionConflict};
pub use share_claim::{ProgressCommit, ShareClaim, Skipped, TakenShare};
pub use share_conflict::ShareConflict;

use crate::{PersistenceId, SessionWork, StorageError};

/// Keeps how far projections have read, in the database of what they make.
///
/// A projection reads all slices in [shares](shares_of), each of which one process holds at a time. A lease says who reads
/// a share, so that others leave it alone. Safety never rests on the lease: each commit names the epoch in which its share
/// was taken and the progress on which it follows, and the store refuses any other in the same transaction.
///
/// Offsets are opaque texts to the store. All times are those of its own clock.
#[async_trait]
pub trait OffsetStore: Any + Send + Sync {
    /// Makes the store ready: opens it, creates or checks its schema.
    ///
    /// # Contract
    /// - **O-INIT-1**: The call may be repeated, even on a store that is in use; a repeated call changes nothing that is
    ///   stored.
    ///
    /// # Errors
    /// As for [`Journal::initialize`](crate::Journal::initialize).
    ///
    /// # Cancel safety
    /// Dropped, it leaves the store as before or ready; calling again finishes the work.
    async fn initialize(&self) -> Result<(), StorageError>;

    /// Makes a projection with so many equal shares, all of which begin after this offset; changes nothing if there is one.
    ///
    /// # Contract
    /// - **O-REGISTER-1**: After the call there is the projection. One that was there before is as it was, with its own
    ///   number of shares and its own progress.
    /// - **O-REGISTER-2**: If several calls make the same projection at the same time, all of them succeed.
    /// - **O-REGISTER-3**: The call makes a version live if it makes it and no version of its name is live. If several calls
    ///   make versions of one name at the same time, exactly one of them is live afterwards.
    ///
    /// # Errors
    /// The errors of the database; [`Unsupported`](crate::StorageErrorKind::Unsupported) for a number of shares that
    /// [`shares_of`] does not know.
    ///
    /// # Cancel safety
    /// Dropped, the projection is there or not.
    async fn register(
        &self,
        projection: &ProjectionKey,
        shares: u16,
        offset: &str,
    ) -> Result<(), StorageError>;

    /// Returns a projection with all of its shares as they are at one moment, and the members of that moment or of one a little
    /// later; `None` if there is none.
    ///
    /// # Contract
    /// - **O-READ-1**: The shares come in the order of their numbers, which begin at 0; their slices are those of
    ///   [`shares_of`] for their number.
    /// - **O-READ-2**: The call returns what was committed last, and changes nothing.
    ///
    /// # Errors
    /// The errors of the database; [`Corrupt`](crate::StorageErrorKind::Corrupt) if a row cannot be read.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn read(
        &self,
        projection: &ProjectionKey,
    ) -> Result<Option<ProjectionRecord>, StorageError>;

    /// Returns the projections that there are, in the order of the bytes of their names, then of their versions.
    ///
    /// # Contract
    /// - **O-KEYS-1**: The call returns each projection once, in that order, and none that was removed.
    ///
    /// # Errors
    /// The errors of the database.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn keys(&self) -> Result<Vec<ProjectionKey>, StorageError>;

    /// Notes that an owner takes part in a projection for the time of a lease from now on, renews the leases of the shares that
    /// it holds, and returns the projection as it is then.
    ///
    /// # Contract
    /// - **O-ATTEND-1**: The returned record has the owner among the members of the projection, together with all others whose
    ///   time has not passed. A time of zero has passed when the call has ended.
    /// - **O-ATTEND-2**: The leases of the owner's shares last for this time from the call on, and no other lease changes. A
    ///   share that was taken by another owner meanwhile stays theirs.
    ///
    /// # Errors
    /// The errors of the database; [`Unsupported`](crate::StorageErrorKind::Unsupported) if there is no such projection.
    ///
    /// # Cancel safety
    /// Dropped, the leases are renewed or not.
    async fn attend(
        &self,
        projection: &ProjectionKey,
        owner: &str,
        lease: Duration,
    ) -> Result<ProjectionRecord, StorageError>;

    /// Takes an owner from the members of a projection, and releases all shares that it holds.
    ///
    /// # Contract
    /// - **O-LEAVE-1**: After the call every share that the owner held can be taken at once, and the owner is no member.
    ///
    /// # Errors
    /// The errors of the database.
    ///
    /// # Cancel safety
    /// Dropped, it has left or not.
    async fn leave(&self, projection: &ProjectionKey, owner: &str) -> Result<(), StorageError>;

    /// Takes a share for an owner, for the time of a lease, and raises its epoch.
    ///
    /// # Contract
    /// - **O-TAKE-1**: The call takes a share that has no lease, one whose lease is over, and one that the owner itself holds.
    ///   It refuses one that another owner holds with a [`ShareConflict`], and changes nothing then.
    /// - **O-TAKE-2**: The new epoch is higher than every epoch that a share of the projection has had before.
    /// - **O-TAKE-3**: If several owners take a free share at the same time, exactly one of them succeeds.
    /// - **O-TAKE-4**: The call returns the progress that was committed last, how many attempts were counted since, and
    ///   whether the holder before released it.
    /// - **O-TAKE-5**: A share that is halted is not taken: the call refuses it with a [`ShareConflict`].
    /// - **O-TAKE-6**: A share of a paused projection is not taken: the call refuses it with a [`ShareConflict`]. So nothing is
    ///   stored once no share has a lease, before the projection is resumed.
    ///
    /// # Errors
    /// The errors of the database; [`Unsupported`](crate::StorageErrorKind::Unsupported) if there is no such share.
    ///
    /// # Cancel safety
    /// Dropped, the share is taken or not; taking it again is allowed.
    async fn take_share(
        &self,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError>;

    /// Releases a share, so that others can take it at once.
    ///
    /// # Contract
    /// - **O-RELEASE-1**: After the call the share can be taken at once. If it was taken by another owner, or again by this one,
    ///   the call changes nothing.
    ///
    /// # Errors
    /// The errors of the database.
    ///
    /// # Cancel safety
    /// Dropped, it is released or not.
    async fn release_share(&self, claim: &ShareClaim) -> Result<(), StorageError>;

    /// Counts an attempt to go on with a share, before it is made, and returns how many were counted since its progress has
    /// changed.
    ///
    /// # Contract
    /// - **O-ATTEMPT-1**: The first call after a commit that changes the progress returns 1, and each further one the number
    ///   before plus 1, whoever holds the share. A commit that leaves the progress as it is leaves the count;
    ///   [`Divide`](ProjectionChange::Divide) and [`SetOffset`](ProjectionChange::SetOffset) begin it again.
    /// - **O-ATTEMPT-2**: The store refuses a claim that is not the latest of its share with a [`ShareConflict`].
    ///
    /// # Errors
    /// The errors of the database.
    ///
    /// # Cancel safety
    /// Dropped, the attempt is counted or not.
    async fn count_attempt(&self, claim: &ShareClaim) -> Result<u32, StorageError>;

    /// Stores the progress of a share, with what the work does in the same transaction.
    ///
    /// # Contract
    /// - **O-COMMIT-1**: After the call has returned, the progress is durable, and so is what the work stored. If the call
    ///   fails with [`NotStored`](crate::Effect::NotStored), neither is.
    /// - **O-COMMIT-2**: The store refuses a claim that is not the latest of its share, or a progress that does not follow on
    ///   the stored one, with a [`ShareConflict`] that names both, and does not run the work.
    /// - **O-COMMIT-3**: If the work fails, nothing is stored. Its error is the source of the error.
    /// - **O-COMMIT-4**: If several calls follow on the same progress at the same time, the store stores exactly one of them,
    ///   and their works never run beside each other.
    /// - **O-COMMIT-5**: What was [skipped](ProgressCommit::skipped) is stored with the progress.
    /// - **O-COMMIT-6**: An error says that nothing is stored, or that the outcome is unknown: then
    ///   [`read`](Self::read) tells it, because nothing else commits under the same epoch.
    ///
    /// - **O-COMMIT-7**: The store adds [`handled`](ProgressCommit::handled) to the count of the share, and
    ///   [`reached_time`](ProgressCommit::reached_time) replaces the time that is stored, unless it is `None`.
    /// - **O-COMMIT-8**: Of an item and a reason that it skips or parks, the store keeps what [`kept_text`] leaves of it.
    /// - **O-PARK-1**: The store stores the [parked](ProgressCommit::parked) items with the progress. The first one of an id
    ///   that is not parked parks it, with its reason; every other one waits after those that wait already.
    /// - **O-PARK-2**: The store removes the [unparked](ProgressCommit::unparked) items with the progress, before it adds
    ///   parked ones. With its last item an id is no longer parked.
    /// - **O-PARK-3**: If the unparked items are not the first ones of their id, the store refuses the commit with a
    ///   [`ShareConflict`], and does not run the work. After an error that leaves the outcome open,
    ///   [`parked_items`](Self::parked_items) tells it.
    /// - **O-PARK-4**: The store refuses a commit that parks or unparks an id of slices that are not those of the share.
    ///
    /// # Errors
    /// The errors of the database and of the work. [`Unsupported`](crate::StorageErrorKind::Unsupported) if there is work and
    /// the store [has no transactions](Self::has_transactions), or an id belongs to another share.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    async fn commit(
        &self,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError>;

    /// Halts a share until the projection is resumed, and keeps the reason.
    ///
    /// # Contract
    /// - **O-HALT-1**: After the call the share is released, and has the reason. Nothing takes it before a
    ///   [`Resume`](ProjectionChange::Resume) or a [`SetOffset`](ProjectionChange::SetOffset), which remove the reason. After
    ///   a [`Divide`](ProjectionChange::Divide) each share with slices of a halted one is halted, with the reason of the
    ///   first of them.
    /// - **O-HALT-2**: The store refuses a claim that is not the latest of its share with a [`ShareConflict`].
    /// - **O-HALT-3**: The store keeps of the reason what [`kept_text`] leaves of it.
    /// - **O-HALT-4**: After a [`Resume`](ProjectionChange::Resume) a share that was halted has no attempts. Every other one
    ///   has those that it had.
    ///
    /// # Errors
    /// The errors of the database.
    ///
    /// # Cancel safety
    /// Dropped, the share is halted or not.
    async fn halt(&self, claim: &ShareClaim, reason: &str) -> Result<(), StorageError>;

    /// Changes a projection for all processes that run it, and even if none does.
    ///
    /// # Contract
    /// - **O-CHANGE-1**: A projection that was paused has this in its record until it is resumed. Its progress stays.
    /// - **O-CHANGE-2**: After [`SetOffset`](ProjectionChange::SetOffset) every share continues after this offset, and a
    ///   commit under a claim from before is refused.
    /// - **O-CHANGE-3**: After [`Divide`](ProjectionChange::Divide) there are so many shares, without leases, and every slice has the
    ///   progress that it had. A commit under a claim from before is refused.
    /// - **O-CHANGE-4**: After [`Remove`](ProjectionChange::Remove) nothing of the projection is there. Other projections, and
    ///   other versions of the same one, are as they were: if the version was live, none of its name is live.
    /// - **O-CHANGE-5**: [`Divide`](ProjectionChange::Divide) and [`SetOffset`](ProjectionChange::SetOffset) leave the sum of
    ///   what the shares have handled as it was. After a division the first share has the whole sum, and each one the earliest
    ///   of the times that shares with slices of its own had reached, or none if one of them had reached none. After
    ///   `SetOffset` none has reached a time.
    /// - **O-PARK-5**: [`SetOffset`](ProjectionChange::SetOffset) and [`Remove`](ProjectionChange::Remove) remove what is
    ///   parked. Every other change leaves the items that wait as they are.
    /// - **O-REQUEST-1**: After [`RequestParked`](ProjectionChange::RequestParked) the id has the request, or each id has it
    ///   that is parked then, in the place of any request before. It has it until a retry takes it away, or the id is no
    ///   longer parked.
    /// - **O-REQUEST-2**: A [`DropFirst`](ParkedRequest::DropFirst) is a [`Retry`](ParkedRequest::Retry) once the item is
    ///   removed that was the first when it was asked for.
    /// - **O-REQUEST-3**: The store refuses a request about one id that is not parked.
    /// - **O-REQUEST-4**: After [`RetryAgain`](ProjectionChange::RetryAgain) a parked id that had no request has a
    ///   [`Retry`](ParkedRequest::Retry). The call changes nothing if the id has a request, or is not parked.
    ///
    /// # Errors
    /// The errors of the database; [`Unsupported`](crate::StorageErrorKind::Unsupported) if there is no such projection or
    /// parked id, or for a number of shares that [`shares_of`] does not know.
    ///
    /// # Cancel safety
    /// Dropped, the change is made or not.
    async fn change(
        &self,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError>;

    /// Returns what the projection has skipped, the latest first, at most `limit` of it.
    ///
    /// # Contract
    /// - **O-SKIPPED-1**: The call returns what commits of this projection have skipped, the latest first and of one commit the
    ///   last first, and at most `limit` of it.
    ///
    /// # Errors
    /// The errors of the database.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn skipped(
        &self,
        projection: &ProjectionKey,
        limit: usize,
    ) -> Result<Vec<Skipped>, StorageError>;

    /// Returns the parked ids of these slices, both ends included, that come after an id, in the order of their bytes; at most
    /// `limit` of them.
    ///
    /// # Contract
    /// - **O-PARKED-1**: The call returns each parked id of the projection in these slices once, in the order of the bytes of
    ///   the ids, without those up to `after` and at most `limit` of them.
    /// - **O-PARKED-2**: Each one comes with its first item, the number of all that wait, the time at which it was parked, the
    ///   latest reason, the number of retries, and the request that is not carried out.
    ///
    /// # Errors
    /// The errors of the database; [`Corrupt`](crate::StorageErrorKind::Corrupt) if a row cannot be read.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn parked(
        &self,
        projection: &ProjectionKey,
        slices: RangeInclusive<u16>,
        after: Option<&PersistenceId>,
        limit: usize,
    ) -> Result<Vec<ParkedId>, StorageError>;

    /// Returns the first items of a parked id, at most `limit` of them; none if the id is not parked.
    ///
    /// # Contract
    /// - **O-PARKED-3**: The call returns the items in the order in which they were parked, as they were given, with places
    ///   that rise by 1 from each to the next; at most `limit` of them.
    ///
    /// # Errors
    /// The errors of the database; [`Corrupt`](crate::StorageErrorKind::Corrupt) if a row cannot be read.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn parked_items(
        &self,
        projection: &ProjectionKey,
        persistence_id: &PersistenceId,
        limit: usize,
    ) -> Result<Vec<ParkedItem>, StorageError>;

    /// Counts a retry of a parked id, before it is made, takes the request for it away, and returns how many were counted since
    /// the id was parked.
    ///
    /// # Contract
    /// - **O-RETRY-1**: The first call after an id was parked returns 1, and each further one the number before plus 1, whoever
    ///   holds the share.
    /// - **O-RETRY-2**: The call takes away a [`Retry`](ParkedRequest::Retry), and leaves every other request.
    /// - **O-RETRY-3**: The store refuses a claim that is not the latest of its share with a [`ShareConflict`]; so does
    ///   [`note_parked`](Self::note_parked).
    ///
    /// # Errors
    /// The errors of the database; [`Unsupported`](crate::StorageErrorKind::Unsupported) if the id is not parked, or belongs
    /// to another share.
    ///
    /// # Cancel safety
    /// Dropped, the retry is counted or not. Calling again counts one more, and takes away a request that is left.
    async fn begin_retry(
        &self,
        claim: &ShareClaim,
        persistence_id: &PersistenceId,
    ) -> Result<u32, StorageError>;

    /// Notes why a retry of a parked id has failed.
    ///
    /// # Contract
    /// - **O-RETRY-4**: After the call the id has this reason, of which the store keeps what [`kept_text`] leaves of it.
    ///   Everything else is as it was.
    ///
    /// # Errors
    /// As for [`begin_retry`](Self::begin_retry).
    ///
    /// # Cancel safety
    /// Dropped, the reason is noted or not.
    async fn note_parked(
        &self,
        claim: &ShareClaim,
        persistence_id: &PersistenceId,
        reason: &str,
    ) -> Result<(), StorageError>;

    /// Makes a version of a projection live in the place of another, with what the work does in the same transaction.
    ///
    /// # Contract
    /// - **O-LIVE-1**: After the call the version is live, and the old one is not: it stays, paused, with its progress, and
    ///   what the work did is stored. If the call fails with [`NotStored`](crate::Effect::NotStored), nothing of it is.
    /// - **O-LIVE-2**: The store refuses it with a [`VersionConflict`], and does not run the work, unless the old version is
    ///   live and paused, and the progress of its shares is the one that the caller has seen. Without an old version it does so
    ///   unless none of the name is live.
    /// - **O-LIVE-3**: After the call the shares of the old version are free, and a commit under a claim from before is
    ///   refused.
    /// - **O-LIVE-4**: If several calls replace the same version at the same time, exactly one of them succeeds.
    /// - **O-LIVE-5**: The store refuses versions that are not two of one name, and a version that is not there.
    ///
    /// - **O-LIVE-7**: A [`ResumeLive`](ProjectionChange::ResumeLive) lets a version go on if it is live, and changes nothing
    ///   otherwise. It waits for a replacement that is under way: after it has returned, either that is stored, or the version
    ///   is live and not paused. Shares that were halted stay so.
    ///
    /// After an error that leaves the outcome open, [`live_version`](Self::live_version) tells it, after a
    /// [`ResumeLive`](ProjectionChange::ResumeLive) of the old version for good.
    ///
    /// # Errors
    /// The errors of the database and of the work. [`Unsupported`](crate::StorageErrorKind::Unsupported) if there is work and
    /// the store [has no transactions](Self::has_transactions), for versions that are not two of one name, and if the version
    /// that is to be live is not there.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    async fn replace(
        &self,
        replacement: Replacement,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError>;

    /// Returns the version of a name that is live; `None` if none is.
    ///
    /// # Contract
    /// - **O-LIVE-6**: The call returns what was committed last. At every moment at most one version of a name is live, and
    ///   [`read`](Self::read) says the same of it.
    ///
    /// # Errors
    /// The errors of the database.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn live_version(&self, name: &str) -> Result<Option<u32>, StorageError>;

    /// Checks whether the store works again; called now and then after calls have failed, until it returns `Ok`.
    ///
    /// The default lists the projections, so a plugin need not implement it; one that can ask its database for less may.
    /// Everything else is as for [`StateStore::ping`](crate::StateStore::ping).
    ///
    /// # Errors
    /// Any kind that [counts as a failure of the store](crate::StorageErrorKind::counts_as_store_failure) means: not yet.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn ping(&self) -> Result<(), StorageError> {
        self.keys().await.map(drop)
    }

    /// Returns whether [`commit`](Self::commit) takes work: whether there is a database whose transactions it could run in.
    fn has_transactions(&self) -> bool {
        false
    }

    /// Returns the error for which the store is not ready yet, while it is made ready again and again; `None` if it is ready.
    ///
    /// For what stands in front of a store, and holds calls back or refuses them meanwhile. A store itself answers each call, and
    /// needs no such method.
    fn trouble(&self) -> Option<StorageError> {
        None
    }

    /// Closes what the store has open, after its last call.
    ///
    /// # Cancel safety
    /// Dropped, the rest closes by itself.
    async fn close(&self) {}
}

/// Fails to compile when [`OffsetStore`] is no longer object safe.
const _: Option<&dyn OffsetStore> = None;
