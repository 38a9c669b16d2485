//! The actors of the benches that save large snapshots.

use std::time::{Duration, Instant};

use actix::prelude::*;
use actix_persistence::prelude::*;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::notebook::Noted;

/// The bytes of a snapshot.
const SNAPSHOT_BYTES: usize = 1024 * 1024;

#[derive(Serialize, Deserialize)]
pub(crate) struct Pictures(String);

impl Snapshot for Pictures {
    const MANIFEST: &'static str = "bench.pictures";
    const VERSION: u32 = 1;
}

pub(crate) struct Album {
    name: String,
    pictures: Pictures,
    /// Hears that the snapshot is saved.
    saved: Option<oneshot::Sender<()>>,
}

impl Album {
    /// Starts albums on a thread of their own: encoding a snapshot takes time from the actors beside it.
    pub(crate) async fn start_many(
        persistence: &Persistence,
        thread: &Arbiter,
        count: usize,
    ) -> Vec<Addr<Self>> {
        let persistence = persistence.clone();
        let (started, albums) = oneshot::channel();
        thread.spawn_fn(move || {
            let started_all = (0..count).map(|number| {
                let make = move || Self {
                    name: number.to_string(),
                    pictures: Pictures("x".repeat(SNAPSHOT_BYTES)),
                    saved: None,
                };
                persistence.start(make).unwrap()
            });
            let _ = started.send(started_all.collect());
        });
        albums.await.unwrap()
    }
}

impl Actor for Album {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Album {
    type Event = Noted;
    type Snapshot = Pictures;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Album", &self.name)
    }

    fn on_event(&mut self, _: &Noted) {}

    fn on_store_response(&mut self, response: StoreResponse, _: &mut PersistentContext<Self>) {
        assert!(
            matches!(response, StoreResponse::SaveSnapshotSuccess { .. }),
            "{response:?}"
        );
        if let Some(saved) = self.saved.take() {
            let _ = saved.send(());
        }
    }
}

/// Persists an event and saves a snapshot after it.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Save {
    saved: oneshot::Sender<()>,
}

impl Handler<Save> for Album {
    type Result = ();

    fn handle(&mut self, Save { saved }: Save, ctx: &mut Self::Context) {
        let persisted = ctx.persist(Noted::new()).then(|album, _, ctx| {
            album.saved = Some(saved);
            ctx.save_snapshot(&album.pictures);
        });
        persisted.detach();
    }
}

/// Lets every album save a snapshot, and another when that is saved, for a time; waits until all are saved.
pub(crate) async fn save_for(albums: &[Addr<Album>], time: Duration) {
    let end = Instant::now() + time;
    join_all(albums.iter().map(async |album| {
        while Instant::now() < end {
            save(album).await;
        }
    }))
    .await;
}

/// Lets every album save a snapshot, and waits until all are saved.
pub(crate) async fn save_all(albums: &[Addr<Album>]) {
    join_all(albums.iter().map(save)).await;
}

async fn save(album: &Addr<Album>) {
    let (saved, is_saved) = oneshot::channel();
    album.do_send(Save { saved });
    is_saved.await.unwrap();
}
