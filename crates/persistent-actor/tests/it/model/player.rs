//! Plays a program with a real actor on real store actors.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use actix::fut::{ActorFutureExt, wrap_future};
use actix::{Actor, ActorContext, AsyncContext, Handler, MailboxError, Message};
use actix_persistence_journal_actor::JournalSettings;
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    BackOffSettings, DEFAULT_EVENT_LIMIT, Event, EventMeta, Metadata, NoEvent, Persist,
    PersistError, PersistentActor, PersistentContext, RejectionCause, Reply, Snapshot,
    SnapshotOffer, StoreResponse, replay_events,
};
use actix_persistence_snapshot_actor::SnapshotSettings;
use actix_persistence_storage_api::{Journal, PageLimit, PersistenceId, ReplayRange, SequenceNr};
use futures_util::FutureExt;
use serde::{Deserialize, Serialize};

use super::Observed;
use super::program::{Call, Command, How, Op, Step, Verdict};
use super::reference::timer_millis;
use super::stepping_journal::SteppingJournal;
use crate::tally::{Log, kind};
use crate::world::World;

type Answer = Result<i64, PersistError>;

#[derive(Serialize, Deserialize)]
struct Happened {
    n: i64,
    led: Led,
    ballast: String,
}

/// The cause of code, handed on from call to call: what its metadata have to say, which travels by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Led {
    /// The number of the ask.
    ask: i64,
    /// The last mark that was set.
    mark: Option<i64>,
    /// The event whose handler led to it.
    by: Option<i64>,
}

impl Led {
    /// Returns that of the handlers of an event.
    fn by(&self, event: &Happened) -> Self {
        Self {
            by: Some(event.n),
            ..self.clone()
        }
    }
}

impl Event for Happened {
    const MANIFEST: &'static str = "test.happened";
    const VERSION: u32 = 1;
}

#[derive(Serialize, Deserialize)]
struct State(Vec<i64>);

impl Snapshot for State {
    const MANIFEST: &'static str = "test.state";
    const VERSION: u32 = 1;
}

/// The counter that incarnations share: one number for each event and each callback, in the order of the calls.
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
    state: Vec<i64>,
    closed: bool,
}

impl Actor for Player {
    type Context = PersistentContext<Self>;

    fn stopped(&mut self, _: &mut Self::Context) {
        self.log.add(format!("stopped with {:?}", self.state));
    }
}

impl PersistentActor for Player {
    type Event = Happened;
    type Snapshot = State;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Player", "1")
    }

    fn back_off(&self) -> Option<BackOffSettings> {
        let mut settings = BackOffSettings::default();
        settings.max = settings.min;
        settings.random_factor = 0.0;
        Some(settings)
    }

    fn on_event(&mut self, event: &Happened) {
        self.log.add(format!("event {}", event.n));
        self.state.push(event.n);
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<State>) {
        let nr = offer.metadata.sequence_nr;
        self.log.add(format!("snapshot {nr}"));
        self.state = offer.snapshot.0;
    }

    fn on_recovery_completed(&mut self, ctx: &mut Self::Context) {
        self.log
            .add(format!("recovered at {}", ctx.last_sequence_nr()));
    }

    fn on_persist_failure(&mut self, error: &PersistError, event: &Happened, nr: SequenceNr) {
        self.log
            .add(format!("failed {} at {nr}: {}", event.n, kind(error)));
    }

    fn on_persist_rejected(&mut self, _: &RejectionCause, event: &Happened, _: &mut Self::Context) {
        self.log.add(format!("rejected {}", event.n));
    }

    fn on_store_response(&mut self, response: StoreResponse, _: &mut Self::Context) {
        if let StoreResponse::SaveSnapshotSuccess { metadata } = response {
            self.log.add(format!("saved {}", metadata.sequence_nr));
        }
    }
}

/// A command with the number of its ask.
#[derive(Message)]
#[rtype(result = "Answer")]
struct Play(i64, Command);

impl Handler<Play> for Player {
    type Result = Reply<Play>;

    fn handle(&mut self, play: Play, ctx: &mut Self::Context) -> Reply<Play> {
        if self.closed && !play.1.opens() {
            self.log.add(format!("aside {}", play.0));
            return ctx.stash(play);
        }
        let Play(ask, command) = play;
        self.log.add(format!("command {ask}"));
        let mut led = Led {
            ask,
            ..Led::default()
        };
        self.play(command.ops, &mut led, ctx);
        match command.reply {
            How::Now => Reply::now(Ok(ask)),
            How::ByHandler => Reply::deferred(),
            How::With(call) => self.persist(call, &led, ctx).reply(move |player| {
                player.log.add(format!("answer {ask}"));
                Ok(ask)
            }),
        }
    }
}

