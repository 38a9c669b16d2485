//! Plays a program with a real actor on the real store actor.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use actix::{Actor, ActorContext, Addr, Handler, MailboxError, Message};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    BackOffSettings, DEFAULT_STATE_LIMIT, DurableState, NoEvent, Persist, PersistError,
    PersistentContext, RejectionCause, Reply,
};
use actix_persistence_state_actor::StateSettings;
use actix_persistence_storage_api::{PersistenceId, Revision, StateStore, StateUpdate};
use futures_util::FutureExt;

use super::super::memo::{Number, memo_id, number, shown};
use super::super::state_world::StateWorld;
use super::Observed;
use super::program::{Change, Command, Op, Step, Verdict, What};
use super::stepping_states::{Stepping, SteppingStates};
use crate::tally::{Log, kind};

/// Shorter than the store may take for a write that begins right after it.
const BACK_OFF: Duration = Duration::from_secs(3);

type Answer = Result<usize, PersistError>;

/// The counter that incarnations share: one number for each state and each callback, in the order of the calls.
#[derive(Clone, Default)]
struct Numbers(Arc<AtomicI64>);

impl Numbers {
    fn next(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

struct Player {
    log: Log,
    numbers: Numbers,
    state: Option<i64>,
    closed: bool,
}

impl Actor for Player {
    type Context = PersistentContext<Self>;

    fn stopped(&mut self, ctx: &mut Self::Context) {
        let (state, revision) = (shown(self.state), ctx.revision());
        self.log.add(format!("stopped with {state} at {revision}"));
    }
}

impl DurableState for Player {
    type State = Number;

    fn persistence_id(&self) -> PersistenceId {
        memo_id("1")
    }

    fn back_off(&self) -> Option<BackOffSettings> {
        Some(
            BackOffSettings::default()
                .with_max(BACK_OFF)
                .with_random_factor(0.0),
        )
    }

    fn on_state(&mut self, state: Option<&Number>) {
        self.state = state.map(|state| state.n);
        self.log.add(format!("state {}", shown(self.state)));
    }

    fn on_recovery_completed(&mut self, ctx: &mut Self::Context) {
        self.log.add(format!("recovered at {}", ctx.revision()));
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

/// A command with the number of its ask.
#[derive(Message)]
#[rtype(result = "Answer")]
struct Play(usize, Command);

impl Handler<Play> for Player {
    type Result = Reply<Play>;

    fn handle(&mut self, play: Play, ctx: &mut Self::Context) -> Reply<Play> {
        if self.closed && !play.1.opens() {
            self.log.add(format!("aside {}", play.0));
            return ctx.stash(play);
        }
        let Play(ask, command) = play;
        self.log.add(format!("command {ask}"));
        self.play(command.ops, ctx);
        match command.last {
            None => Reply::now(Ok(ask)),
            Some(change) => self.change(change, ctx).reply(move |player| {
                player.log.add(format!("answer {ask}"));
                Ok(ask)
            }),
        }
    }
}

impl Command {
    /// Returns whether it must not be put aside, because others wait for it.
    pub(crate) fn opens(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Open))
    }
}

impl Player {
    fn play(&mut self, ops: Vec<Op>, ctx: &mut PersistentContext<Self>) {
        for op in ops {
            self.perform(op, ctx);
        }
    }

    fn perform(&mut self, op: Op, ctx: &mut PersistentContext<Self>) {
        match op {
            Op::Change(change) => self.change(change, ctx).detach(),
            Op::Defer(then) => ctx.defer(self.callback("deferred", then)).detach(),
            Op::Close => self.closed = true,
            Op::Open => {
                self.closed = false;
                ctx.unstash_all();
            }
            Op::Stop => ctx.stop(),
            Op::Panic => std::panic::resume_unwind(Box::new("scripted")),
        }
    }

    fn callback(
        &self,
        name: &'static str,
        then: Vec<Op>,
    ) -> impl FnOnce(&mut Self, &mut PersistentContext<Self>) + 'static {
        let number = self.numbers.next();
        move |player, ctx| {
            player.log.add(format!("{name} {number}"));
            player.play(then, ctx);
        }
    }

    fn change(&self, change: Change, ctx: &mut PersistentContext<Self>) -> Persist<Self, NoEvent> {
        let handler = change.handler;
        if let What::Delete = change.what {
            let completed = self.callback("completed", change.complete);
            return ctx.delete().on_complete(completed);
        }
        let state = self.state(change.what);
        let completed = self.callback("completed", change.complete);
        ctx.persist(state)
            .then(move |player: &mut Self, state, ctx| {
                let entry = format!("handler {} at {}", state.n, ctx.revision());
                player.log.add(entry);
                player.play(handler, ctx);
            })
            .on_complete(completed)
    }

    fn state(&self, what: What) -> Number {
        let mut state = number(self.numbers.next());
        if what == What::Unencodable {
            state.ballast = "x".repeat(DEFAULT_STATE_LIMIT);
        }
        state
    }
}

/// The stage on which a program is played.
struct Stage {
    world: StateWorld,
    states: Arc<Stepping>,
    log: Log,
    numbers: Numbers,
}

impl Stage {
    fn new() -> Self {
        let storage = MemoryStorage::new();
        let states = SteppingStates::around(storage.state_store());
        let never_open = |settings: &mut StateSettings| {
            // Programs fail more often than a breaker would have it.
            settings.circuit_breaker.max_failures = u32::MAX;
        };
        Self {
            world: StateWorld::tuned(storage, states.clone(), never_open, |_| {}),
            states,
            log: Log::default(),
            numbers: Numbers::default(),
        }
    }

