//! Random failures, crashes, requests and divisions over a real database: each event is handled once, in the order of its id, or
//! listed as skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence_projection::{
    EventSource, ExactlyOnceHandler, OnFailure, Projection, ProjectionBuilder,
};
use actix_persistence_query::EventEnvelope;
use actix_persistence_sqlite::{SqliteOffsetStore, SqliteOptions, SqliteStateStore, Synchronous};
use actix_persistence_storage_api::{
    EventSelection, ExtensionError, OffsetStore, ParkedRequest, PersistenceId, ProjectionChange,
    Session, SessionWork, StateStore,
};
use async_trait::async_trait;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

use crate::fixture::{Fixture, LONG, Said, key};

const IDS: usize = 6;

/// The text of an event, as the store lists it.
fn text_of(id: &PersistenceId, number: u64) -> String {
    format!("event {number} of {id:?}")
}

/// Writes a row for each event, and then fails for the bad ones.
#[derive(Clone, Default)]
struct Log {
    bad: Arc<Mutex<BTreeSet<String>>>,
}

#[async_trait]
impl ExactlyOnceHandler<EventEnvelope<Said>> for Log {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &EventEnvelope<Said>,
    ) -> Result<(), ExtensionError> {
        const INSERT: &str = "INSERT INTO log (id, seq) VALUES ($1, $2)";
        let (id, number) = (&item.persistence_id, item.sequence_nr);
        let values = [id.as_str().into(), (number as i64).into()];
        session.execute(INSERT, values).await?;
        match self.bad.lock().unwrap().contains(&text_of(id, number)) {
            true => Err("it is bad".into()),
            false => Ok(()),
        }
    }
}

/// A process, which can end at any await.
struct Process {
    runtime: Runtime,
    projection: Projection,
}

/// Everything of one seed.
struct World {
    seed: u64,
    fixture: Fixture,
    folder: tempfile::TempDir,
    control: SqliteOffsetStore,
    states: SqliteStateStore,
    log: Log,
    processes: Vec<Process>,
    /// The highest number of each id.
    written: BTreeMap<PersistenceId, u64>,
    /// The number of times that everything was to be read again.
    resets: u64,
    most_resets: u64,
    random: fastrand::Rng,
}

