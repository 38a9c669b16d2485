//! The contract of a journal.

use std::any::Any;

use async_trait::async_trait;

use crate::{
    AtomicWrite, EventDeletion, JournalCapabilities, Operation, PageLimit, PersistenceId,
    Recovered, RecoveryRequest, ReplayPage, ReplayRange, ResetProgress, SequenceNr, StorageError,
    StorageErrorKind, StreamHead, WriteOutcome, WriterId,
};

/// Stores events by persistence id, in order, and gives them back.
///
/// The journal actor in front of it takes care of initialising, retrying, batching, time-outs and the order of
/// calls for one id; a plugin takes care of storing.
/// Calls come as tasks of a multi-threaded tokio runtime that runs nothing else, several at once.
/// A panic in a method counts as a failure of unknown outcome.
///
/// Where a clause says *durable* it means: survives the end of the process by `kill -9`, and of the machine if the
/// plugin's documentation does not take that back.
#[async_trait]
pub trait Journal: Any + Send + Sync {
    /// Makes the store ready: opens it, creates or checks its schema.
    ///
    /// # Contract
    /// - **J-INIT-1**: may be called again, also on a store in use, and then changes nothing that is stored.
    /// - **J-INIT-2**: when several instances initialise the same store at once, all of them succeed.
    ///
    /// No other method is called before this one has returned `Ok`.
    ///
    /// # Errors
    /// Kinds that [`is_curable_by_waiting`](crate::StorageErrorKind::is_curable_by_waiting) make the caller try again,
    /// all others make the application's start fail.
    ///
    /// # Cancel safety
    /// When dropped, the store is as before or ready; calling again finishes the work.
    async fn initialize(&self) -> Result<(), StorageError>;

    /// Tells where an id stands: what a recovery begins with that takes the id over with its first write.
    ///
    /// # Contract
    /// - **J-HEAD-1**: gives the highest number ever stored, the highest deleted one and the present epoch, all as of one
    ///   moment; 0 for an id never seen.
    /// - **J-HEAD-2**: changes nothing: raises no epoch, and leaves no trace of an id.
    /// - **J-HEAD-3**: what a write or a delete that has returned did is seen by every look that starts afterwards.
    ///
    /// # Errors
    /// Any kind; reads have no effect.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn read_head(&self, persistence_id: &PersistenceId) -> Result<StreamHead, StorageError>;

