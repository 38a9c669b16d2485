//! The contract of a journal.

mod atomic_write;
mod bound_holder;
mod command;
mod event_queries;
mod event_record;
mod outcome;
mod purge_progress;
mod replay;
mod take_over;

use std::any::Any;

use async_trait::async_trait;

pub use atomic_write::{AtomicWrite, InvalidAtomicWrite};
pub use bound_holder::BoundHolder;
pub use command::{AnyCommand, CommandAnswer, CommandRules, CommandTurn, JournalCommand};
pub use event_queries::{EventQueries, EventSelection, EventsPage, EventsQuery, SelectedEvent};
pub use event_record::EventRecord;
pub use outcome::WriteOutcome;
pub use purge_progress::PurgeProgress;
pub use replay::{PageLimit, ReplayPage, ReplayRange};
pub use take_over::{EventDeletion, Fence, StreamHead, TakeOverRequest, TakenOver};

use crate::{
    JournalCapabilities, Operation, PersistenceId, SequenceNr, StorageError, StorageErrorKind,
};

/// Stores events by persistence id, in order, and returns them.
///
/// The journal actor in front of it takes care of initialising, retrying, batching, time-outs and the order of
/// calls for one id; a plugin takes care of storing.
/// Calls come as tasks of a multi-threaded tokio runtime that runs nothing else, several at once.
/// A panic in a method counts as a failure of unknown outcome.
///
/// *Durable* in a clause means: survives the end of the process by `kill -9`, and a crash of the machine unless the
/// plugin's documentation excludes that.
#[async_trait]
pub trait Journal: Any + Send + Sync {
    /// Makes the store ready: opens it, creates or checks its schema.
    ///
    /// # Contract
    /// - **J-INIT-1**: The call may be repeated, even on a store that is in use; a repeated call changes nothing that
    ///   is stored.
    /// - **J-INIT-2**: If several instances initialise the same store at the same time, all of them succeed.
    ///
    /// No other method is called before this one has returned `Ok`.
    ///
    /// # Errors
    /// After a kind that [`is_transient`](crate::StorageErrorKind::is_transient) the caller tries
    /// again; any other kind makes the start of the application fail.
    ///
    /// # Cancel safety
    /// Dropped, it leaves the store as before or ready; calling again finishes the work.
    async fn initialize(&self) -> Result<(), StorageError>;

    /// Returns the head of the stream of an id. A recovery begins with it if it takes the id over with its first write.
    ///
    /// # Contract
    /// - **J-HEAD-1**: The call returns the highest number ever stored, the highest deleted number and the current
    ///   epoch, all read at one moment; each is 0 for an id never seen.
    /// - **J-HEAD-2**: The call changes nothing: it raises no epoch, and leaves no trace of the id.
    /// - **J-HEAD-3**: A call sees the effect of every write and every delete that returned before the call started.
    ///
    /// # Errors
    /// Any kind; reads have no effect.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn read_head(&self, persistence_id: &PersistenceId) -> Result<StreamHead, StorageError>;

    /// Takes over several ids, each at most once, for writers that have not written yet; a store with transactions does it
    /// in one.
    ///
    /// The usual way to take an id over is its first write ([`Fence::TakesOver`](crate::Fence::TakesOver)). This call
    /// is for a caller that must be sure, before it replays, that nothing sent earlier can be stored any more.
    ///
    /// # Contract
    /// - **J-TAKEOVER-1**: The call raises the epoch of each id by at least one and returns the new epoch; the first
    ///   epoch of an id is 1.
    /// - **J-TAKEOVER-2**: The call returns the highest number ever stored and the highest deleted number of each id;
    ///   both are 0 for an id never seen.
    /// - **J-TAKEOVER-3**: After the call has returned, the store stores no write that names an older epoch, neither as
    ///   the epoch it [holds](crate::Fence::Holds) nor as the one it [takes over from](crate::Fence::TakesOver). The
    ///   returned numbers count every write that was stored before.
    /// - **J-TAKEOVER-4**: The call leaves the epochs of other ids as they are.
    /// - **J-TAKEOVER-5**: Epochs are durable: they continue to rise after the store is reopened.
    /// - **J-TAKEOVER-6**: The call returns one answer for each request, in the order of the requests; without requests
    ///   it returns no answers and does nothing.
    ///
    /// # Errors
    /// One error for all; after it any of the epochs may have been raised, which is safe.
    ///
    /// # Cancel safety
    /// As for errors.
    async fn take_over(&self, requests: &[TakeOverRequest])
    -> Result<Vec<TakenOver>, StorageError>;

