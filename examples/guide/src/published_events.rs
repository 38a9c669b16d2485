//! A warehouse whose shelf publishes to the rest of the program what was put on it.
//!
//! ```text
//! cargo run -p guide -- published_events
//! ```

use actix::prelude::*;
use actix_persistence::{PublishedEvent, Subscription, error::DeadLetterCause, prelude::*};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct PutIn {
    pieces: u64,
}

impl Event for PutIn {
    const MANIFEST: &'static str = "warehouse.put-in";
    const VERSION: u32 = 1;
}

#[derive(Default)]
struct Shelf {
    pieces: u64,
}

impl Actor for Shelf {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Shelf {
    type Event = PutIn;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Shelf", "A1")
    }

    fn on_event(&mut self, event: &PutIn) {
        self.pieces += event.pieces;
    }
}

#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Put {
    pieces: u64,
}

impl Handler<Put> for Shelf {
    type Result = Reply<Put>;

    fn handle(&mut self, Put { pieces }: Put, ctx: &mut Self::Context) -> Reply<Put> {
        ctx.persist(PutIn { pieces })
            .reply(|shelf| Ok(shelf.pieces))
    }
}

/// Forgets the events up to this number.
#[derive(Message)]
#[rtype(result = "()")]
struct Forget {
    up_to: SequenceNr,
}

impl Handler<Forget> for Shelf {
    type Result = ();

    fn handle(&mut self, forget: Forget, ctx: &mut Self::Context) {
        ctx.delete_messages(forget.up_to);
    }
}

// ANCHOR: display
/// Shows how much came in since it was switched on.
async fn display(mut events: Subscription<PublishedEvent<PutIn>>) {
    let mut pieces = 0;
    while let Some(item) = events.next().await {
        match item {
            Ok(PublishedEvent {
                persistence_id,
                sequence_nr,
                event,
                ..
            }) => {
                pieces += event.pieces;
                println!("{persistence_id} event {sequence_nr}: {pieces} pieces came in");
            }
            Err(missed) => println!("{} events are not counted", missed.count),
        }
    }
}
// ANCHOR_END: display

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let persistence = Persistence::memory().await?;
    // ANCHOR: subscribe
    let display = actix::spawn(display(persistence.events()));
    // ANCHOR_END: subscribe
    // ANCHOR: dead_letters
    let mut letters = persistence.dead_letters();
    // ANCHOR_END: dead_letters

    let shelf = persistence.start(Shelf::default)?;
    shelf.send(Put { pieces: 3 }).await??;
    shelf.send(Put { pieces: 4 }).await??;
    // There are two events only, and the shelf does nothing about the answer.
    shelf.send(Forget { up_to: 9 }).await?;
    // ANCHOR: read
    if let Some(letter) = letters.next().await {
        let letter = letter?;
        if let DeadLetterCause::StoreFailure(response) = &letter.cause
            && let Some(error) = response.error()
        {
            println!("{}: {error}", letter.persistence_id);
        }
    }
    // ANCHOR_END: read

    // The stream ends with the last actor and the last handle, and the display with its stream.
    drop((shelf, persistence));
    display.await?;
    Ok(())
}
