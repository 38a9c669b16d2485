//! Ways for a journal to break the contract.

mod commanding;
mod deleting;
mod fencing;
mod identity;
mod purging;
mod querying_events;
mod querying_ids;
mod reading;
mod restarting;
mod taking_over;
mod writing;

pub(crate) use commanding::*;
pub(crate) use deleting::*;
pub(crate) use fencing::*;
pub(crate) use identity::*;
pub(crate) use purging::*;
pub(crate) use querying_events::*;
pub(crate) use querying_ids::*;
pub(crate) use reading::*;
pub(crate) use restarting::*;
pub(crate) use taking_over::*;
pub(crate) use writing::*;

/// Defines a defect without state in one method.
macro_rules! defect {
    ($(#[$doc:meta])* $name:ident, replay($inner:ident, $id:ident, $range:ident, $page:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl JournalDefect for $name {
            async fn replay(
                &self,
                $inner: &MemoryJournal,
                $id: &PersistenceId,
                $range: ReplayRange,
                $page: PageLimit,
            ) -> Result<ReplayPage, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, highest($inner:ident, $id:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl JournalDefect for $name {
            async fn highest(
                &self,
                $inner: &MemoryJournal,
                $id: &PersistenceId,
            ) -> Result<SequenceNr, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, head($inner:ident, $id:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl JournalDefect for $name {
            async fn head(
                &self,
                $inner: &MemoryJournal,
                $id: &PersistenceId,
            ) -> Result<StreamHead, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, take_over($inner:ident, $id:ident, $writer:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl JournalDefect for $name {
            async fn take_over(
                &self,
                $inner: &MemoryJournal,
                $id: &PersistenceId,
                $writer: WriterId,
            ) -> Result<TakenOver, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, write($inner:ident, $writes:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl JournalDefect for $name {
            async fn write(
                &self,
                $inner: &MemoryJournal,
                $writes: Vec<AtomicWrite>,
            ) -> Result<Vec<WriteOutcome>, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, delete($inner:ident, $id:ident, $deletion:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl JournalDefect for $name {
            async fn delete(
                &self,
                $inner: &MemoryJournal,
                $id: &PersistenceId,
                $deletion: EventDeletion,
            ) -> Result<(), StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, purge($inner:ident, $id:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl JournalDefect for $name {
            async fn purge(
                &self,
                $inner: &MemoryJournal,
                $id: &PersistenceId,
            ) -> Result<PurgeProgress, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, command($inner:ident, $command:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl JournalDefect for $name {
            async fn command(
                &self,
                $inner: &MemoryJournal,
                $command: &AnyCommand,
            ) -> Result<Option<CommandAnswer>, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, ids($inner:ident, $query:pat_param) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl JournalDefect for $name {
            fn has_queries(&self) -> bool {
                true
            }

            async fn ids(
                &self,
                $inner: &MemoryJournal,
                $query: PersistenceIdsQuery,
            ) -> Result<Vec<PersistenceId>, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, events($inner:ident, $query:pat_param) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl JournalDefect for $name {
            fn has_queries(&self) -> bool {
                true
            }

            async fn events(
                &self,
                $inner: &MemoryJournal,
                $query: EventsQuery,
            ) -> Result<EventsPage, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, newest($inner:ident, $selection:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl JournalDefect for $name {
            fn has_queries(&self) -> bool {
                true
            }

            async fn newest(
                &self,
                $inner: &MemoryJournal,
                $selection: &EventSelection,
            ) -> Result<EventOffset, StorageError> $body
        }
    };
    ($(#[$doc:meta])* $name:ident, place($inner:ident, $id:ident, $number:ident) $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name;

        #[async_trait]
        impl JournalDefect for $name {
            fn has_queries(&self) -> bool {
                true
            }

            async fn place(
                &self,
                $inner: &MemoryJournal,
                $id: &PersistenceId,
                $number: SequenceNr,
            ) -> Result<Option<EventOffset>, StorageError> $body
        }
    };
}

use defect;
