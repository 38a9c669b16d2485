//! A journal that is an actor.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use actix_persistence_storage_api::{
    AnyCommand, AtomicWrite, CommandAnswer, EventDeletion, EventQueries, Journal,
    JournalCapabilities, PageLimit, PersistenceId, PurgeProgress, ReplayPage, ReplayRange,
    SequenceNr, StorageError, StreamHead, TakeOverRequest, TakenOver, WriteOutcome,
};
use actix_persistence_store_actor::{StoreThread, deadline_after};
use async_trait::async_trait;
use tokio::runtime::Handle;

use crate::journal_handle::JournalHandle;
use crate::journal_settings::JournalSettings;
use crate::write_request::WriteRequest;

/// Implements [`Journal`] by sending to the actor in front of one, so that what takes a journal can be given both.
///
/// A call that fails as a whole comes back as outcomes: each id of a call succeeds or fails alone.
#[derive(Clone, Debug)]
pub struct JournalProxy {
    handle: JournalHandle,
}

impl JournalProxy {
    /// Sends to this actor.
    pub fn new(handle: JournalHandle) -> Self {
        Self { handle }
    }

    /// Starts an actor on a thread of its own that calls the journal on the current tokio runtime: for tests and tools.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn(journal: Arc<dyn Journal>, settings: JournalSettings) -> io::Result<Self> {
        let thread = StoreThread::start(&*settings.plugin_id)?;
        let handle = JournalHandle::start(journal, settings, Handle::current(), &thread);
        Ok(Self::new(handle))
    }

    /// Returns the handle of the journal actor.
    pub fn handle(&self) -> &JournalHandle {
        &self.handle
    }
}

/// The writes of one id within a call, and where they stood in it.
#[derive(Default)]
struct Share {
    positions: Vec<usize>,
    writes: Vec<AtomicWrite>,
}

fn shares(writes: Vec<AtomicWrite>) -> Vec<Share> {
    let mut shares: Vec<Share> = Vec::new();
    let mut by_id = HashMap::new();
    for (position, write) in writes.into_iter().enumerate() {
        let index = *by_id
            .entry(write.persistence_id().clone())
            .or_insert(shares.len());
        if index == shares.len() {
            shares.push(Share::default());
        }
        shares[index].positions.push(position);
        shares[index].writes.push(write);
    }
    shares
}

#[async_trait]
impl Journal for JournalProxy {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.handle.ready().await
    }

    async fn read_head(&self, persistence_id: &PersistenceId) -> Result<StreamHead, StorageError> {
        self.handle.read_head(persistence_id.clone()).await
    }

    async fn take_over(
        &self,
        requests: &[TakeOverRequest],
    ) -> Result<Vec<TakenOver>, StorageError> {
        let replies: Vec<_> = requests
            .iter()
            .map(|request| {
                self.handle
                    .take_over(request.persistence_id.clone(), request.writer)
            })
            .collect();
        let mut taken = Vec::with_capacity(replies.len());
        for reply in replies {
            taken.push(reply.await?);
        }
        Ok(taken)
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let mut outcomes = vec![WriteOutcome::Skipped; writes.len()];
        let deadline = deadline_after(self.handle.settings().write_timeout);
        let send = |share: Share| {
            let first = &share.writes[0];
            let reply = self.handle.write(WriteRequest {
                persistence_id: first.persistence_id().clone(),
                writes: share.writes,
                deadline,
            });
            (share.positions, reply)
        };
        let replies: Vec<_> = shares(writes).into_iter().map(send).collect();
        for (positions, reply) in replies {
            for (position, outcome) in positions.into_iter().zip(reply.await.outcomes) {
                outcomes[position] = outcome;
            }
        }
        Ok(outcomes)
    }

    async fn replay_messages(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        self.handle
            .replay(persistence_id.clone(), range, page)
            .await
    }

    async fn read_highest_sequence_nr(
        &self,
        persistence_id: &PersistenceId,
    ) -> Result<SequenceNr, StorageError> {
        self.handle
            .read_highest_sequence_nr(persistence_id.clone())
            .await
    }

    async fn delete_messages_to(
        &self,
        persistence_id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        self.handle
            .delete_messages_to(persistence_id.clone(), deletion)
            .await
    }

    async fn purge(&self, persistence_id: &PersistenceId) -> Result<PurgeProgress, StorageError> {
        self.handle.purge(persistence_id.clone()).await
    }

    async fn run_command(
        &self,
        command: &AnyCommand,
    ) -> Result<Option<CommandAnswer>, StorageError> {
        self.handle.run_command(command.clone()).await
    }

    /// Asks the store itself, past the actor, which answers for itself while its breakers are open.
    async fn ping(&self) -> Result<(), StorageError> {
        self.handle.journal().ping().await
    }

    async fn close(&self) {
        self.handle.journal().close().await;
    }

    /// Queries pass the actor by, as those over states do: they wait for no id.
    fn event_queries(&self) -> Option<&dyn EventQueries> {
        self.handle.journal().event_queries()
    }

    fn capabilities(&self) -> JournalCapabilities {
        self.handle.capabilities().clone()
    }
}
