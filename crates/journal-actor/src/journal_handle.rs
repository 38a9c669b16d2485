//! The handle through which actors ask a journal.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    AnyCommand, CommandAnswer, CommandRules, CommandTurn, EventDeletion, Journal,
    JournalCapabilities, JournalCommand, Operation, PageLimit, PersistenceId, PurgeProgress,
    ReplayPage, ReplayRange, SequenceNr, StorageError, StorageErrorKind, StreamHead, TakenOver,
    WriterId,
};
use actix_persistence_store_actor::{
    Ask, Caller, Front, Observed, Outstanding, RecoveryPermit, RecoveryPermits, Refusal, Refuse,
    Reply, Slot, StoreHealth, StoreService, StoreThread, deadline_after,
};
use tokio::runtime::Handle;

use crate::command_question::CommandQuestion;
use crate::dispatcher::Dispatcher;
use crate::job::Job;
use crate::journal_settings::JournalSettings;
use crate::plugin_calls::PluginCalls;
use crate::request::{Ordered, Read, Request};
use crate::single::Single;
use crate::standing::Standing;
use crate::write_request::{WriteQuestion, WriteReply, WriteRequest};

/// The actor in front of a journal; clones share it, and it ends with the last one.
///
/// Every method that returns a [`Reply`] sends its request at once, never blocks, and may be called on any thread.
/// Requests of one id are served in the order in which they were sent, but for replays, which do not wait.
/// A request with an invalid id is refused as [`StorageErrorKind::Unsupported`].
#[derive(Clone)]
pub struct JournalHandle {
    inner: Arc<Inner>,
}

struct Inner {
    front: Front<Dispatcher>,
    journal: Arc<dyn Journal>,
    settings: JournalSettings,
    capabilities: JournalCapabilities,
    permits: RecoveryPermits,
    outstanding: Outstanding,
}

impl JournalHandle {
    /// Starts the actor on `thread` and begins to initialise the journal; its calls run on `runtime`, with timer.
    pub fn start(
        journal: Arc<dyn Journal>,
        settings: JournalSettings,
        runtime: Handle,
        thread: &StoreThread,
    ) -> Self {
        let outstanding = Outstanding::new();
        let capabilities = journal.capabilities();
        let caller = Caller::new(runtime.clone(), outstanding.clone());
        let calls = PluginCalls::new(journal.clone(), caller, &settings);
        let dispatcher = Dispatcher::new(calls, &settings, &capabilities);
        let permits = RecoveryPermits::new(
            Operation::TakeOver,
            settings.max_concurrent_recoveries,
            settings.recovery_permit_timeout,
            runtime.clone(),
        );
        Self {
            inner: Arc::new(Inner {
                front: Front::start(dispatcher, &runtime, thread),
                journal,
                settings,
                capabilities,
                permits,
                outstanding,
            }),
        }
    }

    /// Stores atomic writes of one id, together with whatever else waits to be written.
    ///
    /// The outcomes are those of [`Journal::write_messages`]; a call that failed as a whole fails every write of it.
    pub fn write(&self, request: WriteRequest) -> Reply<WriteReply> {
        let question = WriteQuestion {
            persistence_id: request.persistence_id,
            writes: request.writes.len(),
        };
        let foreign = request
            .writes
            .iter()
            .any(|write| *write.persistence_id() != question.persistence_id);
        let (slot, reply) = Slot::new(question, &self.inner.outstanding);
        let job = Job {
            slot,
            deadline: request.deadline,
            payload: request.writes,
        };
        if job.payload.is_empty() {
            let outcomes = Vec::new();
            job.slot.answer(WriteReply {
                outcomes,
                writes: job.payload,
            });
        } else if foreign {
            let message =
                "a request holds the writes of one persistence id, this one has another's";
            job.refuse(&Refusal::new(StorageErrorKind::Unsupported, message));
        } else {
            self.send(Request::Ordered(Ordered::Write(job)));
        }
        reply
    }

    /// Returns to an incarnation where its id stands, once all earlier requests of it have ended.
    ///
    /// Takes the id over at once if a write of it that was sent through this handle may still be stored: so nothing of
    /// ours appears after what is returned. An earlier write that hangs is waited for at most twice the call time-out.
    pub fn look(
        &self,
        persistence_id: PersistenceId,
        writer: WriterId,
    ) -> Reply<Result<Standing, StorageError>> {
        let limit = self.settings().recovery_event_timeout;
        let request = |job| Request::Read(Read::Look(job));
        self.send_job(Operation::ReadHead, persistence_id, limit, writer, request)
    }

    /// Reads where an id stands, once all earlier requests of it have ended; for who will not write.
    pub fn read_head(
        &self,
        persistence_id: PersistenceId,
    ) -> Reply<Result<StreamHead, StorageError>> {
        let limit = self.settings().recovery_event_timeout;
        let operation = Operation::ReadHead;
        let call = |journal: Arc<dyn Journal>, id| async move { journal.read_head(&id).await };
        self.call(operation, persistence_id, limit, of_its_id, call)
    }