    fn start(&self) -> Addr<Player> {
        let (log, numbers) = (self.log.clone(), self.numbers.clone());
        let player = self.world.start(move || Player {
            log: log.clone(),
            numbers: numbers.clone(),
            state: None,
            closed: false,
        });
        player.unwrap()
    }

    async fn answer(&self, verdict: Verdict) {
        if let (Verdict::Usurped, true) = (verdict, self.states.is_waiting()) {
            let id = memo_id("1");
            let store = self.world.storage.state_store();
            let found = store.get(&id).await.unwrap().revision;
            let state = serde_json::to_vec(&number(self.numbers.next())).unwrap();
            let payload = actix_persistence_storage_api::Payload::new(2, "test.number:v1", state);
            let update = StateUpdate::new(id, found + 1, payload);
            store.upsert(update).await.unwrap();
        }
        self.states.answer(verdict);
        settle().await;
    }

    /// Lets every write be stored.
    async fn end(&self) {
        while self.states.is_waiting() {
            self.answer(Verdict::Store).await;
        }
    }

    async fn back_off(&self) {
        self.answer(Verdict::LostUnknown).await;
        tokio::time::sleep(BACK_OFF).await;
        settle().await;
    }
}

/// Lets everything happen that can: the clock goes on only when no task has anything to do.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

pub(crate) async fn play(steps: Vec<Step>) -> Observed {
    let stage = Stage::new();
    let mut player = stage.start();
    settle().await;
    let (mut asks, count) = (Vec::new(), steps.len());
    for step in steps {
        match step {
            Step::Send(command) => {
                let ask = asks.len();
                asks.push(actix::spawn(player.send(Play(ask, command))));
            }
            Step::Answer(verdict) => stage.answer(verdict).await,
            Step::BackOff => stage.back_off().await,
            Step::Start if stage.world.environment.live_ids.is_empty() => player = stage.start(),
            Step::Start => {}
        }
        settle().await;
    }
    for _ in 0..=count {
        stage.end().await;
        stage.back_off().await;
    }
    drop(player);
    finish(&stage, asks).await
}

type Ask = tokio::task::JoinHandle<Result<Answer, MailboxError>>;

async fn finish(stage: &Stage, asks: Vec<Ask>) -> Observed {
    settle().await;
    let mut observed = Observed {
        log: stage.log.take(),
        ..Observed::default()
    };
    for ask in asks {
        let answer = ask.now_or_never().map(|joined| joined.unwrap());
        observed.answers.push(match answer {
            None => "waits for ever".to_owned(),
            Some(Err(MailboxError::Closed)) => "Closed".to_owned(),
            Some(Err(error)) => format!("{error:?}"),
            Some(Ok(Err(error))) => kind(&error),
            Some(Ok(Ok(ask))) => ask.to_string(),
        });
    }
    let stored = stage.world.stored(&memo_id("1")).await;
    let state = stored.state.map(|state| {
        let payload = state.payload;
        let state: Number = match payload.serializer_id {
            1 => rmp_serde::from_slice(&payload.bytes).unwrap(),
            _ => serde_json::from_slice(&payload.bytes).unwrap(),
        };
        state.n
    });
    observed.stored = (stored.revision, state);
    let last = stage.start();
    settle().await;
    drop(last);
    settle().await;
    let recovered = stage.log.take().remove(0);
    let state = recovered.strip_prefix("state ").unwrap();
    observed.state = state.parse().ok();
    observed
}
