//! The programs.

use proptest::collection::vec;
use proptest::prelude::*;

/// An event from outside; after it everything happens that can.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A command is sent, and its answer waited for.
    Send(Command),
    /// The store answers the write that waits, if one does.
    Answer(Verdict),
    /// The store gives up what waits, and the time of a back-off passes.
    BackOff,
    /// A stopped actor is started again.
    Start,
}

/// The answer of the store to the write that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    Store,
    /// Stores nothing, because of the state.
    Reject,
    /// Stores nothing and says so.
    NotStored,
    /// Stores it, and answers that this is unknown.
    StoredUnknown,
    /// Stores nothing, and answers that this is unknown.
    LostUnknown,
    /// Another writer comes first.
    Usurped,
}

/// A command; with a last change it is answered after that is stored, otherwise at once.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) ops: Vec<Op>,
    pub(crate) last: Option<Change>,
}

/// One call of `persist` or `delete`.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) what: What,
    /// With the state; a delete has none.
    pub(crate) handler: Vec<Op>,
    pub(crate) complete: Vec<Op>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    State,
    /// Too large to be encoded.
    Unencodable,
    Delete,
}

/// An operation of code in the actor.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Change(Change),
    Defer(Vec<Op>),
    /// From now on commands are put aside.
    Close,
    /// No longer, and those put aside come first.
    Open,
    Stop,
    Panic,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..16)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => command().prop_map(Step::Send),
        7 => verdict().prop_map(Step::Answer),
        1 => Just(Step::BackOff),
        1 => Just(Step::Start),
    ]
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        12 => Just(Verdict::Store),
        2 => Just(Verdict::Reject),
        1 => Just(Verdict::NotStored),
        1 => Just(Verdict::StoredUnknown),
        1 => Just(Verdict::LostUnknown),
        1 => Just(Verdict::Usurped),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    let last = prop::option::of(change(vec(op(), 0..2).boxed()));
    (vec(op(), 0..4), last).prop_map(|(ops, last)| Command { ops, last })
}

fn change(ops: BoxedStrategy<Vec<Op>>) -> impl Strategy<Value = Change> {
    let what = prop_oneof![
        10 => Just(What::State),
        1 => Just(What::Unencodable),
        4 => Just(What::Delete),
    ];
    (what, ops.clone(), ops).prop_map(|(what, handler, complete)| Change {
        what,
        handler,
        complete,
    })
}

fn op() -> impl Strategy<Value = Op> {
    let leaf = prop_oneof![
        30 => change(Just(Vec::new()).boxed()).prop_map(Op::Change),
        8 => Just(Op::Defer(Vec::new())),
        4 => Just(Op::Close),
        6 => Just(Op::Open),
        1 => Just(Op::Stop),
        1 => Just(Op::Panic),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let ops = vec(inner, 0..3).boxed();
        prop_oneof![
            6 => change(ops.clone()).prop_map(Op::Change),
            2 => ops.prop_map(Op::Defer),
        ]
    })
}
