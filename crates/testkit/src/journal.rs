//! A journal that a test intercepts.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};

use actix_persistence_storage_api::{
    AnyCommand, AtomicWrite, BoundHolder, CommandAnswer, EventDeletion, EventOffset, EventQueries,
    EventSelection, EventsPage, EventsQuery, Journal, JournalCapabilities, Operation, PageLimit,
    PersistenceId, PersistenceIdsQuery, PurgeProgress, ReplayPage, ReplayRange, SequenceNr,
    StorageError, StorageErrorKind, StreamHead, TakeOverRequest, TakenOver, WriteOutcome,
};
use async_trait::async_trait;

use crate::store_kind::{StoreFuture, expect_answer, sealed::Sealed};
use crate::{Fault, Hook, Intercepted, Next, On, Rule, StoreCall, StoreKind};

/// The kind of journals, in types such as [`Rules<Journals>`](crate::Rules).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journals {}

/// A call of a journal: each method of [`Journal`] and [`EventQueries`] with its arguments, but for
/// [`hints`](EventQueries::hints).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // the methods and arguments of the same names
pub enum JournalCall {
    Initialize,
    ReadHead {
        persistence_id: PersistenceId,
    },
    TakeOver {
        requests: Vec<TakeOverRequest>,
    },
    WriteMessages {
        writes: Vec<AtomicWrite>,
    },
    ReplayMessages {
        persistence_id: PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    },
    ReadHighestSequenceNr {
        persistence_id: PersistenceId,
    },
    DeleteMessagesTo {
        persistence_id: PersistenceId,
        deletion: EventDeletion,
    },
    Purge {
        persistence_id: PersistenceId,
    },
    RunCommand {
        command: AnyCommand,
    },
    CurrentPersistenceIds {
        query: PersistenceIdsQuery,
    },
    Events {
        query: EventsQuery,
    },
    NewestOffset {
        selection: EventSelection,
    },
    OffsetOf {
        persistence_id: PersistenceId,
        sequence_nr: SequenceNr,
    },
    BoundHolders,
    Ping,
    Close,
}

/// The answer to a call of a journal.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum JournalAnswer {
    /// The answer of `initialize`, `delete_messages_to`, `ping` and `close`.
    Done,
    /// The answer of `read_head`.
    Head(StreamHead),
    /// The answer of `take_over`.
    TakenOver(Vec<TakenOver>),
    /// The answer of `write_messages`.
    Outcomes(Vec<WriteOutcome>),
    /// The answer of `replay_messages`.
    Page(ReplayPage),
    /// The answer of `read_highest_sequence_nr`.
    HighestSequenceNr(SequenceNr),
    /// The answer of `purge`.
    Purge(PurgeProgress),
    /// The answer of `run_command`; clones are the same answer, which is given once.
    Command(GivenOnce),
    /// The answer of `current_persistence_ids`.
    Ids(Vec<PersistenceId>),
    /// The answer of `events`.
    Events(EventsPage),
    /// The answer of `newest_offset`.
    NewestOffset(EventOffset),
    /// The answer of `offset_of`.
    OffsetOf(Option<EventOffset>),
    /// The answer of `bound_holders`.
    BoundHolders(Vec<BoundHolder>),
}

/// The answer to a command, or that the journal does not know it; clones are the same answer.
///
/// A command may be answered by a value that cannot be copied: the first call that gets the answer takes it, and a later
/// one fails.
#[derive(Clone, Debug)]
pub struct GivenOnce(Arc<Mutex<Option<Option<CommandAnswer>>>>);

impl GivenOnce {
    /// Makes the answer from what a journal returns.
    pub fn new(answer: Option<CommandAnswer>) -> Self {
        Self(Arc::new(Mutex::new(Some(answer))))
    }

    /// Takes what a journal returns out of it, for the first caller.
    pub fn take(&self) -> Option<Option<CommandAnswer>> {
        let mut answer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answer.take()
    }
}

impl JournalCall {
    /// The writes of `write_messages`; none for other calls.
    pub fn writes(&self) -> &[AtomicWrite] {
        match self {
            JournalCall::WriteMessages { writes } => writes,
            _ => &[],
        }
    }
}

