//! A journal whose every call is answered by the test.

use std::fmt;
use std::time::Duration;

use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, Journal, JournalCapabilities, PageLimit, PersistenceId, Recovered,
    RecoveryRequest, ReplayPage, ReplayRange, SequenceNr, StorageError, StreamHead, WriteOutcome,
    WriterId,
};
use async_trait::async_trait;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Hands each call to the test and does what the test says.
pub(crate) struct ScriptedJournal {
    capabilities: JournalCapabilities,
    calls: UnboundedSender<Called>,
}

/// The test's end.
pub(crate) struct Calls(UnboundedReceiver<Called>);

/// A call under way.
pub(crate) struct Called {
    pub(crate) call: Call,
    answer: oneshot::Sender<Answer>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    Initialize,
    Head(PersistenceId),
    Recover(Vec<RecoveryRequest>),
    Write(Vec<AtomicWrite>),
    Replay(PersistenceId),
    ReadHighest(PersistenceId),
    Delete(PersistenceId, SequenceNr),
}

/// What a call gives, beyond what would be usual.
pub(crate) enum Answer {
    Works,
    Fails(StorageError),
    Outcomes(Vec<WriteOutcome>),
    Panics,
}

impl ScriptedJournal {
    pub(crate) fn new(capabilities: JournalCapabilities) -> (Self, Calls) {
        let (calls, receiver) = unbounded_channel();
        let journal = Self {
            capabilities,
            calls,
        };
        (journal, Calls(receiver))
    }

    async fn ask(&self, call: Call) -> Result<Option<Vec<WriteOutcome>>, StorageError> {
        let (answer, answered) = oneshot::channel();
        let _ = self.calls.send(Called { call, answer });
        match answered.await {
            Ok(Answer::Works) => Ok(None),
            Ok(Answer::Outcomes(outcomes)) => Ok(Some(outcomes)),
            Ok(Answer::Fails(error)) => Err(error),
            Ok(Answer::Panics) => panic!("scripted"),
            // The test has dropped the call: it hangs.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Calls {
    /// The next call; fails the test if none comes within a virtual hour.
    pub(crate) async fn next(&mut self) -> Called {
        let next = timeout(Duration::from_secs(3_600), self.0.recv()).await;
        next.expect("a call should have come").expect("a journal")
    }

    /// The next call, which must be a write: of which ids, in order.
    pub(crate) async fn next_write(&mut self) -> (Called, Vec<String>) {
        let called = self.next().await;
        let ids = called.written_ids();
        (called, ids)
    }

    /// Whether no call is waiting for its answer that the test has not seen.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        settle().await;
        self.0.is_empty()
    }

    /// The next call if there is one, and never more than one at a time.
    pub(crate) async fn recv(&mut self) -> Option<Called> {
        self.0.recv().await
    }
}

impl Called {
    pub(crate) fn works(self) {
        self.gives(Answer::Works);
    }

    pub(crate) fn fails(self, error: StorageError) {
        self.gives(Answer::Fails(error));
    }

    pub(crate) fn outcomes(self, outcomes: Vec<WriteOutcome>) {
        self.gives(Answer::Outcomes(outcomes));
    }

    pub(crate) fn panics(self) {
        self.gives(Answer::Panics);
    }

    /// Never gives anything.
    pub(crate) fn hangs(self) {
        drop(self);
    }

    pub(crate) fn gives(self, answer: Answer) {
        // Nobody is there any more if the runtime has ended.
        let _ = self.answer.send(answer);
    }

    pub(crate) fn writes(&self) -> &[AtomicWrite] {
        match &self.call {
            Call::Write(writes) => writes,
            other => panic!("a write was due, not {other:?}"),
        }
    }

    pub(crate) fn written_ids(&self) -> Vec<String> {
        let writes = self.writes().iter();
        writes
            .map(|write| write.persistence_id().to_string())
            .collect()
    }
}

impl fmt::Debug for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}

/// Lets everything run that can: the paused clock moves only when nothing else does.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[async_trait]
impl Journal for ScriptedJournal {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.ask(Call::Initialize).await.map(drop)
    }

    async fn read_head(&self, persistence_id: &PersistenceId) -> Result<StreamHead, StorageError> {
        self.ask(Call::Head(persistence_id.clone())).await?;
        Ok(StreamHead {
            highest_sequence_nr: 7,
            epoch: 1,
            ..StreamHead::default()
        })
    }

    async fn recover(
        &self,
        persistence_id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        let request = RecoveryRequest {
            persistence_id: persistence_id.clone(),
            writer,
        };
        Ok(self.recover_many(&[request]).await?[0])
    }

    async fn recover_many(
        &self,
        requests: &[RecoveryRequest],
    ) -> Result<Vec<Recovered>, StorageError> {
        let recovered = Recovered {
            highest_sequence_nr: 7,
            deleted_to: 0,
            epoch: 1,
        };
        self.ask(Call::Recover(requests.to_vec())).await?;
        Ok(vec![recovered; requests.len()])
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let stored = vec![WriteOutcome::Stored; writes.len()];
        Ok(self.ask(Call::Write(writes)).await?.unwrap_or(stored))
    }

    async fn replay_messages(
        &self,
        persistence_id: &PersistenceId,
        _: ReplayRange,
        _: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        self.ask(Call::Replay(persistence_id.clone())).await?;
        Ok(ReplayPage::new(Vec::new(), false, 0))
    }

    async fn read_highest_sequence_nr(
        &self,
        persistence_id: &PersistenceId,
        _: SequenceNr,
    ) -> Result<SequenceNr, StorageError> {
        self.ask(Call::ReadHighest(persistence_id.clone())).await?;
        Ok(7)
    }

    async fn delete_messages_to(
        &self,
        persistence_id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        self.ask(Call::Delete(persistence_id.clone(), deletion.to))
            .await
            .map(drop)
    }

    fn capabilities(&self) -> JournalCapabilities {
        self.capabilities.clone()
    }
}
