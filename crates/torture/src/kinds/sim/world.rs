//! The world of one history: processes come, write, read, are killed and go; in the end everything works, and one more
//! looks.

mod readers;
mod rows;
mod states;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence_history::{Answer, Done, History, Operation};
use actix_persistence_journal_actor::{JournalHandle, JournalSettings};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{Environment, replay_actor, start};
use actix_persistence_snapshot_actor::{SnapshotHandle, SnapshotSettings};
use actix_persistence_state_actor::{StateHandle, StateSettings};
use actix_persistence_store_actor::StoreThread;
use fastrand::Rng;
use futures_util::future::join_all;

use super::ledger::{Ledger, Silence};
use super::stores::{SIMULATED, SimStores};
use crate::workers::Scribe;
use crate::workers::stream::{Retaining, Stream, Write, stream_id};
use readers::Slot;

/// The largest number of processes that run at once.
const MOST_PLACES: usize = 3;
/// The largest number of processes that follow each other.
const MOST_LIVES: usize = 3;
const STREAMS: u32 = 2;
const STATES: u32 = 2;
/// The largest number of groups of commands that a client sends before its actor is let go.
const LONGEST_BURST: u32 = 4;
const LARGEST_GROUP: usize = 3;
const LARGEST_BATCH: usize = 4;
/// The longest time after which a process is killed, or ends.
const LONGEST_LIFE: Duration = Duration::from_secs(8);
/// The time after which a client that gets no answer asks again.
const PATIENCE: Duration = Duration::from_secs(90);
/// So few bytes of snapshots each second that saves wait for each other.
const SLOW_PACE: u64 = 100;
/// The time until which everything is done that comes late.
const AFTERMATH: Duration = Duration::from_secs(600);

/// The outcome of a seed.
pub(super) struct Played {
    pub(super) history: History,
    /// Sentences about everything else that is wrong.
    pub(super) faults: Vec<String>,
    pub(super) acknowledged: u64,
    pub(super) not_acknowledged: u64,
    pub(super) kills: u64,
    pub(super) looks: u64,
    pub(super) shown: u64,
}