impl World {
    async fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let states = SqliteStateStore::new(options(&folder)).unwrap();
        states.initialize().await.unwrap();
        let control = SqliteOffsetStore::new(options(&folder)).unwrap();
        control.initialize().await.unwrap();
        let table = SessionWork::new(|session| {
            Box::pin(async move {
                const TABLE: &str =
                    "CREATE TABLE log (n INTEGER PRIMARY KEY, id TEXT, seq INTEGER)";
                session.execute(TABLE, []).await?;
                Ok(())
            })
        });
        states.sql().unwrap().transact(table).await.unwrap();
        control.register(&key(), 2, "").await.unwrap();
        Self {
            seed,
            fixture: Fixture::new(),
            folder,
            control,
            states,
            log: Log::default(),
            processes: Vec::new(),
            written: BTreeMap::new(),
            resets: 0,
            // Of half of the seeds.
            most_resets: (seed % 2) * 3,
            random: fastrand::Rng::with_seed(seed),
        }
    }

    async fn write(&mut self) {
        let id = PersistenceId::of("Talker", &self.random.usize(0..IDS).to_string());
        let number = self.written.entry(id.clone()).or_default();
        *number += 1;
        if self.random.usize(0..6) == 0 {
            self.log.bad.lock().unwrap().insert(text_of(&id, *number));
        }
        self.fixture.say(&id, *number, "word").await;
    }

    async fn start(&mut self) {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        let runtime = runtime.unwrap();
        let store = SqliteOffsetStore::new(options(&self.folder)).unwrap();
        let store: Arc<dyn OffsetStore> = Arc::new(store);
        let opened = Arc::clone(&store);
        let opening = runtime.spawn(async move { opened.initialize().await });
        opening.await.unwrap().unwrap();
        let source = EventSource::<Said>::new(self.fixture.queries(), EventSelection::all());
        let new = ProjectionBuilder::new(key(), source, store, runtime.handle().clone(), ());
        let new = new.with(|settings| {
            settings.lease = Duration::from_millis(200);
            settings.min_back_off = Duration::from_millis(1);
            settings.max_back_off = Duration::from_millis(5);
            settings.idle_progress = Duration::from_millis(20);
            settings.group_size = 4;
            settings.max_attempts = 2;
            settings.on_failure = OnFailure::Park;
        });
        let projection = new.exactly_once(self.log.clone()).unwrap();
        self.processes.push(Process {
            runtime,
            projection,
        });
    }

    async fn end_one(&mut self, is_crash: bool) {
        if self.processes.is_empty() {
            return;
        }
        let place = self.random.usize(0..self.processes.len());
        let process = self.processes.swap_remove(place);
        if !is_crash {
            process.projection.stop().await;
        }
        process.runtime.shutdown_background();
    }

    async fn ask(&mut self, request: ParkedRequest) {
        let parked = self.control.parked(&key(), 0..=1023, None, 100).await;
        let parked = parked.unwrap();
        if parked.is_empty() {
            return;
        }
        let place = self.random.usize(0..parked.len());
        let persistence_id = Some(parked[place].persistence_id.clone());
        // It may be parked no longer.
        let _ = self
            .control
            .change(
                &key(),
                ProjectionChange::RequestParked {
                    persistence_id,
                    request,
                },
            )
            .await;
    }

    /// Lets everything be read again while others go on, as from the start or as after a removal.
    async fn reset(&mut self) {
        self.resets += 1;
        let again = match self.random.bool() {
            true => ProjectionChange::SetOffset(String::new()),
            false => ProjectionChange::Remove,
        };
        self.control.change(&key(), again).await.unwrap();
        self.control.register(&key(), 2, "").await.unwrap();
    }

    async fn take_a_step(&mut self) {
        match self.random.usize(0..20) {
            0..=8 => self.write().await,
            9..=10 if self.processes.len() < 3 => self.start().await,
            11 => self.end_one(true).await,
            12 => self.end_one(false).await,
            13 => {
                let shares = ProjectionChange::Divide(self.random.u16(1..6));
                self.control.change(&key(), shares).await.unwrap();
            }
            14..=15 => self.ask(ParkedRequest::Retry).await,
            16 => self.ask(ParkedRequest::DropFirst).await,
            17 if self.random.bool() => self.ask(ParkedRequest::DropAll).await,
            18 => {
                self.log.bad.lock().unwrap().pop_first();
            }
            19 if self.resets < self.most_resets && self.random.bool() => self.reset().await,
            _ => sleep(Duration::from_millis(self.random.u64(0..60))).await,
        }
    }

    /// Lets everything be handled that is left.
    async fn finish(&mut self) {
        self.log.bad.lock().unwrap().clear();
        self.start().await;
        let projection = &self.processes.last().unwrap().projection;
        for (id, number) in &self.written {
            loop {
                match projection.applied_event(id, *number, LONG).await {
                    Ok(()) => break,
                    Err(actix_persistence_projection::AppliedError::Parked { .. }) => {
                        let _ = projection.retry(id).await;
                        sleep(Duration::from_millis(5)).await;
                    }
                    Err(error) => panic!("{error}: {:?}", projection.record().await),
                }
            }
        }
        assert_eq!(projection.parked(None, 10).await.unwrap(), []);
    }

    /// Returns the handled events in their order.
    async fn handled(&self) -> Vec<(String, u64)> {
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                const ALL: &str = "SELECT id, seq FROM log ORDER BY n";
                let rows = session.select(ALL, []).await?;
                let handled = rows.iter().map(|row| {
                    let (id, number): (String, i64) = (row.get("id")?, row.get("seq")?);
                    Ok((id, number as u64))
                });
                handled.collect()
            })
        });
        let sql = self.states.sql().unwrap();
        sql.transact_returning(work).await.unwrap()
    }

    async fn check(&self) {
        let handled = self.handled().await;
        let skipped = self.control.skipped(&key(), usize::MAX).await.unwrap();
        let mut accounted = BTreeSet::new();
        let mut last = BTreeMap::new();
        let (seed, resets) = (self.seed, self.resets);
        let mut readings: BTreeMap<&String, u64> = BTreeMap::new();
        for (id, number) in &handled {
            let before = last.insert(id, *number);
            if before >= Some(*number) {
                // It is read again, or handled twice.
                let readings = readings.entry(id).or_default();
                *readings += 1;
                assert!(
                    *readings <= resets,
                    "seed {seed}: {number} after {before:?} of {id}"
                );
            }
            accounted.insert(text_of(&PersistenceId::of_unique(id.as_str()), *number));
        }
        for skipped in &skipped {
            let is_new = accounted.insert(skipped.item.clone());
            assert!(is_new || resets > 0, "seed {seed}: twice: {skipped:?}");
        }
        let written = self.written.iter();
        let written: BTreeSet<_> = written
            .flat_map(|(id, last)| (1..=*last).map(|number| text_of(id, number)))
            .collect();
        assert_eq!(accounted, written, "seed {}", self.seed);
        let record = self.control.read(&key()).await.unwrap().unwrap();
        let counted: u64 = record.shares.iter().map(|share| share.handled).sum();
        // The count goes with a projection that is removed.
        match resets {
            0 => assert_eq!(counted, handled.len() as u64),
            _ => assert!(counted <= handled.len() as u64),
        }
    }
}

fn options(folder: &tempfile::TempDir) -> SqliteOptions {
    SqliteOptions::new(folder.path().join("read.db").to_string_lossy())
        .with_synchronous(Synchronous::Normal)
}

async fn play(seed: u64) {
    let mut world = World::new(seed).await;
    world.start().await;
    for _ in 0..120 {
        world.take_a_step().await;
    }
    world.finish().await;
    world.check().await;
    while !world.processes.is_empty() {
        world.end_one(false).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_event_is_handled_once_in_order_or_listed_as_skipped() {
    let is_full = std::env::var("ACTIX_PERSISTENCE_TEST_SCALE").is_ok_and(|scale| scale == "full");
    let first = match is_full {
        true => fastrand::u64(..1 << 40),
        false => 1,
    };
    for seed in first..first + if is_full { 200 } else { 4 } {
        let played = timeout(LONG, play(seed)).await;
        assert!(played.is_ok(), "seed {seed}: it takes too long");
    }
}