impl StoreCall for JournalCall {
    fn operation(&self) -> Operation {
        match self {
            JournalCall::Initialize | JournalCall::Close => Operation::Initialize,
            JournalCall::ReadHead { .. } | JournalCall::Ping => Operation::ReadHead,
            JournalCall::TakeOver { .. } => Operation::TakeOver,
            JournalCall::WriteMessages { .. } => Operation::WriteMessages,
            JournalCall::ReplayMessages { .. } => Operation::ReplayMessages,
            JournalCall::ReadHighestSequenceNr { .. } => Operation::ReadHighestSequenceNr,
            JournalCall::DeleteMessagesTo { .. } => Operation::DeleteMessagesTo,
            JournalCall::Purge { .. } => Operation::Purge,
            JournalCall::RunCommand { command } => Operation::of_command(&command.rules().turn),
            JournalCall::CurrentPersistenceIds { .. } => Operation::CurrentPersistenceIds,
            JournalCall::Events { .. }
            | JournalCall::NewestOffset { .. }
            | JournalCall::OffsetOf { .. } => Operation::QueryEvents,
            JournalCall::BoundHolders => Operation::QueryEvents,
        }
    }

    fn persistence_ids(&self) -> Vec<&PersistenceId> {
        match self {
            JournalCall::Initialize
            | JournalCall::CurrentPersistenceIds { .. }
            | JournalCall::Events { .. }
            | JournalCall::NewestOffset { .. }
            | JournalCall::BoundHolders
            | JournalCall::Ping
            | JournalCall::Close => Vec::new(),
            JournalCall::ReadHead { persistence_id }
            | JournalCall::ReplayMessages { persistence_id, .. }
            | JournalCall::ReadHighestSequenceNr { persistence_id }
            | JournalCall::DeleteMessagesTo { persistence_id, .. }
            | JournalCall::Purge { persistence_id }
            | JournalCall::OffsetOf { persistence_id, .. } => vec![persistence_id],
            JournalCall::RunCommand { command } => {
                command.rules().turn.persistence_id().into_iter().collect()
            }
            JournalCall::TakeOver { requests } => {
                let ids = requests.iter().map(|request| &request.persistence_id);
                ids.collect()
            }
            JournalCall::WriteMessages { writes } => {
                writes.iter().map(AtomicWrite::persistence_id).collect()
            }
        }
    }

    fn is_ping(&self) -> bool {
        matches!(self, JournalCall::Ping)
    }

    fn is_close(&self) -> bool {
        matches!(self, JournalCall::Close)
    }
}

impl Sealed for Journals {}

impl StoreKind for Journals {
    type Store = dyn Journal;
    type Call = JournalCall;
    type Answer = JournalAnswer;
    type Capabilities = JournalCapabilities;

    fn carry_out(store: Arc<Self::Store>, call: JournalCall) -> StoreFuture<JournalAnswer> {
        Box::pin(async move {
            let unsupported = StorageError::new(StorageErrorKind::Unsupported, call.operation());
            let queries = || store.event_queries().ok_or_else(|| unsupported.clone());
            Ok(match call {
                JournalCall::Initialize => {
                    store.initialize().await?;
                    JournalAnswer::Done
                }
                JournalCall::ReadHead { persistence_id } => {
                    JournalAnswer::Head(store.read_head(&persistence_id).await?)
                }
                JournalCall::TakeOver { requests } => {
                    JournalAnswer::TakenOver(store.take_over(&requests).await?)
                }
                JournalCall::WriteMessages { writes } => {
                    JournalAnswer::Outcomes(store.write_messages(writes).await?)
                }
                JournalCall::ReplayMessages {
                    persistence_id,
                    range,
                    page,
                } => {
                    let page = store.replay_messages(&persistence_id, range, page);
                    JournalAnswer::Page(page.await?)
                }
                JournalCall::ReadHighestSequenceNr { persistence_id } => {
                    let highest = store.read_highest_sequence_nr(&persistence_id);
                    JournalAnswer::HighestSequenceNr(highest.await?)
                }
                JournalCall::DeleteMessagesTo {
                    persistence_id,
                    deletion,
                } => {
                    let deleted = store.delete_messages_to(&persistence_id, deletion);
                    deleted.await?;
                    JournalAnswer::Done
                }
                JournalCall::Purge { persistence_id } => {
                    JournalAnswer::Purge(store.purge(&persistence_id).await?)
                }
                JournalCall::RunCommand { command } => {
                    JournalAnswer::Command(GivenOnce::new(store.run_command(&command).await?))
                }
                JournalCall::CurrentPersistenceIds { query } => {
                    JournalAnswer::Ids(queries()?.current_persistence_ids(query).await?)
                }
                JournalCall::Events { query } => {
                    JournalAnswer::Events(queries()?.events(query).await?)
                }
                JournalCall::NewestOffset { selection } => {
                    JournalAnswer::NewestOffset(queries()?.newest_offset(&selection).await?)
                }
                JournalCall::OffsetOf {
                    persistence_id,
                    sequence_nr,
                } => {
                    let offset = queries()?.offset_of(&persistence_id, sequence_nr);
                    JournalAnswer::OffsetOf(offset.await?)
                }
                JournalCall::BoundHolders => {
                    JournalAnswer::BoundHolders(queries()?.bound_holders().await?)
                }
                JournalCall::Ping => {
                    store.ping().await?;
                    JournalAnswer::Done
                }
                JournalCall::Close => {
                    store.close().await;
                    JournalAnswer::Done
                }
            })
        })
    }

