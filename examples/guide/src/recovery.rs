//! A ledger that is brought back: all of it, up to an entry, and without becoming its writer.
//!
//! ```text
//! cargo run -p guide -- recovery ledger.db
//! ```

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Booked {
    cents: u64,
}

impl Event for Booked {
    const MANIFEST: &'static str = "ledger.booked";
    const VERSION: u32 = 1;
}

#[derive(Default)]
struct Ledger {
    cents: u64,
    recovery: Recovery,
}

impl Actor for Ledger {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Ledger {
    type Event = Booked;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Ledger", "2026")
    }

    // ANCHOR: recovery
    fn recovery(&self) -> Recovery {
        self.recovery
    }
    // ANCHOR_END: recovery

    fn on_event(&mut self, event: &Booked) {
        self.cents += event.cents;
    }

    // ANCHOR: completed
    fn on_recovery_completed(&mut self, ctx: &mut Self::Context) {
        println!("{} events, {} cents", ctx.last_sequence_nr(), self.cents);
        if ctx.last_sequence_nr() == 0 {
            ctx.persist(Booked { cents: 100 }).detach();
        }
    }
    // ANCHOR_END: completed

    // ANCHOR: failure
    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        if !error.is_transient() {
            println!("somebody has to look at this: {error}");
        }
    }
    // ANCHOR_END: failure
}

#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Book {
    cents: u64,
}

impl Handler<Book> for Ledger {
    type Result = Reply<Book>;

    fn handle(&mut self, book: Book, ctx: &mut Self::Context) -> Reply<Book> {
        ctx.persist(Booked { cents: book.cents })
            .reply(|ledger| Ok(ledger.cents))
    }
}

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let database = std::env::args().nth(2);
    let persistence = Persistence::sqlite(database.as_deref().unwrap_or("ledger.db")).await?;
    let ledger = persistence.start(Ledger::default)?;
    println!("{} cents", ledger.send(Book { cents: 20 }).await??);

    // ANCHOR: time_travel
    let earlier = Ledger {
        recovery: Recovery::default().with_to_sequence_nr(1),
        ..Ledger::default()
    };
    let replayed = persistence.replay(earlier).await?;
    println!(
        "{} cents at event {}",
        replayed.actor.cents, replayed.sequence_nr
    );
    // ANCHOR_END: time_travel

    // ANCHOR: events
    let id = PersistenceId::of("Ledger", "2026");
    persistence
        .replay_events(id, |meta, event: Booked| {
            println!("event {}: {} cents", meta.sequence_nr, event.cents);
        })
        .await?;
    // ANCHOR_END: events
    Ok(())
}