    /// Stores atomic writes of one or many ids, in order within each id.
    ///
    /// A call is a batch for speed, not a transaction: each write succeeds or fails alone, as in Akka's
    /// `AsyncWriteJournal`.
    ///
    /// # Contract
    /// - **J-WRITE-1**: The call returns one outcome for each write, in the order of the writes; without writes it
    ///   returns no outcomes and does nothing.
    /// - **J-WRITE-2**: The store stores either all events of a write or none of them.
    /// - **J-WRITE-3**: A write that is `Stored` is durable, and every replay that starts afterwards sees it.
    /// - **J-WRITE-4**: A write is `Failed` and not stored if its first number is not the highest number ever stored
    ///   plus one; the error is a [`SequenceConflict`](crate::SequenceConflict) that names both writers.
    /// - **J-WRITE-5**: A write that [holds](crate::Fence::Holds) an epoch is refused as in J-WRITE-4 if that epoch is
    ///   not the current epoch of its id, or if the id has never been taken over.
    /// - **J-WRITE-6**: After the first write of an id that is not `Stored`, the later writes of that id in the same
    ///   call are `Skipped`; writes of other ids are not affected.
    /// - **J-WRITE-7**: Replay returns every field of an event unchanged; tags and metadata only if the store declares
    ///   the capability for them.
    /// - **J-WRITE-8**: A store without the capability `atomic_batches` answers a write of several events with
    ///   `Rejected` as unsupported.
    /// - **J-WRITE-9**: An event of any size is either stored whole, or `Rejected` as too large while its neighbours
    ///   are stored.
    /// - **J-WRITE-10**: The store compares ids byte by byte; calls for different ids may run at the same time.
    /// - **J-WRITE-11**: A write that [takes its id over](crate::Fence::TakesOver) is stored only if the epoch that it
    ///   names is the current epoch of the id; an id that has never been taken over has epoch 0. The store stores the
    ///   events, raises the epoch by one and records the writer, all together or not at all. It refuses any other such
    ///   write as in J-WRITE-4.
    /// - **J-WRITE-12**: If several writes take an id over from the same epoch at the same time, in one process or in
    ///   many, the store stores at most one of them.
    /// - **J-WRITE-13**: An event is `Rejected` as unsupported, while its neighbours are stored, if a tag or a manifest
    ///   of it (of the event, of the adapter, of the metadata) is longer than [`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES)
    ///   or contains NUL; [`AtomicWrite::refusal`] is this check. No other tag or manifest makes the store reject an
    ///   event.
    ///
    /// The store decides `Rejected` before it stores, from the events alone; an error of the database is always
    /// `Failed` or `Err`.
    ///
    /// # Errors
    /// With effect `NotStored`, nothing of the call is stored, and nothing of it will be. With `Unknown`, any whole
    /// write of it may be stored, now or later, as long as J-WRITE-5 allows it.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect.
    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError>;