    /// Takes over `persistence_id` for `writer` before it writes.
    ///
    /// The usual way to take an id over is its first write ([`Fence::TakesOver`](crate::Fence::TakesOver)). This one is
    /// for whoever must be sure, before it replays, that nothing sent earlier can be stored any more.
    ///
    /// # Contract
    /// - **J-RECOVER-1**: raises the epoch of the id by at least one and returns it; the first is 1.
    /// - **J-RECOVER-2**: returns the highest number ever stored and the highest deleted one; 0 for an id never seen.
    /// - **J-RECOVER-3**: from its return on no write that carries an older epoch is stored, held or to be taken over from;
    ///   one that was stored before is counted in what is returned.
    /// - **J-RECOVER-4**: the epochs of other ids stay as they are.
    /// - **J-RECOVER-5**: epochs are durable: they go on rising after the store is opened again.
    ///
    /// # Errors
    /// A failed call may or may not have raised the epoch; both are safe.
    ///
    /// # Cancel safety
    /// As for errors.
    async fn recover(
        &self,
        persistence_id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError>;

    /// Takes over several ids in one call, each at most once; a store with transactions does it in one.
    ///
    /// # Contract
    /// - **J-RECOVER-6**: the same as [`recover`](Self::recover) for each request, answered in the order of the requests.
    ///
    /// # Errors
    /// As for [`recover`](Self::recover): one error for all, after which any of the epochs may have been raised.
    ///
    /// # Cancel safety
    /// As for [`recover`](Self::recover).
    async fn recover_many(
        &self,
        requests: &[RecoveryRequest],
    ) -> Result<Vec<Recovered>, StorageError> {
        let mut recovered = Vec::with_capacity(requests.len());
        for request in requests {
            recovered.push(
                self.recover(&request.persistence_id, request.writer)
                    .await?,
            );
        }
        Ok(recovered)
    }

    /// Stores atomic writes of one or many ids, in order within each id.
    ///
    /// A call is a batch for speed, not a transaction: each write stands or falls alone, as in Akka's `AsyncWriteJournal`.
    ///
    /// # Contract
    /// - **J-WRITE-1**: gives one outcome per write, in order; for no writes it gives none and does nothing.
    /// - **J-WRITE-2**: stores all events of a write or none.
    /// - **J-WRITE-3**: what is `Stored` is durable, and seen by every replay that starts afterwards.
    /// - **J-WRITE-4**: a write whose first number is not the highest ever stored plus one is `Failed` with a
    ///   [`SequenceConflict`](crate::SequenceConflict) that names both writers, and not stored.
    /// - **J-WRITE-5**: a write that [holds](crate::Fence::Holds) another epoch than the present one of its id is refused
    ///   the same way; so is one of an id that nobody has taken over.
    /// - **J-WRITE-6**: after the first write of an id that is not `Stored`, later ones of that id in the call are
    ///   `Skipped`; other ids are not affected.
    /// - **J-WRITE-7**: every field of an event comes back from replay unchanged; tags and metadata only where the
    ///   capability is declared.
    /// - **J-WRITE-8**: without the capability `atomic_batches`, a write of several events is `Rejected` as unsupported.
    /// - **J-WRITE-9**: an event of any size is stored whole, or `Rejected` as too large with its neighbours stored.
    /// - **J-WRITE-10**: ids are compared byte by byte, and calls for different ids may run at the same time.
    /// - **J-WRITE-11**: a write that [takes its id over](crate::Fence::TakesOver) is stored only if the present epoch is the
    ///   one it names, 0 for an id that nobody has taken over; the epoch is raised by one, and the writer noted, together
    ///   with its events or not at all. Otherwise it is refused as in J-WRITE-4.
    /// - **J-WRITE-12**: of several writes that take an id over from one epoch, at the same time from anywhere, at most one
    ///   is stored.
    /// - **J-WRITE-13**: an event with a tag or a manifest (its own, the adapter's, that of the metadata) of more than
    ///   [`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES), or with NUL in one, is `Rejected` as unsupported with its neighbours
    ///   stored, as [`AtomicWrite::refusal`] says; any other is stored.
    ///
    /// `Rejected` is decided before storing, from the events alone; trouble with the database is always `Failed` or `Err`.
    ///
    /// # Errors
    /// With effect `NotStored` nothing of the call is stored, nor ever will be; with `Unknown` any whole write may be,
    /// now or later, as long as J-WRITE-5 allows.
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
    /// - **J-REPLAY-1**: gives the events of the range that are not deleted, ascending by number, bounds inclusive;
    ///   none for an id never seen or for `from` above `to`.
    /// - **J-REPLAY-2**: gives at most `max_events`, from the lowest on; 0 gives none.
    /// - **J-REPLAY-3**: gives at most `max_bytes`, but never an empty page for that reason.
    /// - **J-REPLAY-4**: `more` is true exactly if stored events of the range remain after the page.
    /// - **J-REPLAY-5**: `deleted_to` is the highest deleted number at the time of reading; no event up to it is given.
    /// - **J-REPLAY-6**: while others write, a page shows no gap and no half of an atomic write other than by its own limits.
    /// - **J-REPLAY-7**: changes nothing: raises no epoch and leaves no trace of an id.
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

    /// Reads the highest sequence number that was ever stored for the id.
    ///
    /// # Contract
    /// - **J-HIGHEST-1**: counts deleted events; 0 for an id never seen.
    /// - **J-HIGHEST-2**: `from` is a hint that no lower number need be looked at; up to the highest, it does not
    ///   change the answer.
    /// - **J-HIGHEST-3**: never sinks but by [`reset`](Self::reset), also when the store is opened again.
    ///
    /// # Errors
    /// Any kind; reads have no effect.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn read_highest_sequence_nr(
        &self,
        persistence_id: &PersistenceId,
        from: SequenceNr,
    ) -> Result<SequenceNr, StorageError>;

