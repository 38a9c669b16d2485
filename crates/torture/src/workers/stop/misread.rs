//! Actors that fail to recover, one after the other: the event of their id is one that they cannot read.

use std::rc::Rc;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::workers::hooks::reached;
use crate::workers::stream::Written;
use crate::workers::writers::Process;

/// The time between two of them: others recover as well.
const PAUSE: Duration = Duration::from_millis(4);

fn id() -> PersistenceId {
    PersistenceId::of("Misread", "0")
}

/// Stores an event for the other ones.
struct Scrawler;

impl Actor for Scrawler {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Scrawler {
    type Event = Written;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        id()
    }

    fn on_event(&mut self, _: &Written) {}
}

#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Scrawl;

impl Handler<Scrawl> for Scrawler {
    type Result = Reply<Scrawl>;

    fn handle(&mut self, _: Scrawl, ctx: &mut Self::Context) -> Reply<Scrawl> {
        ctx.persist(Written { uid: 0 }).reply_with(|_, _| Ok(()))
    }
}

/// An event that nobody stores.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct NeverWritten;

impl Event for NeverWritten {
    const MANIFEST: &'static str = "torture.never-written";
    const VERSION: u32 = 1;
}

struct Misreader;

impl Actor for Misreader {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Misreader {
    type Event = NeverWritten;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        id()
    }

    fn on_event(&mut self, _: &NeverWritten) {}

    fn on_recovery_failure(&mut self, _: &RecoveryError) {
        reached("recovery failure");
    }
}

/// Stores an event, and lets actors fail to read it until everything stops.
pub(super) async fn fail_to_recover(process: Rc<Process>) {
    let persistence = &process.persistence;
    let Ok(scrawler) = persistence.start_when_stopped(|| Scrawler).await else {
        return;
    };
    // If that fails, the next process stores it.
    let _ = scrawler.send(Scrawl).await;
    drop(scrawler);
    while !process.has_ended() {
        if persistence.start_when_stopped(|| Misreader).await.is_err() {
            return;
        }
        persistence.stopped(&id()).await;
        sleep(PAUSE).await;
    }
}
