//! A ledger that copies its database while it is in use.
//!
//! ```text
//! cargo run -p guide -- backups ledger.db copy.db
//! ```

use actix::prelude::*;
use actix_persistence::error::CommandError;
use actix_persistence::prelude::*;
use actix_persistence::sqlite::Backup;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Booked {
    cents: i64,
}

impl Event for Booked {
    const MANIFEST: &'static str = "ledger.booked";
    const VERSION: u32 = 1;
}

#[derive(Default)]
struct Ledger {
    cents: i64,
}

impl Actor for Ledger {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Ledger {
    type Event = Booked;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Ledger", "main")
    }

    fn on_event(&mut self, booked: &Booked) {
        self.cents += booked.cents;
    }
}

#[derive(Message)]
#[rtype(result = "Result<i64, PersistError>")]
struct Book {
    cents: i64,
}

impl Handler<Book> for Ledger {
    type Result = Reply<Book>;

    fn handle(&mut self, book: Book, ctx: &mut Self::Context) -> Reply<Book> {
        ctx.persist(Booked { cents: book.cents })
            .reply(|ledger| Ok(ledger.cents))
    }
}

// ANCHOR: back_up
async fn back_up(persistence: &Persistence, copy: &str) -> Result<u64, CommandError> {
    let report = persistence.ask_journal(None, Backup::to(copy)).await?;
    Ok(report.bytes)
}
// ANCHOR_END: back_up

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(2);
    let (Some(file), Some(copy)) = (arguments.next(), arguments.next()) else {
        anyhow::bail!("say which file, and where to copy it");
    };
    let persistence = Persistence::sqlite(file).await?;
    let ledger = persistence.start(Ledger::default)?;
    println!("booked, now {}", ledger.send(Book { cents: 500 }).await??);
    let bytes = back_up(&persistence, &copy).await?;
    println!("copied: {}", bytes > 0);
    println!("booked, now {}", ledger.send(Book { cents: 200 }).await??);

    let copied = Persistence::sqlite(copy).await?;
    let replayed = copied.replay(Ledger::default()).await?;
    println!("in the copy {}", replayed.actor.cents);
    Ok(())
}
