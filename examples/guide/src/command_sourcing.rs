//! A garden whose taps are switched by commands that are stored as they came.
//!
//! ```text
//! cargo run -p guide -- command_sourcing garden.db roses:3 beans:2
//! ```

use std::collections::BTreeMap;

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

// ANCHOR: command
/// Waters a bed; stored as it came.
#[derive(Serialize, Deserialize, Message)]
#[rtype(result = "()")]
struct Water {
    bed: String,
    litres: u64,
}

impl Event for Water {
    const MANIFEST: &'static str = "garden.water";
    const VERSION: u32 = 1;
}
// ANCHOR_END: command

#[derive(Default)]
struct Garden {
    beds: BTreeMap<String, u64>,
}

impl Actor for Garden {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Garden {
    type Event = Water;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Garden", "home")
    }

    // ANCHOR: on_event
    /// Executes a command, live and in replay: no clock, no chance, nothing but the state and the command.
    fn on_event(&mut self, command: &Water) {
        let litres = self.beds.entry(command.bed.clone()).or_default();
        // A bed takes ten litres at most; the rest runs off.
        *litres = (*litres + command.litres).min(10);
    }
    // ANCHOR_END: on_event
}

// ANCHOR: handler
impl Handler<Water> for Garden {
    type Result = ();

    fn handle(&mut self, command: Water, ctx: &mut Self::Context) {
        ctx.persist_async(command)
            .then(|_, command, _| {
                // The effect: once stored, and never in replay.
                println!("opening the tap of the {}", command.bed);
            })
            .detach();
    }
}
// ANCHOR_END: handler

/// Answers with the litres of all beds, when every command before it is executed.
#[derive(Message)]
#[rtype(result = "Result<BTreeMap<String, u64>, PersistError>")]
struct Beds;

impl Handler<Beds> for Garden {
    type Result = Reply<Beds>;

    // ANCHOR: barrier
    fn handle(&mut self, _: Beds, ctx: &mut Self::Context) -> Reply<Beds> {
        ctx.defer_async(|_, _| {})
            .reply(|garden| Ok(garden.beds.clone()))
    }
    // ANCHOR_END: barrier
}

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(2);
    let database = arguments.next().unwrap_or_else(|| "garden.db".to_owned());
    let persistence = Persistence::sqlite(database).await?;
    let garden = persistence.start(Garden::default)?;
    for argument in arguments {
        let (bed, litres) = argument.split_once(':').unwrap_or((&argument, "1"));
        let (bed, litres) = (bed.to_owned(), litres.parse()?);
        garden.send(Water { bed, litres }).await?;
    }
    for (bed, litres) in garden.send(Beds).await?? {
        println!("{bed}: {litres} litres");
    }
    Ok(())
}