    /// Takes over an id, together with others, once all earlier requests of it have ended.
    ///
    /// An earlier write that hangs is waited for at most twice the call time-out; the raised epoch then fences it.
    pub fn take_over(
        &self,
        persistence_id: PersistenceId,
        writer: WriterId,
    ) -> Reply<Result<TakenOver, StorageError>> {
        let limit = self.settings().recovery_event_timeout;
        let request = |job| Request::Ordered(Ordered::TakeOver(job));
        self.send_job(Operation::TakeOver, persistence_id, limit, writer, request)
    }

    /// Reads a page of events, without circuit breaker, and without waiting for writes under way.
    ///
    /// Returns [`StorageErrorKind::Timeout`] if the page takes longer than `recovery_event_timeout`.
    pub fn replay(
        &self,
        persistence_id: PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Reply<Result<ReplayPage, StorageError>> {
        let limit = self.settings().recovery_event_timeout;
        let operation = Operation::ReplayMessages;
        let call = move |journal: Arc<dyn Journal>, id| async move {
            journal.replay_messages(&id, range, page).await
        };
        self.call(operation, persistence_id, limit, without_breaker, call)
    }

    /// Reads the highest number ever stored, once all earlier requests of the id have ended.
    pub fn read_highest_sequence_nr(
        &self,
        persistence_id: PersistenceId,
    ) -> Reply<Result<SequenceNr, StorageError>> {
        let limit = self.settings().recovery_event_timeout;
        let operation = Operation::ReadHighestSequenceNr;
        let call = |journal: Arc<dyn Journal>, id| async move {
            journal.read_highest_sequence_nr(&id).await
        };
        self.call(operation, persistence_id, limit, of_its_id, call)
    }

    /// Deletes events, in order with the writes of the id.
    pub fn delete_messages_to(
        &self,
        persistence_id: PersistenceId,
        deletion: impl Into<EventDeletion>,
    ) -> Reply<Result<(), StorageError>> {
        let limit = self.settings().write_timeout;
        let operation = Operation::DeleteMessagesTo;
        let deletion = deletion.into();
        let call = move |journal: Arc<dyn Journal>, id| async move {
            journal.delete_messages_to(&id, deletion).await
        };
        self.call(operation, persistence_id, limit, in_the_lane, call)
    }

    /// Deletes all events of an id, after which its numbers start again at 1.
    ///
    /// A call does a part of the work: repeat it until it answers [`PurgeProgress::Done`]. It has its turn among the
    /// writes of the id.
    pub fn purge(
        &self,
        persistence_id: PersistenceId,
    ) -> Reply<Result<PurgeProgress, StorageError>> {
        let limit = self.settings().write_timeout;
        let operation = Operation::Purge;
        let call = |journal: Arc<dyn Journal>, id| async move { journal.purge(&id).await };
        self.call(operation, persistence_id, limit, in_the_lane, call)
    }

    /// Asks for a command of the plugin's own, which takes the turn that it [says](JournalCommand::rules) itself.
    ///
    /// The request is sent at once. [`StorageErrorKind::Unsupported`] if the journal does not know the command: the error
    /// names it, and the plugin.
    pub fn ask<C: JournalCommand>(
        &self,
        command: C,
    ) -> impl Future<Output = Result<C::Answer, StorageError>> + Send + use<C> {
        let command = AnyCommand::new(command);
        let turn = command.rules().turn.clone();
        let name = command.name();
        let plugin_id = self.settings().plugin_id.clone();
        let reply = self.run_command(command);
        async move {
            let Some(answer) = reply.await? else {
                let message = format!("journal {plugin_id:?} does not know the command {name}");
                let refusal = Refusal::new(StorageErrorKind::Unsupported, message);
                return Err(refusal.error(Operation::of_command(&turn), turn.persistence_id()));
            };
            let of = answer.name();
            answer.take::<C>().ok_or_else(|| {
                let message =
                    format!("journal {plugin_id:?} answered the command {name} as if it were {of}");
                let operation = Operation::of_command(&turn);
                StorageError::new(StorageErrorKind::Backend, operation).with_message(message)
            })
        }
    }

    /// Asks for a command as [`ask`](Self::ask) does, whatever its type is; `None` if the journal does not know it.
    pub fn run_command(
        &self,
        command: AnyCommand,
    ) -> Reply<Result<Option<CommandAnswer>, StorageError>> {
        let settings = self.settings();
        let CommandRules {
            turn,
            time_without_breaker,
            ..
        } = command.rules().clone();
        let usual_limit = match turn.changes() {
            true => settings.write_timeout,
            false => settings.recovery_event_timeout,
        };
        let (journal, asked) = (self.journal().clone(), command.clone());
        let (slot, reply) = Slot::new(CommandQuestion(command), &self.inner.outstanding);
        let single = Single::new(Job {
            slot,
            deadline: deadline_after(time_without_breaker.unwrap_or(usual_limit)),
            payload: async move { journal.run_command(&asked).await },
        });
        let single = match time_without_breaker {
            Some(_) => single.without_breaker(),
            None => single,
        };
        self.send(match turn {
            CommandTurn::After(_) => of_its_id(single),
            CommandTurn::InOrder(_) => in_the_lane(single),
            CommandTurn::Alone => Request::Still(single),
            CommandTurn::Beside => Request::AtOnce(single),
        });
        reply
    }

    /// Returns the health of the journal: whether it works, and a way to wait until it does.
    pub fn health(&self) -> &Arc<StoreHealth> {
        self.inner.front.service().health()
    }

    /// Closes the journal, once everything else was answered; after that the actor makes no call of its own accord.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn close(&self) {
        self.health().rest();
        self.journal().close().await;
    }