    /// Reads one page of events.
    ///
    /// # Contract
    /// - **J-REPLAY-1**: The page holds the events of the range that are not deleted, in ascending order of their
    ///   numbers; both bounds are inclusive. It is empty for an id never seen, and if `from` is greater than `to`.
    /// - **J-REPLAY-2**: The page holds at most `max_events` events, beginning with the lowest number; 0 makes the page
    ///   empty.
    /// - **J-REPLAY-3**: The page holds at most `max_bytes` bytes, but at least one event even if that event is larger.
    /// - **J-REPLAY-4**: `more` is true exactly if the range holds stored events after the page.
    /// - **J-REPLAY-5**: `deleted_to` is the highest deleted number at the time of reading; the page holds no event up
    ///   to that number.
    /// - **J-REPLAY-6**: Even while others write, the numbers on a page have no gap, and a page holds a part of an
    ///   atomic write only if the range or a limit of the page cuts that write.
    /// - **J-REPLAY-7**: The call changes nothing: it raises no epoch, and leaves no trace of the id.
    ///
    /// # Errors
    /// [`Corrupt`](crate::StorageErrorKind::Corrupt) if an event of the page cannot be read; events are never left out.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn replay_messages(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError>;

    /// Reads the highest sequence number that was ever stored for the id. The default takes it from
    /// [`read_head`](Self::read_head).
    ///
    /// # Contract
    /// - **J-HIGHEST-1**: The returned number counts deleted events, too; it is 0 for an id never seen.
    /// - **J-HIGHEST-3**: The number never decreases, not even after the store is reopened; only [`purge`](Self::purge)
    ///   lowers it.
    ///
    /// # Errors
    /// Any kind; reads have no effect.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn read_highest_sequence_nr(
        &self,
        persistence_id: &PersistenceId,
    ) -> Result<SequenceNr, StorageError> {
        match self.read_head(persistence_id).await {
            Ok(head) => Ok(head.highest_sequence_nr),
            Err(error) => Err(error.with_operation(Operation::ReadHighestSequenceNr)),
        }
    }

    /// Deletes the events of the id up to `deletion.to`, inclusive.
    ///
    /// # Contract
    /// - **J-DELETE-1**: After the call has returned, no replay returns an event up to `deletion.to`; events with
    ///   higher numbers stay.
    /// - **J-DELETE-2**: The call raises `deleted_to` to `deletion.to`, but not above the highest number ever stored;
    ///   it never lowers `deleted_to`.
    /// - **J-DELETE-3**: The store keeps the highest number, even if every event is deleted and the store is reopened,
    ///   so that no number is used twice; only [`purge`](Self::purge) clears it.
    /// - **J-DELETE-4**: The call succeeds for an id never seen, and leaves no trace of it.
    /// - **J-DELETE-5**: The delete is durable.
    /// - **J-DELETE-6**: The call may run while others write and replay the id; each of them sees either the whole
    ///   delete or nothing of it.
    /// - **J-DELETE-7**: If the deletion names an epoch that is not the current epoch of the id, the call fails with a
    ///   [`SequenceConflict`](crate::SequenceConflict) and deletes nothing.
    ///
    /// The store may remove rows later, if no replay shows them.
    ///
    /// # Errors
    /// With effect `Unknown` the delete may have happened; repeating it is safe.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect.
    async fn delete_messages_to(
        &self,
        persistence_id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError>;

    /// Deletes every event of the id and lets its numbers start again at 1; for tools, while no writer writes to it.
    ///
    /// Does a bounded part of the work, so that other ids need not wait for a long stream; the caller calls again until
    /// it returns [`PurgeProgress::Done`]. The promises of other methods about numbers *ever stored* begin anew with a
    /// purge.
    ///
    /// # Contract
    /// - **J-PURGE-1**: After the first call has returned, no replay returns an event that was stored before that call;
    ///   a replay that runs at the same time sees either the whole purge or nothing of it.
    /// - **J-PURGE-2**: Repeated calls reach `Done`, even if the process restarts between them, unless others write the
    ///   id meanwhile; until then the store keeps the highest number.
    /// - **J-PURGE-3**: After `Done`, the highest number and the highest deleted number are 0, and the next event gets
    ///   number 1.
    /// - **J-PURGE-4**: The store keeps the epoch, which continues to rise: after `Done`, it still refuses every writer
    ///   that took the id over before the purge.
    /// - **J-PURGE-5**: The call returns `Done` for an id never seen, and leaves no trace of it; other ids are not
    ///   affected.
    /// - **J-PURGE-6**: The purge is durable.
    /// - **J-PURGE-7**: A store without the capability `purge` refuses the call as unsupported, and changes nothing.
    ///
    /// # Errors
    /// With effect `Unknown` any part may have happened; repeating it is safe.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect.
    async fn purge(&self, persistence_id: &PersistenceId) -> Result<PurgeProgress, StorageError> {
        let message = "this journal cannot purge an id; delete its events, which keeps its numbers";
        Err(
            StorageError::new(StorageErrorKind::Unsupported, Operation::Purge)
                .not_stored()
                .with_persistence_id(persistence_id.clone())
                .with_message(message),
        )
    }

    /// Carries a command of the plugin's own out, and returns its answer; `None` if the journal does not know the type of the
    /// command, which is what the default does. The caller refuses it then, by its name and that of the plugin.
    ///
    /// It is called when the [turn](crate::CommandTurn) of the command has come. A journal around another one passes on
    /// what it does not know.
    ///
    /// ```
    /// # use actix_persistence_storage_api::{AnyCommand, CommandAnswer, CommandRules, JournalCommand, StorageError};
    /// # struct Compact;
    /// # impl JournalCommand for Compact {
    /// #     type Answer = u64;
    /// #     fn rules(&self) -> CommandRules { CommandRules::alone() }
    /// # }
    /// # struct MyJournal;
    /// # impl MyJournal {
    /// # async fn compact(&self) -> Result<u64, StorageError> { Ok(0) }
    /// async fn run_command(&self, command: &AnyCommand) -> Result<Option<CommandAnswer>, StorageError> {
    ///     if let Some(compact) = command.get::<Compact>() {
    ///         return Ok(Some(CommandAnswer::to(compact, self.compact().await?)));
    ///     }
    ///     Ok(None)
    /// }
    /// # }
    /// ```
    ///
    /// # Contract
    /// - **J-COMMAND-1**: The call returns `None` for a command of a type that the journal does not know.
    /// - **J-COMMAND-2**: A call that returns `None` changes nothing: no event, no number and no epoch.
    ///
    /// The plugin says what its commands do beside the other methods; they must leave the promises of those true.
    ///
    /// # Errors
    /// Any kind, with the operation of the command's [turn](Operation::of_command). With effect `Unknown` the command may
    /// have been carried out, now or later.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect; a command that changes nothing has no effect that could be lost.
    async fn run_command(
        &self,
        _command: &AnyCommand,
    ) -> Result<Option<CommandAnswer>, StorageError> {
        Ok(None)
    }

    /// Checks whether the journal works again; called now and then after calls have failed, until it returns `Ok`.
    ///
    /// Waiting actors go on as soon as it does. The default looks at an id that is never used, so a plugin
    /// need not implement it; one that can ask its database for less may. It must really ask: an answer from memory sends
    /// waiting actors to a database that is away. It changes nothing, no circuit breaker counts it, and it may be called
    /// beside calls that hang.
    ///
    /// # Errors
    /// Any kind that [counts as a failure of the store](crate::StorageErrorKind::counts_as_store_failure) means that it
    /// does not work yet.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn ping(&self) -> Result<(), StorageError> {
        self.read_head(&PersistenceId::nobodys()).await.map(drop)
    }

    /// Closes what is open: connections, files. Called when an application stops, after everything else was answered.
    ///
    /// Changes nothing that is stored. The journal can be used on, which opens it again; a call that is under way is waited
    /// for, or is not disturbed. A journal in files leaves them as a copy of them should find them.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn close(&self) {}

    /// Returns the queries over the events of all ids; `None` if the journal has none, which is the default.
    fn event_queries(&self) -> Option<&dyn EventQueries> {
        None
    }

    /// Returns what this journal can do, the same for its whole life. The default declares nothing optional.
    fn capabilities(&self) -> JournalCapabilities {
        JournalCapabilities::default()
    }
}

/// Fails to compile when [`Journal`] is no longer object safe.
const _: Option<&dyn Journal> = None;
