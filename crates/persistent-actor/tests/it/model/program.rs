//! The programs.

use proptest::collection::vec;
use proptest::prelude::*;

/// An event from outside; after it everything happens that can.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A command is sent, and its answer waited for.
    Send(Command),
    /// The journal answers the write that waits, if one does.
    Answer(Verdict),
    /// A minute passes: timers, timeouts and back-off end.
    Minute,
    /// A stopped actor is started again.
    Start,
}

/// The answer of the journal to the write that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    Store,
    /// Rejects the atomic write of this index, modulo their number, and skips those behind it.
    Reject(usize),
    /// Stores nothing and says so.
    NotStored,
    /// Stores everything, and answers that this is unknown.
    StoredUnknown,
    /// Stores nothing, and answers that this is unknown.
    LostUnknown,
}

/// A command, and the way in which it is answered.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) ops: Vec<Op>,
    pub(crate) reply: How,
}

#[derive(Clone, Debug)]
pub(crate) enum How {
    Now,
    /// With `Reply::deferred`; some [`Op::Answer`] may answer it.
    ByHandler,
    /// With a last call that has a reply.
    With(Call),
}

/// One call of `persist_all` or `persist_all_async`; of `persist` or `persist_async` if it has one event.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) stashing: bool,
    pub(crate) events: usize,
    /// True if its first event is too large to be encoded.
    pub(crate) unencodable: bool,
    /// For each event.
    pub(crate) handler: Vec<Op>,
    /// After the last one.
    pub(crate) complete: Vec<Op>,
}

/// An operation of code in the actor.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Persist(Call),
    Defer {
        stashing: bool,
        then: Vec<Op>,
    },
    /// A timer of some seconds.
    Timer(u64, Vec<Op>),
    /// A future that is ready.
    Spawn(Vec<Op>),
    /// A wait for a future that is ready.
    Wait(Vec<Op>),
    SaveSnapshot,
    /// From now on commands are put aside.
    Close,
    /// No longer, and those put aside come first.
    OpenAll,
    /// No longer, and one of those put aside comes behind what waits.
    OpenOne,
    /// Answers the command that caused this.
    Answer,
    /// Changes the metadata of what follows.
    Mark,
    Stop,
    Terminate,
    Panic,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..14)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => command().prop_map(Step::Send),
        6 => verdict().prop_map(Step::Answer),
        1 => Just(Step::Minute),
        1 => Just(Step::Start),
    ]
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        10 => Just(Verdict::Store),
        2 => (0_usize..4).prop_map(Verdict::Reject),
        1 => Just(Verdict::NotStored),
        1 => Just(Verdict::StoredUnknown),
        1 => Just(Verdict::LostUnknown),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    let reply = prop_oneof![
        2 => Just(How::Now),
        2 => Just(How::ByHandler),
        2 => call(vec(op(), 0..2).boxed()).prop_map(How::With),
    ];
    (vec(op(), 0..4), reply).prop_map(|(ops, reply)| Command { ops, reply })
}

fn call(ops: BoxedStrategy<Vec<Op>>) -> impl Strategy<Value = Call> {
    (
        any::<bool>(),
        0_usize..4,
        prop::bool::weighted(0.1),
        ops.clone(),
        ops,
    )
        .prop_map(|(stashing, events, unencodable, handler, complete)| Call {
            stashing,
            events,
            unencodable: unencodable && events > 0,
            handler,
            complete,
        })
}

fn op() -> impl Strategy<Value = Op> {
    let leaf = prop_oneof![
        30 => call(Just(Vec::new()).boxed()).prop_map(Op::Persist),
        8 => any::<bool>().prop_map(|stashing| Op::Defer { stashing, then: Vec::new() }),
        6 => Just(Op::SaveSnapshot),
        4 => Just(Op::Close),
        4 => Just(Op::OpenAll),
        4 => Just(Op::OpenOne),
        10 => Just(Op::Answer),
        4 => Just(Op::Mark),
        1 => Just(Op::Stop),
        1 => Just(Op::Terminate),
        1 => Just(Op::Panic),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let ops = vec(inner, 0..3).boxed();
        prop_oneof![
            6 => call(ops.clone()).prop_map(Op::Persist),
            2 => (any::<bool>(), ops.clone()).prop_map(|(stashing, then)| Op::Defer { stashing, then }),
            1 => (1_u64..5, ops.clone()).prop_map(|(after, then)| Op::Timer(after, then)),
            1 => ops.clone().prop_map(Op::Spawn),
            1 => ops.prop_map(Op::Wait),
        ]
    })
}
