//! The journal in a folder of files.

use std::fmt;
use std::sync::{Arc, OnceLock};

use actix_persistence_storage_api::{
    AnyCommand, AtomicWrite, CommandAnswer, EventDeletion, Journal, JournalCapabilities, Operation,
    PageLimit, PersistenceId, PurgeProgress, ReplayPage, ReplayRange, StorageError, StreamHead,
    TakeOverRequest, TakenOver, WriteOutcome,
};
use async_trait::async_trait;

use crate::blocking::blocking;
use crate::directory::Directory;
use crate::failure::Failure;
use crate::file_options::MAX_PAYLOAD_BYTES;
use crate::index::Stream;
use crate::log::Log;
use crate::record::Record;
use crate::write_batch::decide;
use crate::{FileOptions, LogSize};

// ANCHOR: file_journal
/// A journal in an append-only file.
///
/// Deleted events are never given again, but stay in the file: it only grows.
/// The index of all ids, a few words per atomic write, is in memory.
pub struct FileJournal {
    options: FileOptions,
    /// Open from `initialize` on.
    directory: OnceLock<Arc<Directory>>,
}
// ANCHOR_END: file_journal

impl FileJournal {
    /// A journal in a directory, which is opened or created when it is initialised.
    pub fn new(options: FileOptions) -> Self {
        Self {
            options,
            directory: OnceLock::new(),
        }
    }

    // ANCHOR: on_log
    /// Works on the log, alone, where it may block.
    async fn on_log<T: Send + 'static>(
        &self,
        operation: Operation,
        work: impl FnOnce(&mut Log) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StorageError> {
        let directory =
            Directory::opened(&self.directory).map_err(|failure| failure.of(operation))?;
        // Kept until the work is done: a call that is dropped before its turn never begins, and one that is dropped
        // later ends before the next one begins. Threads alone would let a dropped call overtake.
        let turn = directory.log_turn().await;
        blocking(operation, move || {
            let _turn = turn;
            directory.with_log(work)
        })
        .await
    }
    // ANCHOR_END: on_log
}

impl fmt::Debug for FileJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileJournal")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Journal for FileJournal {
    // ANCHOR: initialize
    async fn initialize(&self) -> Result<(), StorageError> {
        let options = self.options.clone();
        let directory = blocking(Operation::Initialize, move || {
            let directory = Directory::open(&options.directory, options.sync)?;
            directory.open_log(options.sync)?;
            Ok(directory)
        })
        .await?;
        // Called again, it was the same directory.
        self.directory.get_or_init(|| directory);
        Ok(())
    }
    // ANCHOR_END: initialize

    // ANCHOR: read_head
    async fn read_head(&self, persistence_id: &PersistenceId) -> Result<StreamHead, StorageError> {
        let id = persistence_id.clone();
        self.on_log(Operation::ReadHead, move |log| {
            let head = |stream: &Stream| StreamHead {
                highest_sequence_nr: stream.highest,
                deleted_to: stream.deleted_to,
                epoch: stream.epoch,
                holds_changes: false,
            };
            Ok(log.index().get(&id).map(head).unwrap_or_default())
        })
        .await
    }
    // ANCHOR_END: read_head

    // ANCHOR: take_over
    async fn take_over(
        &self,
        requests: &[TakeOverRequest],
    ) -> Result<Vec<TakenOver>, StorageError> {
        let requests = requests.to_vec();
        let sync = self.options.sync;
        self.on_log(Operation::TakeOver, move |log| {
            let mut taken = Vec::with_capacity(requests.len());
            let mut records = Vec::with_capacity(requests.len());
            for TakeOverRequest {
                persistence_id: id,
                writer,
            } in requests
            {
                let stream = log.index().get(&id);
                let epoch = stream.map_or(0, |stream| stream.epoch) + 1;
                taken.push(TakenOver {
                    highest_sequence_nr: stream.map_or(0, |stream| stream.highest),
                    deleted_to: stream.map_or(0, |stream| stream.deleted_to),
                    epoch,
                });
                records.push(Record::TakenOver { id, epoch, writer });
            }
            log.append(&records, sync)?;
            Ok(taken)
        })
        .await
    }
    // ANCHOR_END: take_over

    // ANCHOR: write_messages
    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let sync = self.options.sync;
        self.on_log(Operation::WriteMessages, move |log| {
            let (outcomes, records) = decide(log.index(), writes);
            log.append(&records, sync)?;
            Ok(outcomes)
        })
        .await
    }
    // ANCHOR_END: write_messages

    // ANCHOR: replay_messages
    async fn replay_messages(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let id = persistence_id.clone();
        self.on_log(Operation::ReplayMessages, move |log| {
            log.page(&id, range, page)
        })
        .await
        .map_err(|error| error.with_persistence_id(persistence_id.clone()))
    }
    // ANCHOR_END: replay_messages

    // ANCHOR: delete_messages_to
    async fn delete_messages_to(
        &self,
        persistence_id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        let id = persistence_id.clone();
        let sync = self.options.sync;
        let deleted = self
            .on_log(Operation::DeleteMessagesTo, move |log| {
                let position = log.index().position(&id);
                if deletion.epoch.is_some_and(|epoch| epoch != position.epoch) {
                    return Ok(Err(StorageError::from_deletion_conflict(
                        id, deletion, position,
                    )));
                }
                let deleted_to = log.index().get(&id).map_or(0, |stream| stream.deleted_to);
                let to = deletion.to.min(position.sequence_nr);
                if to > deleted_to {
                    log.append(&[Record::Deleted { id, to }], sync)?;
                }
                Ok(Ok(()))
            })
            .await;
        deleted.map_err(|error| error.with_persistence_id(persistence_id.clone()))?
    }
    // ANCHOR_END: delete_messages_to

    // ANCHOR: purge
    async fn purge(&self, persistence_id: &PersistenceId) -> Result<PurgeProgress, StorageError> {
        let id = persistence_id.clone();
        let sync = self.options.sync;
        self.on_log(Operation::Purge, move |log| {
            if let Some(stream) = log.index().get(&id) {
                let epoch = stream.epoch + 1;
                log.append(&[Record::Purge { id, epoch }], sync)?;
            }
            Ok(PurgeProgress::Done)
        })
        .await
        .map_err(|error| error.with_persistence_id(persistence_id.clone()))
    }
    // ANCHOR_END: purge

    // ANCHOR: run_command
    async fn run_command(
        &self,
        command: &AnyCommand,
    ) -> Result<Option<CommandAnswer>, StorageError> {
        let Some(log_size) = command.get::<LogSize>() else {
            return Ok(None);
        };
        let operation = Operation::of_command(&command.rules().turn);
        let bytes = self.on_log(operation, |log| Ok(log.bytes())).await?;
        Ok(Some(CommandAnswer::to(log_size, bytes)))
    }
    // ANCHOR_END: run_command

    // ANCHOR: capabilities
    fn capabilities(&self) -> JournalCapabilities {
        JournalCapabilities::default()
            .with_atomic_batches()
            .with_metadata()
            .with_tags()
            .with_purge()
            .with_max_event_bytes(MAX_PAYLOAD_BYTES)
    }
    // ANCHOR_END: capabilities
}