impl Command {
    /// Returns whether it must not be put aside, because others wait for it.
    pub(crate) fn opens(&self) -> bool {
        self.ops
            .iter()
            .any(|op| matches!(op, Op::OpenAll | Op::OpenOne))
    }
}

impl Player {
    fn play(&mut self, ops: Vec<Op>, led: &mut Led, ctx: &mut PersistentContext<Self>) {
        for op in ops {
            self.perform(op, led, ctx);
        }
    }

    fn perform(&mut self, op: Op, led: &mut Led, ctx: &mut PersistentContext<Self>) {
        match op {
            Op::Persist(call) => self.persist(call, led, ctx).detach(),
            Op::Defer { stashing, then } => {
                let handler = self.callback("deferred", then, led);
                if stashing {
                    ctx.defer(handler).detach();
                } else {
                    ctx.defer_async(handler).detach();
                }
            }
            Op::Timer(after, then) => {
                let after = Duration::from_millis(timer_millis(after));
                ctx.run_later(after, self.callback("timer", then, led));
            }
            Op::Spawn(then) => {
                let callback = self.callback("spawned", then, led);
                let future = wrap_future::<_, Self>(std::future::ready(()));
                ctx.spawn(future.map(|(), player, ctx| callback(player, ctx)));
            }
            Op::Wait(then) => {
                let callback = self.callback("waited", then, led);
                let future = wrap_future::<_, Self>(std::future::ready(()));
                ctx.wait(future.map(|(), player, ctx| callback(player, ctx)));
            }
            Op::SaveSnapshot => ctx.save_snapshot(&State(self.state.clone())),
            Op::Close => self.closed = true,
            Op::OpenAll => {
                self.closed = false;
                ctx.unstash_all();
            }
            Op::OpenOne => {
                self.closed = false;
                ctx.unstash();
            }
            Op::Answer => {
                let number = self.numbers.next();
                let taken = ctx.reply_to::<Play>().send(Ok(number)).is_ok();
                self.log.add(format!("answered {number}: {taken}"));
            }
            Op::Mark => {
                let mark = self.numbers.next();
                led.mark = Some(mark);
                let metadata = ctx.metadata().with_entry("mark", mark.to_string());
                ctx.set_metadata(metadata.unwrap());
            }
            Op::Stop => ctx.stop(),
            Op::Terminate => ctx.terminate(),
            Op::Panic => std::panic::resume_unwind(Box::new("scripted")),
        }
    }

    fn callback(
        &self,
        name: &'static str,
        then: Vec<Op>,
        led: &Led,
    ) -> impl FnOnce(&mut Self, &mut PersistentContext<Self>) + 'static {
        let (number, mut led) = (self.numbers.next(), led.clone());
        move |player, ctx| {
            player.log.add(format!("{name} {number}"));
            player.play(then, &mut led, ctx);
        }
    }

    fn persist(
        &self,
        call: Call,
        led: &Led,
        ctx: &mut PersistentContext<Self>,
    ) -> Persist<Self, NoEvent> {
        let ballast = if call.unencodable {
            DEFAULT_EVENT_LIMIT
        } else {
            0
        };
        let mut events: Vec<_> = (0..call.events)
            .map(|index| Happened {
                n: self.numbers.next(),
                led: led.clone(),
                ballast: "x".repeat(if index == 0 { ballast } else { 0 }),
            })
            .collect();
        let (then, after) = (call.handler, events.last().map(|event| led.by(event)));
        let handlers = led.clone();
        let handler =
            move |player: &mut Self, event: &Happened, ctx: &mut PersistentContext<Self>| {
                player.log.add(format!("handler {}", event.n));
                player.play(then.clone(), &mut handlers.by(event), ctx);
            };
        let completed = self.callback("completed", call.complete, after.as_ref().unwrap_or(led));
        match (call.stashing, events.len()) {
            (true, 1) => ctx
                .persist(events.remove(0))
                .then(handler)
                .on_complete(completed),
            (false, 1) => ctx
                .persist_async(events.remove(0))
                .then(handler)
                .on_complete(completed),
            (true, _) => ctx
                .persist_all(events)
                .for_each_event(handler)
                .on_complete(completed),
            (false, _) => ctx
                .persist_all_async(events)
                .for_each_event(handler)
                .on_complete(completed),
        }
    }
}

