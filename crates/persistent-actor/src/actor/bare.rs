//! The smallest persistent actor, for unit tests.

use actix::Actor;
use actix_persistence_storage_api::PersistenceId;
use serde::{Deserialize, Serialize};

use crate::{Event, NoSnapshot, PersistentActor, PersistentContext};

pub(crate) struct Bare;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Happened;

impl Event for Happened {
    const MANIFEST: &'static str = "test.happened";
    const VERSION: u32 = 1;
}

impl Actor for Bare {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Bare {
    type Event = Happened;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Bare", "1")
    }

    fn on_event(&mut self, _: &Happened) {}
}
