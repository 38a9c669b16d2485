//! Defects of offset stores.

mod commits;
mod parked;
mod projections;
mod shares;
mod versions;

pub(crate) use commits::*;
pub(crate) use parked::*;
pub(crate) use projections::*;
pub(crate) use shares::*;
pub(crate) use versions::*;

/// Defines a defect without state in one method.
macro_rules! defect {
    ($(#[$doc:meta])* $name:ident, initialize($inner:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, initialize($inner: &dyn OffsetStore) -> (), $body);
    };
    ($(#[$doc:meta])* $name:ident, register($inner:ident, $projection:ident, $share:ident, $text:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, register($inner: &dyn OffsetStore, $projection: &ProjectionKey, $share: u16, $text: &str) -> (), $body);
    };
    ($(#[$doc:meta])* $name:ident, read($inner:ident, $projection:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, read($inner: &dyn OffsetStore, $projection: &ProjectionKey) -> Option<ProjectionRecord>, $body);
    };
    ($(#[$doc:meta])* $name:ident, keys($inner:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, keys($inner: &dyn OffsetStore) -> Vec<ProjectionKey>, $body);
    };
    ($(#[$doc:meta])* $name:ident, attend($inner:ident, $projection:ident, $text:ident, $lease:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, attend($inner: &dyn OffsetStore, $projection: &ProjectionKey, $text: &str, $lease: Duration) -> ProjectionRecord, $body);
    };
    ($(#[$doc:meta])* $name:ident, leave($inner:ident, $projection:ident, $text:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, leave($inner: &dyn OffsetStore, $projection: &ProjectionKey, $text: &str) -> (), $body);
    };
    ($(#[$doc:meta])* $name:ident, take_share($inner:ident, $projection:ident, $share:ident, $text:ident, $lease:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, take_share($inner: &dyn OffsetStore, $projection: &ProjectionKey, $share: u16, $text: &str, $lease: Duration) -> TakenShare, $body);
    };
    ($(#[$doc:meta])* $name:ident, release_share($inner:ident, $claim:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, release_share($inner: &dyn OffsetStore, $claim: &ShareClaim) -> (), $body);
    };
    ($(#[$doc:meta])* $name:ident, count_attempt($inner:ident, $claim:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, count_attempt($inner: &dyn OffsetStore, $claim: &ShareClaim) -> u32, $body);
    };
    ($(#[$doc:meta])* $name:ident, commit($inner:ident, $commit:ident, $work:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, commit($inner: &dyn OffsetStore, $commit: ProgressCommit, $work: Option<SessionWork>) -> (), $body);
    };
    ($(#[$doc:meta])* $name:ident, halt($inner:ident, $claim:ident, $text:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, halt($inner: &dyn OffsetStore, $claim: &ShareClaim, $text: &str) -> (), $body);
    };
    ($(#[$doc:meta])* $name:ident, change($inner:ident, $projection:ident, $change:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, change($inner: &dyn OffsetStore, $projection: &ProjectionKey, $change: ProjectionChange) -> (), $body);
    };
    ($(#[$doc:meta])* $name:ident, skipped($inner:ident, $projection:ident, $limit:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, skipped($inner: &dyn OffsetStore, $projection: &ProjectionKey, $limit: usize) -> Vec<Skipped>, $body);
    };
    ($(#[$doc:meta])* $name:ident, parked($inner:ident, $projection:ident, $slices:ident, $after:ident, $limit:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, parked($inner: &dyn OffsetStore, $projection: &ProjectionKey, $slices: RangeInclusive<u16>, $after: Option<&PersistenceId>, $limit: usize) -> Vec<ParkedId>, $body);
    };
    ($(#[$doc:meta])* $name:ident, parked_items($inner:ident, $projection:ident, $id:ident, $limit:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, parked_items($inner: &dyn OffsetStore, $projection: &ProjectionKey, $id: &PersistenceId, $limit: usize) -> Vec<ParkedItem>, $body);
    };
    ($(#[$doc:meta])* $name:ident, begin_retry($inner:ident, $claim:ident, $id:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, begin_retry($inner: &dyn OffsetStore, $claim: &ShareClaim, $id: &PersistenceId) -> u32, $body);
    };
    ($(#[$doc:meta])* $name:ident, note_parked($inner:ident, $claim:ident, $id:ident, $text:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, note_parked($inner: &dyn OffsetStore, $claim: &ShareClaim, $id: &PersistenceId, $text: &str) -> (), $body);
    };
    ($(#[$doc:meta])* $name:ident, replace($inner:ident, $replacement:ident, $work:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, replace($inner: &dyn OffsetStore, $replacement: Replacement, $work: Option<SessionWork>) -> (), $body);
    };
    ($(#[$doc:meta])* $name:ident, live_version($inner:ident, $text:ident) $body:block) => {
        defect!(@ $(#[$doc])* $name, live_version($inner: &dyn OffsetStore, $text: &str) -> Option<u32>, $body);
    };
    (@ $(#[$doc:meta])* $name:ident, $method:ident($($args:tt)*) -> $value:ty, $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl OffsetDefect for $name {
            async fn $method(&self, $($args)*) -> Result<$value, StorageError> $body
        }
    };
}

use defect;