    /// Deletes the events of the id up to `deletion.to`, inclusive.
    ///
    /// # Contract
    /// - **J-DELETE-1**: from its return on no replay gives an event up to that number; the others stay.
    /// - **J-DELETE-2**: raises `deleted_to` to the lower of that number and the highest number ever stored, and never lowers it.
    /// - **J-DELETE-3**: keeps the highest number, so that none is ever used again, also after everything was
    ///   deleted and the store opened again; only [`reset`](Self::reset) forgets it.
    /// - **J-DELETE-4**: succeeds for an id never seen, and leaves no trace of it.
    /// - **J-DELETE-5**: is durable.
    /// - **J-DELETE-6**: may run while others write and replay the id; they see all or nothing of it.
    /// - **J-DELETE-7**: with an epoch that is not the present one of the id, fails with a
    ///   [`SequenceConflict`](crate::SequenceConflict) and deletes nothing.
    ///
    /// Rows may be removed later; what counts is what replays show.
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

    /// Deletes every event of the id and lets its numbers start again at 1; for tools, while nobody writes to it.
    ///
    /// Does a bounded part of the work, so that other ids need not wait for a long stream; the caller calls again until
    /// it gives [`ResetProgress::Done`]. What other methods promise about numbers *ever stored* begins anew with a reset.
    ///
    /// # Contract
    /// - **J-RESET-1**: from the first return on no replay gives an event that was stored before the call; a replay
    ///   under way sees all or nothing of it.
    /// - **J-RESET-2**: calls that follow each other come to `Done`, also after a restart in between, unless others write
    ///   meanwhile; until then the highest number is kept.
    /// - **J-RESET-3**: after `Done` the highest and the deleted number are 0, and the next number to be stored is 1.
    /// - **J-RESET-4**: epochs are kept and go on rising: after `Done`, no write is stored of whoever recovered the id
    ///   before.
    /// - **J-RESET-5**: gives `Done` for an id never seen, and leaves no trace of it; other ids are not affected.
    /// - **J-RESET-6**: is durable.
    /// - **J-RESET-7**: without the capability `reset`, is refused as unsupported, and changes nothing.
    ///
    /// # Errors
    /// With effect `Unknown` any part may have happened; repeating it is safe.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect.
    async fn reset(&self, persistence_id: &PersistenceId) -> Result<ResetProgress, StorageError> {
        let message = "this journal cannot reset numbers; keep them and delete the events only";
        Err(
            StorageError::new(StorageErrorKind::Unsupported, Operation::Reset)
                .not_stored()
                .with_persistence_id(persistence_id.clone())
                .with_message(message),
        )
    }

    /// Tells whether the journal works again: called now and then after calls have failed, until it gives `Ok`.
    ///
    /// Waiting actors go on as soon as it does. The default looks at an id that nobody uses, so a plugin
    /// need not implement it; one that can ask its database for less may. It must really ask: an answer from memory sends
    /// waiting actors to a database that is away. It changes nothing, no circuit breaker counts it, and it may be called
    /// beside calls that hang.
    ///
    /// # Errors
    /// Any kind that [counts as a failure of the store](crate::StorageErrorKind::counts_as_store_failure) means: not yet.
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

    /// What this journal can do; constant over its life. The default declares nothing optional.
    fn capabilities(&self) -> JournalCapabilities {
        JournalCapabilities::default()
    }
}

/// Fails to compile when [`Journal`] is no longer object safe.
const _: Option<&dyn Journal> = None;
