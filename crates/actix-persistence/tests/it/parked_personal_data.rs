//! Events with personal data that are parked while their keys are away, on every database.

use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::payload::{CurrentKey, EncryptionKey, FoundKey, KeyId, KeyStore};
use actix_persistence::prelude::*;
use actix_persistence::projection::{
    ExactlyOnceHandler, ExtensionError, OnFailure, Projection, Session,
};
use actix_persistence::query::{EventEnvelope, EventSelection};
use actix_persistence::sql::{SessionWork, Sql};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::task::yield_now;

use crate::projections::{LONG, Place};

/// Keys that cannot be found while they are away.
#[derive(Default)]
struct Keys {
    keys: Mutex<HashMap<KeyId, EncryptionKey>>,
    are_away: AtomicBool,
}

impl KeyStore for Keys {
    fn current_key(&self, subject: &str) -> Result<CurrentKey, Box<dyn Error + Send + Sync>> {
        let id = KeyId::new(subject.as_bytes())?;
        let random = EncryptionKey::random()?;
        let key = self
            .keys
            .lock()
            .unwrap()
            .entry(id.clone())
            .or_insert(random)
            .clone();
        Ok(CurrentKey { id, key })
    }

    fn find_key(&self, id: &KeyId) -> Result<FoundKey, Box<dyn Error + Send + Sync>> {
        if self.are_away.load(Ordering::SeqCst) {
            return Err("the keys are away".into());
        }
        let found = self.keys.lock().unwrap().get(id).cloned();
        Ok(found.map_or(FoundKey::Unknown, FoundKey::Key))
    }
}

/// The visit of a guest, whose name is personal, or of nobody in particular.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Visited(Option<String>);

impl Event for Visited {
    const MANIFEST: &'static str = "test.visited";
    const VERSION: u32 = 1;

    fn data_subject(&self) -> Option<Cow<'_, str>> {
        self.0.as_deref().map(Cow::from)
    }
}

struct House(&'static str);

impl Actor for House {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for House {
    type Event = Visited;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("House", self.0)
    }

    fn on_event(&mut self, _: &Visited) {}
}

/// Answers with the number of the event.
#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Visit(Option<&'static str>);

impl Handler<Visit> for House {
    type Result = Reply<Visit>;

    fn handle(&mut self, visit: Visit, ctx: &mut Self::Context) -> Reply<Visit> {
        let visited = Visited(visit.0.map(str::to_owned));
        ctx.persist(visited)
            .reply_with(|_, ctx| Ok(ctx.last_sequence_nr()))
    }
}

/// Writes a row for each visit, and refuses those of guests for a while.
struct GuestBook {
    log: String,
    refuses: Arc<AtomicBool>,
}

#[async_trait]
impl ExactlyOnceHandler<EventEnvelope<Visited>> for GuestBook {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &EventEnvelope<Visited>,
    ) -> Result<(), ExtensionError> {
        let guest = &item.events.as_slice()[0].0;
        if guest.is_some() && self.refuses.load(Ordering::SeqCst) {
            return Err("no guests today".into());
        }
        let insert = format!("INSERT INTO {} (id, seq) VALUES ($1, $2)", self.log);
        let values = [
            item.persistence_id.as_str().into(),
            (item.sequence_nr as i64).into(),
        ];
        session.execute(Sql::assert_safe(insert), values).await?;
        Ok(())
    }
}

/// Returns the visits to a house that were handled.
async fn visits(place: &Place, persistence: &Persistence, id: &PersistenceId) -> Vec<i64> {
    let select = format!(
        "SELECT seq FROM {} WHERE id = $1 ORDER BY seq",
        place.table("log")
    );
    let id = id.to_string();
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            let rows = session
                .select(Sql::assert_safe(select), [id.into()])
                .await?;
            rows.iter().map(|row| Ok(row.get("seq")?)).collect()
        })
    });
    persistence.transact(None, work).await.unwrap()
}

async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            yield_now().await;
        }
    };
    tokio::time::timeout(LONG, waiting).await.unwrap();
}