thread_local! {
    /// The messages of recoveries that failed although no simulated fault explains it.
    static TROUBLE: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// A failed recovery must have been simulated, or be overtaken by a delete.
fn trouble(error: &RecoveryError) {
    let text = format!("{error:?}");
    let expected = text.contains(SIMULATED)
        || error.is_transient()
        || matches!(error, RecoveryError::Overtaken { .. });
    if !expected {
        TROUBLE.with_borrow_mut(|trouble| trouble.push(format!("a recovery failed: {error:?}")));
    }
}

struct Scene {
    storage: MemoryStorage,
    ledger: Ledger,
    retaining: Option<Retaining>,
    fault_in: u32,
    acknowledged: Cell<u64>,
    not_acknowledged: Cell<u64>,
    kills: Cell<u64>,
    /// The number of readers so far.
    readers: Cell<u64>,
    /// The number of looks of readers, and that of the changes that they were shown.
    looks: Cell<u64>,
    shown: Cell<u64>,
    /// The ids of new states that somebody tried to store.
    inserted: RefCell<Vec<PersistenceId>>,
    faults: RefCell<Vec<String>>,
}

/// A simulated process.
struct Process {
    scene: Rc<Scene>,
    scribe: Arc<Scribe>,
    silence: Silence,
    stores: Arc<SimStores>,
    events: Arc<Environment>,
    states: Arc<Environment>,
    state_handle: StateHandle,
    ended: Cell<bool>,
}

/// Plays the history of this seed; the clock moves only while every task waits.
pub(super) fn play(seed: u64) -> anyhow::Result<Played> {
    // What the product draws is drawn from the seed, too.
    fastrand::seed(seed);
    TROUBLE.take();
    let system = System::with_tokio_rt(|| {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        runtime.expect("a runtime needs no more than the last one did")
    });
    let mut rng = Rng::with_seed(seed);
    let scene = Rc::new(Scene {
        storage: MemoryStorage::new(),
        ledger: Ledger::default(),
        retaining: (rng.u8(..4) > 0).then(|| Retaining {
            every: rng.u64(1..=5),
            keep: rng.usize(1..=2),
        }),
        fault_in: [6, 15, 60][rng.usize(..3)],
        acknowledged: Cell::new(0),
        not_acknowledged: Cell::new(0),
        kills: Cell::new(0),
        readers: Cell::new(0),
        looks: Cell::new(0),
        shown: Cell::new(0),
        inserted: RefCell::default(),
        faults: RefCell::default(),
    });
    system.block_on(all(Rc::clone(&scene), rng));
    let mut faults = scene.faults.take();
    faults.extend(TROUBLE.take());
    faults.extend(scene.ledger.faults());
    Ok(Played {
        history: scene.ledger.end(),
        faults,
        acknowledged: scene.acknowledged.get(),
        not_acknowledged: scene.not_acknowledged.get(),
        kills: scene.kills.get(),
        looks: scene.looks.get(),
        shown: scene.shown.get(),
    })
}

async fn all(scene: Rc<Scene>, mut rng: Rng) {
    let mut slots = Vec::new();
    let places = (0..rng.usize(1..=MOST_PLACES)).map(|_| {
        let (scene, mut rng) = (Rc::clone(&scene), rng.fork());
        let readers = Slot::some(&mut rng);
        slots.extend(readers.clone());
        async move {
            for _ in 0..rng.usize(1..=MOST_LIVES) {
                let process = Process::begin(&scene, &mut rng, Some(scene.fault_in));
                process.live(&readers, &mut rng).await;
            }
        }
    });
    join_all(places).await;
    tokio::time::sleep(AFTERMATH).await;
    let survivor = Rc::new(Process::begin(&scene, &mut rng, None));
    survivor.everything_works(&mut rng).await;
    survivor.catch_up(slots).await;
    scene.rows().await;
}

impl Process {
    fn begin(scene: &Rc<Scene>, rng: &mut Rng, fault_in: Option<u32>) -> Self {
        let (scribe, silence) = scene.ledger.process();
        let stores = SimStores::new(&scene.storage, rng.u64(..), fault_in);
        let thread = StoreThread::on_current_arbiter();
        let runtime = tokio::runtime::Handle::current();
        let journal = JournalHandle::start(
            stores.clone(),
            JournalSettings::new("sim"),
            runtime.clone(),
            &thread,
        );
        let mut snapshot_settings = SnapshotSettings::new("sim");
        if rng.bool() {
            snapshot_settings.bytes_per_second = SLOW_PACE;
        }
        let snapshots =
            SnapshotHandle::start(stores.clone(), snapshot_settings, runtime.clone(), &thread);
        let states =
            StateHandle::start(stores.clone(), StateSettings::new("sim"), runtime, &thread);
        Self {
            scene: Rc::clone(scene),
            scribe,
            silence,
            stores,
            events: Arc::new(Environment::new(journal, Some(snapshots))),
            states: Arc::new(Environment::of_states(states.clone())),
            state_handle: states,
            ended: Cell::new(false),
        }
    }

    /// Lets the clients of a process work until it is killed or ends.
    async fn live(self, readers: &[Rc<Slot>], rng: &mut Rng) {
        let process = Rc::new(self);
        let mut clients = Vec::new();
        for number in 0..STREAMS {
            let client = Rc::clone(&process).write_events(number, rng.fork());
            clients.push(actix::spawn(client));
        }
        for number in 0..STATES {
            let client = Rc::clone(&process).change_states(number, rng.fork());
            clients.push(actix::spawn(client));
        }
        if rng.bool() {
            let client = Rc::clone(&process).insert_states(rng.fork());
            clients.push(actix::spawn(client));
        }
        for slot in readers {
            let reader = Rc::clone(&process).follow(Rc::clone(slot), rng.fork());
            clients.push(actix::spawn(reader));
        }
        if !readers.is_empty() {
            let lister = Rc::clone(&process).list_ids(rng.fork());
            clients.push(actix::spawn(lister));
        }
        tokio::time::sleep(LONGEST_LIFE.mul_f64(rng.f64() * rng.f64())).await;
        if rng.bool() {
            process.stores.kill();
            let scene = &process.scene;
            scene
                .ledger
                .killed(process.scribe.process(), &process.silence);
            scene.kills.set(scene.kills.get() + 1);
            clients.iter().for_each(|client| client.abort());
            return;
        }
        process.ended.set(true);
        join_all(clients).await;
    }

    async fn start_stream(&self, number: u32) -> Option<Addr<Stream>> {
        let (scribe, retaining) = (Arc::clone(&self.scribe), self.scene.retaining);
        let factory = move || Stream::alive(number, retaining, Arc::clone(&scribe), trouble);
        self.started(&self.events, factory).await
    }

    /// Waits until the actor of before is gone.
    async fn started<A: PersistentActor>(
        &self,
        environment: &Arc<Environment>,
        factory: impl FnMut() -> A + Clone + Unpin + 'static,
    ) -> Option<Addr<A>> {
        for _ in 0..10_000 {
            let environment = Arc::clone(environment);
            match start(factory.clone(), move |_| Ok(environment)) {
                Ok(actor) => return Some(actor),
                Err(StartError::AlreadyRunning(_)) => {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                }
                Err(error) => {
                    self.fault(format!("an actor could not be started: {error}"));
                    return None;
                }
            }
        }
        self.fault("an actor did not end".to_owned());
        None
    }

    fn fault(&self, sentence: String) {
        self.scene.faults.borrow_mut().push(sentence);
    }

    async fn write_events(self: Rc<Self>, number: u32, mut rng: Rng) {
        while !self.ended.get() {
            let Some(stream) = self.start_stream(number).await else {
                return;
            };
            for _ in 0..rng.u32(1..=LONGEST_BURST) {
                let size = rng.usize(1..=LARGEST_GROUP);
                let writes: Vec<_> = (0..size)
                    .map(|_| self.write(&stream, number, &mut rng))
                    .collect();
                join_all(writes).await;
                pause(&mut rng).await;
            }
            if rng.u8(..3) == 0 {
                self.look(number).await;
            }
        }
    }

    /// Sends a command, and says what it was answered.
    fn write(
        &self,
        stream: &Addr<Stream>,
        number: u32,
        rng: &mut Rng,
    ) -> impl Future<Output = bool> + use<> {
        let scribe = Arc::clone(&self.scribe);
        let scene = Rc::clone(&self.scene);
        let events = if rng.u8(..3) == 0 {
            rng.usize(2..=LARGEST_BATCH)
        } else {
            1
        };
        let uids: Vec<_> = (0..events).map(|_| scribe.uid()).collect();
        // A batch is reported by the actor itself.
        let call = (events == 1).then(|| {
            scribe.invoke(Operation::Ask {
                id: stream_id(number).to_string(),
                sender: u64::from(scribe.process()) << 32 | u64::from(number),
                uid: uids[0],
            })
        });
        let asynchronously = rng.u8(..4) == 0;
        let write = Write {
            uids,
            asynchronously,
        };
        let sent = tokio::time::timeout(PATIENCE, stream.send(write));
        async move {
            let outcome = sent.await;
            let (answer, acknowledged) = match &outcome {
                Ok(Ok(Ok(first))) => (Answer::Ok(Done::Persisted { first: *first }), true),
                Ok(Ok(Err(error))) if error.is_not_stored() => (Answer::Failed, false),
                _ => (Answer::Unknown, false),
            };
            if let Some(call) = call {
                scribe.answer(call, answer);
            }
            scene.count(acknowledged);
            acknowledged
        }
    }

    /// Sees what is stored, without an actor; returns whether that could be seen.
    async fn look(&self, number: u32) -> bool {
        let call = self.scribe.invoke(Operation::Replay {
            id: stream_id(number).to_string(),
        });
        let stream = Stream::shown(number, self.scene.retaining);
        let seen = replay_actor(stream, Arc::clone(&self.events)).await;
        match seen {
            Ok((mut stream, highest)) => {
                let seen = stream.recovered(highest);
                self.scribe.answer(call, Answer::Ok(Done::Recovered(seen)));
                true
            }
            Err(error) => {
                self.scribe.answer(call, Answer::Failed);
                trouble(&error);
                false
            }
        }
    }

    /// Checks that every id takes a write and shows what is stored once nothing goes wrong any more.
    async fn everything_works(&self, rng: &mut Rng) {
        for number in 0..STREAMS {
            let Some(stream) = self.start_stream(number).await else {
                continue;
            };
            let written = self.write(&stream, number, rng).await;
            if !written || !self.look(number).await {
                self.fault(format!(
                    "stream {number} takes no write any more, though nothing is wrong"
                ));
            }
        }
        for number in 0..STATES {
            let Some(kept) = self.start_kept(number).await else {
                continue;
            };
            let changed = self.change(&kept, false).await;
            if !changed || !self.load(number).await {
                self.fault(format!(
                    "state {number} takes no change any more, though nothing is wrong"
                ));
            }
        }
        if !self.list(rng).await {
            self.fault("ids cannot be listed, though nothing is wrong".to_owned());
        }
        // What the last write has led to is done before the rows are read.
        tokio::time::sleep(AFTERMATH).await;
    }
}

async fn pause(rng: &mut Rng) {
    if rng.u8(..4) > 0 {
        tokio::time::sleep(Duration::from_millis(500).mul_f64(rng.f64())).await;
    }
}

impl Scene {
    fn count(&self, acknowledged: bool) {
        let figure = if acknowledged {
            &self.acknowledged
        } else {
            &self.not_acknowledged
        };
        figure.set(figure.get() + 1);
    }
}
