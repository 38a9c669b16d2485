//! The actor of these tests: keeps a number, and writes down everything that happens to it.

use actix::{Actor, Handler, Message};
use actix_persistence_persistent_actor::{
    DurableState, Persist, PersistError, PersistentContext, RecoveryError, RejectionCause, Reply,
    State,
};
use actix_persistence_storage_api::{PersistenceId, Revision};
use serde::{Deserialize, Serialize};

use crate::tally::{Log, chain, kind};

/// The state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Number {
    pub(crate) n: i64,
    /// The tags by which queries find it.
    pub(crate) tags: Vec<String>,
    /// To make a state as large as a test needs.
    pub(crate) ballast: String,
}

impl State for Number {
    const MANIFEST: &'static str = "test.number";
    const VERSION: u32 = 1;

    fn tags(&self) -> Vec<String> {
        self.tags.clone()
    }
}

pub(crate) fn number(n: i64) -> Number {
    Number {
        n,
        tags: Vec::new(),
        ballast: String::new(),
    }
}

pub(crate) struct Memo {
    pub(crate) id: PersistenceId,
    pub(crate) log: Log,
    pub(crate) n: Option<i64>,
    /// Panics in `on_state` when it sees this number.
    pub(crate) poison: Option<i64>,
    /// Deletes its state in `started`, before it may.
    pub(crate) hasty: bool,
}

impl Memo {
    pub(crate) fn new(id: &str, log: &Log) -> Self {
        Self {
            id: memo_id(id),
            log: log.clone(),
            n: None,
            poison: None,
            hasty: false,
        }
    }

    pub(crate) fn factory(id: &'static str, log: &Log) -> impl FnMut() -> Self + Unpin + 'static {
        let log = log.clone();
        move || Self::new(id, &log)
    }
}

pub(crate) fn memo_id(id: &str) -> PersistenceId {
    PersistenceId::of("Memo", id)
}

impl Actor for Memo {
    type Context = PersistentContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        if self.hasty {
            ctx.delete().detach();
        }
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.log.add("stopped");
    }
}

impl DurableState for Memo {
    type State = Number;

    fn persistence_id(&self) -> PersistenceId {
        self.id.clone()
    }

    fn on_state(&mut self, state: Option<&Number>) {
        self.n = state.map(|state| state.n);
        assert!(self.poison.is_none() || self.poison != self.n, "poisoned");
        self.log.add(format!("state {}", shown(self.n)));
    }

    fn on_recovery_completed(&mut self, ctx: &mut Self::Context) {
        assert!(ctx.is_recovery_finished() && !ctx.is_recovering());
        self.log.add(format!("recovered at {}", ctx.revision()));
    }

    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        self.log.add(format!("recovery failed: {}", chain(error)));
    }

    fn on_persist_failure(
        &mut self,
        error: &PersistError,
        state: Option<&Number>,
        revision: Revision,
    ) {
        let state = shown(state.map(|state| state.n));
        self.log
            .add(format!("failed {state} at {revision}: {}", kind(error)));
    }

    fn on_persist_rejected(
        &mut self,
        _: &RejectionCause,
        state: Option<&Number>,
        _: &mut Self::Context,
    ) {
        let state = shown(state.map(|state| state.n));
        self.log.add(format!("rejected {state}"));
    }
}

pub(crate) fn shown(n: Option<i64>) -> String {
    n.map_or("none".to_owned(), |n| n.to_string())
}

pub(crate) type Answer = Result<Option<i64>, PersistError>;

/// Persists the number and answers with what the actor has then.
#[derive(Message)]
#[rtype(result = "Answer")]
pub(crate) struct Set(pub(crate) i64);

impl Handler<Set> for Memo {
    type Result = Reply<Set>;

    fn handle(&mut self, set: Set, ctx: &mut Self::Context) -> Reply<Set> {
        self.log.add(format!("command {}", set.0));
        persist(ctx, set.0)
            .then(|memo, state, _| memo.log.add(format!("handler {}", state.n)))
            .reply(|memo| Ok(memo.n))
    }
}

pub(crate) fn persist(ctx: &mut PersistentContext<Memo>, n: i64) -> Persist<Memo> {
    ctx.persist(number(n))
}

/// Deletes the state and answers with what the actor has then.
#[derive(Message)]
#[rtype(result = "Answer")]
pub(crate) struct Clear;

impl Handler<Clear> for Memo {
    type Result = Reply<Clear>;

    fn handle(&mut self, _: Clear, ctx: &mut Self::Context) -> Reply<Clear> {
        self.log.add("command clear");
        ctx.delete()
            .on_complete(|memo, _| memo.log.add("completed"))
            .reply(|memo| Ok(memo.n))
    }
}

/// Asks for the number and its revision; persists nothing.
#[derive(Message)]
#[rtype(result = "(Option<i64>, Revision)")]
pub(crate) struct Get;

impl Handler<Get> for Memo {
    type Result = actix::MessageResult<Get>;

    fn handle(&mut self, _: Get, ctx: &mut Self::Context) -> Self::Result {
        actix::MessageResult((self.n, ctx.revision()))
    }
}

/// Runs code in the actor.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Run(Code);

type Code = Box<dyn FnOnce(&mut Memo, &mut PersistentContext<Memo>) + Send>;

impl Run {
    pub(crate) fn new(
        code: impl FnOnce(&mut Memo, &mut PersistentContext<Memo>) + Send + 'static,
    ) -> Self {
        Self(Box::new(code))
    }
}

impl Handler<Run> for Memo {
    type Result = ();

    fn handle(&mut self, run: Run, ctx: &mut Self::Context) {
        (run.0)(self, ctx);
    }
}