fn start(place: &Place, persistence: &Persistence, refuses: &Arc<AtomicBool>) -> Projection {
    let new = persistence.projection("visits");
    let new = new
        .of_events::<Visited>(None, EventSelection::all())
        .unwrap();
    let new = new.with(|settings| {
        settings.lease = Duration::from_millis(400);
        settings.min_back_off = Duration::from_millis(5);
        settings.max_back_off = Duration::from_millis(20);
        settings.idle_progress = Duration::from_millis(50);
        settings.on_failure = OnFailure::Park;
        settings.max_attempts = 1;
    });
    let book = GuestBook {
        log: place.table("log"),
        refuses: Arc::clone(refuses),
    };
    new.exactly_once(book).unwrap()
}

/// The retry is counted once, however long its key is away, and goes on by itself when it is back.
async fn a_retry_waits_for_its_key_and_holds_up_no_other_id(kind: &'static str) {
    let place = Place::new(kind, "parked_keys");
    let keys = Arc::new(Keys::default());
    let store = Arc::clone(&keys) as Arc<dyn KeyStore>;
    let builder = Persistence::builder().config(place.config());
    let persistence = builder.key_store(store).open().await.unwrap();
    place.make_tables(&persistence).await;
    let refuses = Arc::new(AtomicBool::new(true));
    let projection = start(&place, &persistence, &refuses);
    let [bad, good] = ["bad", "good"].map(|name| persistence.start(move || House(name)).unwrap());
    let [bad_id, good_id] = ["bad", "good"].map(|name| PersistenceId::of("House", name));
    for _ in 0..3 {
        bad.send(Visit(Some("ada"))).await.unwrap().unwrap();
    }
    good.send(Visit(None)).await.unwrap().unwrap();
    projection.applied_event(&good_id, 1, LONG).await.unwrap();
    let waiting = projection.parked_items(&bad_id, 10).await.unwrap();
    assert_eq!(waiting.len(), 3);

    keys.are_away.store(true, Ordering::SeqCst);
    refuses.store(false, Ordering::SeqCst);
    projection.retry(&bad_id).await.unwrap();
    until(async || {
        let shares = projection.status().shares;
        let error = shares.get(&0).and_then(|share| share.error.clone());
        error.is_some_and(|error| error.contains("the keys are away"))
    })
    .await;
    for number in 2..=4 {
        good.send(Visit(None)).await.unwrap().unwrap();
        let applied = projection.applied_event(&good_id, number, LONG).await;
        applied.unwrap();
    }
    let parked = projection.parked(None, 10).await.unwrap();
    assert_eq!((parked[0].waiting, parked[0].attempts), (3, 1));
    assert_eq!(visits(&place, &persistence, &bad_id).await, [0; 0]);

    // Another process goes on with it.
    projection.stop().await;
    let projection = start(&place, &persistence, &refuses);
    until(async || {
        let parked = projection.parked(None, 10).await.unwrap();
        parked[0].attempts == 2
    })
    .await;
    keys.are_away.store(false, Ordering::SeqCst);
    until(async || projection.parked(None, 1).await.unwrap().is_empty()).await;
    assert_eq!(visits(&place, &persistence, &bad_id).await, [1, 2, 3]);
    assert_eq!(visits(&place, &persistence, &good_id).await, [1, 2, 3, 4]);
    assert!(persistence.stop(LONG).await.is_complete());
}

#[actix::test]
async fn a_retry_waits_for_its_key_on_sqlite() {
    a_retry_waits_for_its_key_and_holds_up_no_other_id("sqlite").await;
}

#[cfg(feature = "postgres")]
#[actix::test]
async fn a_retry_waits_for_its_key_on_postgres() {
    a_retry_waits_for_its_key_and_holds_up_no_other_id("postgres").await;
}

#[cfg(feature = "mysql")]
#[actix::test]
async fn a_retry_waits_for_its_key_on_mysql() {
    a_retry_waits_for_its_key_and_holds_up_no_other_id("mysql").await;
}
