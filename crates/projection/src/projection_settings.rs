//! The settings of a projection.

use std::time::Duration;

/// The sizes, times and rules by which a projection reads, groups and shares its work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProjectionSettings {
    /// The number of shares with which the projection is made, from 1 to 1,024. One that is there keeps its own; see
    /// [`Projection::divide`](crate::StoredProjection::divide).
    pub shares: u16,
    /// The most items of one transaction, from 1. What is there is taken at once, up to this number.
    pub group_size: usize,
    /// The time for which a group waits for further items until it is full; zero to wait for none.
    pub group_within: Duration,
    /// The number of ids that an at-least-once handler gets at the same time, in each share.
    pub concurrency: usize,
    /// The time after which the others may take the shares of a process that is not heard of.
    pub lease: Duration,
    /// The rule for an item for which the handler fails.
    pub on_failure: OnFailure,
    /// The most persistence ids of a share that may be parked at the same time; one more halts the share. Each is kept in
    /// memory by the process that has the share.
    pub max_parked_ids: usize,
    /// The number of attempts at an item before that is done, at least 1; of those that fail together, each has so many
    /// alone. Each is counted before it is made, so that one which a stop or a failure prevented counts as well.
    pub max_attempts: u32,
    /// The delay after a failure, which doubles each time.
    pub min_back_off: Duration,
    /// The longest delay after a failure.
    pub max_back_off: Duration,
    /// The time after which progress is stored that brought no items.
    pub idle_progress: Duration,
}

/// The rule of a projection for an item for which its handler fails each time.
///
/// Attempts are counted in the database, before they are made, so that an item that ends the process is found, too. A
/// database that is not available is no failure of the handler: it is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFailure {
    /// Halts the share before the item, with the reason, until somebody [resumes](crate::StoredProjection::resume) the projection.
    /// The other shares go on.
    #[default]
    Stop,
    /// Goes on after the item, and writes down what was skipped, in the same transaction as the progress.
    Skip,
    /// Parks the id of the item, in the same transaction as the progress: the item and all later ones of that id wait in their
    /// order in the offset store, and other ids go on.
    ///
    /// They wait until somebody [retries](crate::StoredProjection::retry) or [drops](crate::StoredProjection::drop_first) them. An id that
    /// was parked stays so if the rule is changed later.
    Park,
}

impl Default for ProjectionSettings {
    /// Returns 1 share, groups of what is there up to 100, 8 ids at a time, a lease of 10 s, `Stop` after 5 attempts, 100
    /// parked ids, delays from 200 ms to 30 s, and 1 s for progress without items.
    fn default() -> Self {
        Self {
            shares: 1,
            group_size: 100,
            group_within: Duration::ZERO,
            concurrency: 8,
            lease: Duration::from_secs(10),
            on_failure: OnFailure::Stop,
            max_parked_ids: 100,
            max_attempts: 5,
            min_back_off: Duration::from_millis(200),
            max_back_off: Duration::from_secs(30),
            idle_progress: Duration::from_secs(1),
        }
    }
}
