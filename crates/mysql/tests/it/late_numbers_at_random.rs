//! States whose change handlers call procedures that commit, at random and by processes that die, beside readers that follow.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence_mysql::MysqlStateStore;
use actix_persistence_sql_tests::until_number;
use actix_persistence_storage_api::{
    ChangeHandler, ExtensionError, Payload, PersistenceId, Session, StateChange, StateChangesQuery,
    StateExtensions, StateOffset, StateStore, StateUpdate,
};
use async_trait::async_trait;
use sqlx::MySqlConnection;
use tokio::runtime::{Handle, Runtime};
use tokio::time::{sleep, timeout};

use crate::commit_order::kill_some_session;
use crate::place::{Place, id};

const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];
const WORKERS: usize = 4;
const STEPS: usize = 40;
const LONG: Duration = Duration::from_secs(60);

/// Calls some procedure, or none, and perhaps gives it up or fails afterwards.
struct Caller;

#[async_trait]
impl ChangeHandler for Caller {
    async fn process(
        &self,
        session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        let calls = [
            "CALL commits()",
            "CALL rolls_back()",
            "CALL takes_long_and_commits()",
        ];
        if let Some(call) = calls.get(fastrand::usize(..4)) {
            let call = session.execute(*call, []);
            match fastrand::bool() {
                true => call.await?,
                false => timeout(some_milliseconds(20), call).await??,
            };
        }
        match fastrand::u8(..4) {
            0 => Err("it fails".into()),
            _ => Ok(()),
        }
    }
}

fn some_milliseconds(most: u64) -> Duration {
    Duration::from_millis(fastrand::u64(..most))
}

/// A runtime of its own, which ends as a process does that is killed.
struct Process {
    runtime: Option<Runtime>,
    store: Arc<MysqlStateStore>,
}

impl Process {
    async fn start(place: &Place) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let mut extensions = StateExtensions::default();
        extensions.entity_type("Test").change_handler = Some(Arc::new(Caller));
        let store = MysqlStateStore::with_extensions(place.options(), &extensions).unwrap();
        let store = Arc::new(store);
        let opened = Arc::clone(&store);
        // Its session may be ended.
        let opening = async move { while opened.initialize().await.is_err() {} };
        runtime.spawn(opening).await.unwrap();
        Self {
            runtime: Some(runtime),
            store,
        }
    }

    fn parts(&self) -> (Handle, Arc<MysqlStateStore>) {
        let runtime = self.runtime.as_ref().expect("it runs until it is dropped");
        (runtime.handle().clone(), Arc::clone(&self.store))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

struct Scene {
    place: Place,
    plain: MysqlStateStore,
    /// One, so that none ends another.
    killer: tokio::sync::Mutex<MySqlConnection>,
    processes: [Mutex<Process>; 2],
    /// Every write stores another number.
    written: AtomicU64,
}

impl Scene {
    /// The state of an id, with the number that it holds.
    async fn find(&self, id: &PersistenceId) -> (u64, Option<u64>) {
        loop {
            // The session may be ended.
            if let Ok(current) = self.plain.get(id).await {
                let number = current.state.map(|state| number(&state.payload));
                return (current.revision, number);
            }
        }
    }

    async fn step(&self) {
        let id = id(IDS[fastrand::usize(..IDS.len())]);
        let (revision, _) = self.find(&id).await;
        let number = self.written.fetch_add(1, Ordering::Relaxed).to_string();
        let update = StateUpdate::new(id.clone(), revision + 1, Payload::new(1, "m", number));
        let process = &self.processes[fastrand::usize(..self.processes.len())];
        match fastrand::u8(..20) {
            0..6 => drop(self.plain.upsert(update).await),
            6..8 => drop(self.plain.hard_delete(&id).await),
            8..10 => kill_some_session(&mut *self.killer.lock().await).await,
            10 => {
                let next = Process::start(&self.place).await;
                *process.lock().unwrap() = next;
            }
            chance => {
                let (runtime, store) = process.lock().unwrap().parts();
                let upsert = runtime.spawn(async move { store.upsert(update).await });
                if chance % 3 == 0 {
                    sleep(some_milliseconds(10)).await;
                    upsert.abort();
                }
                let _ = upsert.await;
            }
        }
    }
}

fn number(payload: &Payload) -> u64 {
    std::str::from_utf8(&payload.bytes)
        .unwrap()
        .parse()
        .unwrap()
}

/// A query that goes on from where it was.
#[derive(Default)]
struct Reader {
    after: StateOffset,
    seen: HashSet<u64>,
}

impl Reader {
    async fn read(&mut self, store: &MysqlStateStore) {
        let mut query = StateChangesQuery::new("Test", fastrand::usize(1..5));
        query.after = self.after.clone();
        // The session may be ended.
        let Ok(page) = store.queries().unwrap().changes(query).await else {
            return;
        };
        for change in page.changes {
            self.move_on(change.offset);
            let state = change.current.state.expect("none is deleted");
            let number = number(&state.payload);
            assert!(self.seen.insert(number), "{number} is shown again");
        }
        self.move_on(page.offset);
    }

    fn move_on(&mut self, offset: StateOffset) {
        for (partition, before) in self.after.positions() {
            assert!(
                offset.position(partition) >= Some(before),
                "{offset:?} after {:?}",
                self.after
            );
        }
        self.after = offset;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_are_shown_each_last_state_once_whatever_commits_or_dies() {
    let place = Place::new().await;
    for procedure in [
        "commits() COMMIT",
        "rolls_back() ROLLBACK",
        "takes_long_and_commits() BEGIN DO SLEEP(RAND() / 50); COMMIT; DO SLEEP(RAND() / 50); END",
    ] {
        place.run(format!("CREATE PROCEDURE {procedure}")).await;
    }
    let scene = Arc::new(Scene {
        plain: place.state_store_with(place.options()).await,
        processes: [
            Mutex::new(Process::start(&place).await),
            Mutex::new(Process::start(&place).await),
        ],
        written: AtomicU64::new(0),
        killer: tokio::sync::Mutex::new(place.connection().await),
        place,
    });
    let workers = (0..WORKERS).map(|_| {
        let scene = Arc::clone(&scene);
        tokio::spawn(async move {
            for _ in 0..STEPS {
                scene.step().await;
            }
        })
    });
    let workers: Vec<_> = workers.collect();
    let mut readers = [Reader::default(), Reader::default()];
    while workers.iter().any(|worker| !worker.is_finished()) {
        for reader in &mut readers {
            reader.read(&scene.plain).await;
        }
    }
    for worker in workers {
        worker.await.unwrap();
    }
    // What a dead process has called may still commit.
    let calls = "SELECT COUNT(*) FROM information_schema.processlist \
        WHERE db = DATABASE() AND info LIKE 'CALL%'";
    until_number(&scene.place, calls, |number| number == 0).await;
    scene.plain.initialize().await.unwrap();
    let all_is_shown = timeout(LONG, async {
        loop {
            let mut is_shown = true;
            for name in IDS {
                let (_, last) = scene.find(&id(name)).await;
                for reader in &mut readers {
                    reader.read(&scene.plain).await;
                    is_shown &= last.is_none_or(|last| reader.seen.contains(&last));
                }
            }
            if is_shown {
                return;
            }
        }
    });
    all_is_shown.await.expect("it is shown in the end");
    let unnumbered = "SELECT COUNT(*) FROM durable_state WHERE ordering = 0";
    assert_eq!(scene.place.number(unnumbered).await, 0);
}