    fn reject(call: &JournalCall, error: StorageError) -> Result<JournalAnswer, StorageError> {
        let JournalCall::WriteMessages { writes } = call else {
            return Err(error);
        };
        let mut rejected = BTreeSet::new();
        let outcomes = writes.iter().map(|write| {
            let id = write.persistence_id();
            if rejected.insert(id) {
                WriteOutcome::Rejected(error.clone().with_persistence_id(id.clone()))
            } else {
                WriteOutcome::Skipped
            }
        });
        Ok(JournalAnswer::Outcomes(outcomes.collect()))
    }
}

impl On<Journals> {
    /// Rejects the writes for which the predicate holds, as if they were too large, and skips later ones of the same ids in
    /// the same call; the store stores the others.
    ///
    /// The predicate sees the place of a write in the call, from 0, and the write.
    pub fn reject_writes(
        self,
        fault: impl Into<Fault>,
        predicate: impl Fn(usize, &AtomicWrite) -> bool + Send + Sync + 'static,
    ) -> Rule {
        let (fault, predicate) = (fault.into(), Arc::new(predicate));
        self.run(move |call: JournalCall, next: Next<Journals>| {
            let (fault, predicate) = (fault.clone(), Arc::clone(&predicate));
            async move { next.reject_writes(call, &fault, &*predicate).await }
        })
    }
}

impl Next<Journals> {
    /// Lets a call go on without the writes for which the predicate holds, as [`On::reject_writes`].
    ///
    /// # Errors
    /// The error of the store or of a rule, for the other writes.
    ///
    /// # Cancel safety
    /// That of [`Journal::write_messages`].
    pub async fn reject_writes(
        self,
        call: JournalCall,
        fault: &Fault,
        predicate: impl Fn(usize, &AtomicWrite) -> bool + Send,
    ) -> Result<JournalAnswer, StorageError> {
        let error = fault.of(&call);
        let JournalCall::WriteMessages { writes } = call else {
            return self.run(call).await;
        };
        let (mut rejected, mut passed) = (BTreeSet::new(), Vec::new());
        // `None` where the store decides.
        let mut outcomes = Vec::new();
        for (place, write) in writes.into_iter().enumerate() {
            let id = write.persistence_id().clone();
            outcomes.push(if rejected.contains(&id) {
                Some(WriteOutcome::Skipped)
            } else if predicate(place, &write) {
                rejected.insert(id.clone());
                let error = error.clone().with_persistence_id(id);
                Some(WriteOutcome::Rejected(error))
            } else {
                passed.push(write);
                None
            });
        }
        let stored = self
            .run(JournalCall::WriteMessages { writes: passed })
            .await?;
        let mut stored = expect_answer!(stored, JournalAnswer::Outcomes).into_iter();
        let outcomes = outcomes
            .into_iter()
            .filter_map(|outcome| outcome.or_else(|| stored.next()));
        Ok(JournalAnswer::Outcomes(outcomes.collect()))
    }
}

#[async_trait]
impl<H: Hook<Journals>> Journal for Intercepted<Journals, H> {
    async fn initialize(&self) -> Result<(), StorageError> {
        let answer = self.call(JournalCall::Initialize).await?;
        expect_answer!(answer, unit JournalAnswer::Done);
        Ok(())
    }

    async fn read_head(&self, persistence_id: &PersistenceId) -> Result<StreamHead, StorageError> {
        let persistence_id = persistence_id.clone();
        let answer = self.call(JournalCall::ReadHead { persistence_id }).await?;
        Ok(expect_answer!(answer, JournalAnswer::Head))
    }