/// Lets everything happen that can: the clock goes on only when no task has anything to do.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

pub(crate) async fn play(steps: Vec<Step>) -> Observed {
    let storage = MemoryStorage::new();
    let journal = SteppingJournal::around(storage.journal());
    let snapshots = Arc::new(storage.snapshot_store());
    let never_open = |journal: &mut JournalSettings, _: &mut SnapshotSettings| {
        // Programs fail more often than a breaker would have it.
        journal.circuit_breaker.max_failures = u32::MAX;
    };
    let world = World::tuned(storage, journal.clone(), snapshots, never_open, |_| {});
    let (log, numbers) = (Log::default(), Numbers::default());
    let start = || {
        let (log, numbers) = (log.clone(), numbers.clone());
        world
            .start(move || Player {
                log: log.clone(),
                numbers: numbers.clone(),
                state: Vec::new(),
                closed: false,
            })
            .unwrap()
    };
    let mut player = start();
    settle().await;
    let mut asks = Vec::new();
    for step in steps {
        match step {
            Step::Send(command) => {
                let ask = asks.len() as i64;
                let metadata = Metadata::new().with_correlation_id(ask.to_string());
                let play = Play(ask, command);
                let answer = metadata.unwrap().scope(|| player.send(play));
                let answer = actix::spawn(answer);
                asks.push(answer);
            }
            Step::Answer(verdict) => journal.answer(verdict),
            Step::Minute => tokio::time::sleep(Duration::from_secs(60)).await,
            Step::Start if world.environment.live_ids.is_empty() => player = start(),
            Step::Start => {}
        }
        settle().await;
    }
    // Everything that can still happen.
    while journal.is_waiting() {
        journal.answer(Verdict::Store);
        settle().await;
    }
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    finish(&world, &log, asks, player, start).await
}

type Ask = tokio::task::JoinHandle<Result<Answer, MailboxError>>;

async fn finish(
    world: &World,
    log: &Log,
    asks: Vec<Ask>,
    player: actix::Addr<Player>,
    start: impl Fn() -> actix::Addr<Player>,
) -> Observed {
    drop(player);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let mut observed = Observed {
        log: log.take(),
        ..Observed::default()
    };
    for ask in asks {
        let answer = ask.now_or_never().map(|joined| joined.unwrap());
        observed.answers.push(match answer {
            None => "waits for ever".to_owned(),
            Some(Err(MailboxError::Closed)) => "Closed".to_owned(),
            Some(Err(error)) => format!("{error:?}"),
            Some(Ok(Err(error))) => kind(&error),
            Some(Ok(Ok(number))) => number.to_string(),
        });
    }
    let id = PersistenceId::of("Player", "1");
    let journal = world.storage.journal();
    let range = ReplayRange::new(1, SequenceNr::MAX);
    let page = journal.replay_messages(&id, range, PageLimit::DEFAULT);
    for (expected, record) in (1..).zip(page.await.unwrap().events) {
        assert_eq!(record.sequence_nr, expected, "numbers are gap-free");
        let event: Happened = rmp_serde::from_slice(&record.payload.bytes).unwrap();
        observed.stored.push(event.n);
    }
    check_metadata(world, id).await;
    let last = start();
    settle().await;
    drop(last);
    settle().await;
    let end = log.take().pop().unwrap();
    let state = end.strip_prefix("stopped with ").unwrap();
    observed.state = serde_json::from_str(state).unwrap();
    observed
}

/// Checks that each stored event has the metadata of the command that led to it, and the cause.
async fn check_metadata(world: &World, id: PersistenceId) {
    let numbers = HashMap::new();
    let each = |numbers: &mut HashMap<i64, SequenceNr>, meta: &EventMeta, event: Happened| {
        numbers.insert(event.n, meta.sequence_nr);
        let Led { ask, mark, by } = event.led;
        let metadata = &meta.metadata;
        assert_eq!(metadata.correlation_id(), Some(&*ask.to_string()));
        assert_eq!(
            metadata.entry("mark"),
            mark.map(|mark| mark.to_string()).as_deref()
        );
        let cause = by.map(|event| format!("Player|1#{}", numbers[&event]));
        assert_eq!(metadata.causation_id(), cause.as_deref());
    };
    let (environment, all) = (&world.environment, ReplayRange::ALL);
    replay_events(environment, id, all, numbers, each)
        .await
        .unwrap();
}