    /// Waits until the journal is initialised.
    ///
    /// # Errors
    /// If waiting cannot cure the cause, at once.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn ready(&self) -> Result<(), StorageError> {
        self.inner.front.service().gate().ready().await
    }

    /// Waits for the end of the first attempt to initialise, at most for `initialize_timeout`: `true` if it worked,
    /// `false` if trying goes on.
    ///
    /// # Errors
    /// If waiting cannot cure the cause.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn first_attempt(&self) -> Result<bool, StorageError> {
        self.inner.front.service().gate().first_attempt().await
    }

    /// Waits for the turn to recover, in the order of asking; it lasts until the permit is dropped.
    ///
    /// The future needs a tokio timer where it is polled.
    ///
    /// # Errors
    /// [`StorageErrorKind::Timeout`] after `recovery_permit_timeout`.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the queue.
    pub fn recovery_permit(
        &self,
    ) -> impl Future<Output = Result<RecoveryPermit, StorageError>> + Send + use<> {
        self.inner.permits.clone().acquire()
    }

    /// Returns the settings of the actor in front of the journal.
    pub fn settings(&self) -> &JournalSettings {
        &self.inner.settings
    }

    /// Returns what the journal can do.
    pub fn capabilities(&self) -> &JournalCapabilities {
        &self.inner.capabilities
    }

    /// Returns the number of calls of this process so far that stored events: after each it is worth while to look for new
    /// ones.
    ///
    /// Those of a state store that stores events of its changes are among them if it was told to count them here. Other
    /// processes write, too: so this is no replacement for looking now and then.
    pub fn stored(&self) -> &Arc<Observed<u64>> {
        self.inner.front.service().stored()
    }

    /// Returns the journal itself, for what only its own type offers; calling it directly skips all care taken here.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.inner.journal
    }

    /// Waits for a moment in which no request is queued and no call is in flight.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn drained(&self) {
        self.inner.outstanding.drained().await;
    }

    /// Asks by a call that is shared with no other request; `request` says in which order it is made.
    fn call<T, F>(
        &self,
        operation: Operation,
        persistence_id: PersistenceId,
        limit: Duration,
        request: impl FnOnce(Single) -> Request,
        call: impl FnOnce(Arc<dyn Journal>, PersistenceId) -> F,
    ) -> Reply<Result<T, StorageError>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        let call = call(self.journal().clone(), persistence_id.clone());
        let request = |job| request(Single::new(job));
        self.send_job(operation, persistence_id, limit, call, request)
    }

    fn send_job<T: Send + 'static, P>(
        &self,
        operation: Operation,
        persistence_id: PersistenceId,
        limit: Duration,
        payload: P,
        request: impl FnOnce(Job<Ask<T>, P>) -> Request,
    ) -> Reply<Result<T, StorageError>> {
        let ask = Ask::new(operation, persistence_id);
        let (slot, reply) = Slot::new(ask, &self.inner.outstanding);
        self.send(request(Job {
            slot,
            deadline: deadline_after(limit),
            payload,
        }));
        reply
    }

    fn send(&self, request: Request) {
        let about = request.waiter().about();
        match about.map_or(Ok(()), PersistenceId::validate) {
            Ok(()) => self.inner.front.send(request),
            Err(invalid) => request.refuse(&invalid.into()),
        }
    }
}

/// After the earlier requests of its id, and with no other change in its lane.
fn in_the_lane(single: Single) -> Request {
    Request::Ordered(Ordered::Alone(single))
}

/// At once, whatever was found out about the journal before.
fn without_breaker(single: Single) -> Request {
    Request::AtOnce(single.without_breaker())
}

/// After the earlier requests of its id, whatever those of other ids do.
fn of_its_id(single: Single) -> Request {
    Request::Read(Read::Single(single))
}

/// Shows the settings only.
impl fmt::Debug for JournalHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalHandle")
            .field("settings", self.settings())
            .finish_non_exhaustive()
    }
}
