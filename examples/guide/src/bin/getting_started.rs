//! A door bell that knows how often it has rung, even after a restart.
//!
//! ```text
//! cargo run -p guide --bin getting_started -- bell.db
//! ```
#![allow(clippy::print_stdout)] // printing is what the program is for

// ANCHOR: event
use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Rung;

impl Event for Rung {
    const MANIFEST: &'static str = "bell.rung";
    const VERSION: u32 = 1;
}
// ANCHOR_END: event

// ANCHOR: actor
#[derive(Default)]
struct Bell {
    rings: u64,
}

impl Actor for Bell {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Bell {
    type Event = Rung;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Bell", "front-door")
    }

    fn on_event(&mut self, _: &Rung) {
        self.rings += 1;
    }
}
// ANCHOR_END: actor

// ANCHOR: command
#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Ring;

impl Handler<Ring> for Bell {
    type Result = Reply<Ring>;

    fn handle(&mut self, _: Ring, ctx: &mut Self::Context) -> Reply<Ring> {
        ctx.persist(Rung).reply(|bell| Ok(bell.rings))
    }
}
// ANCHOR_END: command

// ANCHOR: main
#[actix::main]
async fn main() -> anyhow::Result<()> {
    let database = std::env::args().nth(1);
    let persistence = Persistence::sqlite(database.as_deref().unwrap_or("bell.db")).await?;
    let bell = persistence.start(Bell::default)?;
    println!("rung {} times", bell.send(Ring).await??);
    println!("rung {} times", bell.send(Ring).await??);
    Ok(())
}
// ANCHOR_END: main
