//! A journal whose every call is answered by the test.

use std::fmt;
use std::time::Duration;

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    AtomicWrite, CommandAnswer, CommandRules, CommandTurn, JournalCapabilities, JournalCommand,
    PersistenceId, ReplayPage, SequenceNr, StorageError, StorageErrorKind, StreamHead,
    TakeOverRequest, TakenOver, WriteOutcome,
};
use actix_persistence_testkit::{
    GivenOnce, Held, HeldCall, Intercepted, JournalAnswer, JournalCall, Journals, Rule, Verdict,
};
use tokio::time::timeout;

/// Hands each call to the test and does what the test says.
pub(crate) struct ScriptedJournal;

/// The test's end.
pub(crate) struct Calls {
    held: Held<Journals>,
    pings_fail: Rule,
}

/// A call under way.
pub(crate) struct Called {
    pub(crate) call: Call,
    held: HeldCall<Journals>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    Initialize,
    Head(PersistenceId),
    TakeOver(Vec<TakeOverRequest>),
    Write(Vec<AtomicWrite>),
    Replay(PersistenceId),
    ReadHighest(PersistenceId),
    Delete(PersistenceId, SequenceNr),
    Command(CommandTurn),
}

/// A command that the journal knows; the answer is 7.
pub(crate) struct Probe(pub(crate) CommandRules);

impl JournalCommand for Probe {
    type Answer = u64;

    fn rules(&self) -> CommandRules {
        self.0.clone()
    }
}

/// The answer to a call that the usual one does not fit.
pub(crate) enum Answer {
    Works,
    Fails(StorageError),
    Outcomes(Vec<WriteOutcome>),
    Panics,
}

impl ScriptedJournal {
    #[allow(clippy::new_ret_no_self)] // the journal and the test's end of it
    pub(crate) fn new(capabilities: JournalCapabilities) -> (Intercepted<Journals>, Calls) {
        let journal = Intercepted::journal(MemoryJournal::new()).with_capabilities(capabilities);
        let pings_fail = journal.on_ping().fail(StorageErrorKind::Unavailable);
        let is_ping = |call: &JournalCall| matches!(call, JournalCall::Ping);
        let held = journal
            .on_every_call()
            .matching(move |call| !is_ping(call))
            .hold();
        journal.on_every_call().decide(usual);
        (journal, Calls { held, pings_fail })
    }
}

/// Answers for a journal of ids that are all at number 7.
fn usual(call: &JournalCall) -> Verdict<JournalAnswer> {
    let taken = TakenOver {
        highest_sequence_nr: 7,
        deleted_to: 0,
        epoch: 1,
    };
    Verdict::Answer(match call {
        JournalCall::ReadHead { .. } => JournalAnswer::Head(StreamHead {
            highest_sequence_nr: 7,
            epoch: 1,
            ..StreamHead::default()
        }),
        JournalCall::TakeOver { requests } => JournalAnswer::TakenOver(vec![taken; requests.len()]),
        JournalCall::WriteMessages { writes } => {
            JournalAnswer::Outcomes(vec![WriteOutcome::Stored; writes.len()])
        }
        JournalCall::ReplayMessages { .. } => {
            JournalAnswer::Page(ReplayPage::new(Vec::new(), false, 0))
        }
        JournalCall::ReadHighestSequenceNr { .. } => JournalAnswer::HighestSequenceNr(7),
        JournalCall::RunCommand { command } => {
            let probe = command.get::<Probe>();
            let answer = probe.map(|probe| CommandAnswer::to(probe, 7));
            JournalAnswer::Command(GivenOnce::new(answer))
        }
        _ => JournalAnswer::Done,
    })
}

impl Calls {
    /// The next call; fails the test if none comes within a virtual hour.
    pub(crate) async fn next(&mut self) -> Called {
        let next = timeout(Duration::from_secs(3_600), self.held.next()).await;
        Called::of(next.expect("a call should have come"))
    }

    /// The next call, which must be a write: of which ids, in order.
    pub(crate) async fn next_write(&mut self) -> (Called, Vec<String>) {
        let called = self.next().await;
        let ids = called.written_ids();
        (called, ids)
    }

    /// Lets pings work from now on; they never come to the test.
    pub(crate) fn answer_pings(&self) {
        self.pings_fail.end();
    }

    /// Returns whether no call is waiting for its answer that the test has not seen.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        settle().await;
        self.held.waiting() == 0
    }

    /// The next call; none when the journal is gone.
    pub(crate) async fn recv(&mut self) -> Option<Called> {
        self.held.next_or_end().await.map(Called::of)
    }
}

impl Called {
    fn of(held: HeldCall<Journals>) -> Self {
        let call = match held.call().clone() {
            JournalCall::Initialize => Call::Initialize,
            JournalCall::ReadHead { persistence_id } => Call::Head(persistence_id),
            JournalCall::TakeOver { requests } => Call::TakeOver(requests),
            JournalCall::WriteMessages { writes } => Call::Write(writes),
            JournalCall::ReplayMessages { persistence_id, .. } => Call::Replay(persistence_id),
            JournalCall::ReadHighestSequenceNr { persistence_id, .. } => {
                Call::ReadHighest(persistence_id)
            }
            JournalCall::DeleteMessagesTo {
                persistence_id,
                deletion,
            } => Call::Delete(persistence_id, deletion.to),
            JournalCall::RunCommand { command } => Call::Command(command.rules().turn.clone()),
            other => panic!("no test leads to {other:?}"),
        };
        Self { call, held }
    }

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

    /// Answers a command by this, which may be the answer to another one.
    pub(crate) fn answers(self, answer: CommandAnswer) {
        let answer = JournalAnswer::Command(GivenOnce::new(Some(answer)));
        self.held.decide(Verdict::Answer(answer));
    }

    /// Never gives anything.
    pub(crate) fn hangs(self) {
        self.held.hang();
    }

    pub(crate) fn gives(self, answer: Answer) {
        self.held.decide(match answer {
            Answer::Works => Verdict::Pass,
            Answer::Fails(error) => Verdict::fail(error),
            Answer::Outcomes(outcomes) => Verdict::Answer(JournalAnswer::Outcomes(outcomes)),
            Answer::Panics => Verdict::Panic("scripted".to_owned()),
        });
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