    async fn take_over(
        &self,
        requests: &[TakeOverRequest],
    ) -> Result<Vec<TakenOver>, StorageError> {
        let requests = requests.to_vec();
        let answer = self.call(JournalCall::TakeOver { requests }).await?;
        Ok(expect_answer!(answer, JournalAnswer::TakenOver))
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let answer = self.call(JournalCall::WriteMessages { writes }).await?;
        Ok(expect_answer!(answer, JournalAnswer::Outcomes))
    }

    async fn replay_messages(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let call = JournalCall::ReplayMessages {
            persistence_id: persistence_id.clone(),
            range,
            page,
        };
        Ok(expect_answer!(self.call(call).await?, JournalAnswer::Page))
    }

    async fn read_highest_sequence_nr(
        &self,
        persistence_id: &PersistenceId,
    ) -> Result<SequenceNr, StorageError> {
        let persistence_id = persistence_id.clone();
        let answer = self
            .call(JournalCall::ReadHighestSequenceNr { persistence_id })
            .await?;
        Ok(expect_answer!(answer, JournalAnswer::HighestSequenceNr))
    }

    async fn delete_messages_to(
        &self,
        persistence_id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        let call = JournalCall::DeleteMessagesTo {
            persistence_id: persistence_id.clone(),
            deletion,
        };
        expect_answer!(self.call(call).await?, unit JournalAnswer::Done);
        Ok(())
    }

    async fn purge(&self, persistence_id: &PersistenceId) -> Result<PurgeProgress, StorageError> {
        let persistence_id = persistence_id.clone();
        let answer = self.call(JournalCall::Purge { persistence_id }).await?;
        Ok(expect_answer!(answer, JournalAnswer::Purge))
    }

    async fn run_command(
        &self,
        command: &AnyCommand,
    ) -> Result<Option<CommandAnswer>, StorageError> {
        let call = JournalCall::RunCommand {
            command: command.clone(),
        };
        let operation = call.operation();
        let answer = expect_answer!(self.call(call).await?, JournalAnswer::Command);
        answer.take().ok_or_else(|| {
            StorageError::new(StorageErrorKind::Backend, operation)
                .with_message("a test gave one answer to two commands")
        })
    }

    async fn ping(&self) -> Result<(), StorageError> {
        let answer = self.call(JournalCall::Ping).await?;
        expect_answer!(answer, unit JournalAnswer::Done);
        Ok(())
    }

    async fn close(&self) {
        let _ = self.call(JournalCall::Close).await;
    }

    fn event_queries(&self) -> Option<&dyn EventQueries> {
        let has_queries = !self.hides_queries && self.store.event_queries().is_some();
        has_queries.then_some(self as &dyn EventQueries)
    }

    fn capabilities(&self) -> JournalCapabilities {
        let declared = self.declared.clone();
        declared.unwrap_or_else(|| self.store.capabilities())
    }
}

#[async_trait]
impl<H: Hook<Journals>> EventQueries for Intercepted<Journals, H> {
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        let call = JournalCall::CurrentPersistenceIds { query };
        Ok(expect_answer!(self.call(call).await?, JournalAnswer::Ids))
    }

    async fn events(&self, query: EventsQuery) -> Result<EventsPage, StorageError> {
        let answer = self.call(JournalCall::Events { query }).await?;
        Ok(expect_answer!(answer, JournalAnswer::Events))
    }

    async fn newest_offset(&self, selection: &EventSelection) -> Result<EventOffset, StorageError> {
        let selection = selection.clone();
        let answer = self.call(JournalCall::NewestOffset { selection }).await?;
        Ok(expect_answer!(answer, JournalAnswer::NewestOffset))
    }

    async fn offset_of(
        &self,
        persistence_id: &PersistenceId,
        sequence_nr: SequenceNr,
    ) -> Result<Option<EventOffset>, StorageError> {
        let call = JournalCall::OffsetOf {
            persistence_id: persistence_id.clone(),
            sequence_nr,
        };
        let answer = self.call(call).await?;
        Ok(expect_answer!(answer, JournalAnswer::OffsetOf))
    }

    async fn bound_holders(&self) -> Result<Vec<BoundHolder>, StorageError> {
        let answer = self.call(JournalCall::BoundHolders).await?;
        Ok(expect_answer!(answer, JournalAnswer::BoundHolders))
    }

    /// Reaches the store without rules: a hint promises nothing that a test could break.
    async fn hints(&self, seen: u64) -> u64 {
        match self.store.event_queries() {
            Some(queries) => queries.hints(seen).await,
            None => pending().await,
        }
    }
}
