//! A guest book that survives a restart, on a storage plugin of one's own.
//!
//! ```text
//! cargo run -p custom-journal --example guest_book -- Ada
//! ```
//!
//! The config file beside it chooses the plugin; a second argument names another one.
#![allow(clippy::print_stdout)] // printing is what the program is for

use actix::prelude::*;
use actix_persistence::{Config, prelude::*};
use custom_journal::FilePlugin;
use serde::{Deserialize, Serialize};

/// A snapshot is taken whenever this many more guests have signed.
const SNAPSHOT_EVERY: u64 = 3;

#[derive(Serialize, Deserialize)]
struct Signed {
    name: String,
}

impl Event for Signed {
    const MANIFEST: &'static str = "guest-book.signed";
    const VERSION: u32 = 1;
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Guests(Vec<String>);

impl Snapshot for Guests {
    const MANIFEST: &'static str = "guest-book.guests";
    const VERSION: u32 = 1;
}

#[derive(Default)]
struct GuestBook {
    guests: Guests,
}

impl Actor for GuestBook {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for GuestBook {
    type Event = Signed;
    type Snapshot = Guests;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("GuestBook", "entrance")
    }

    fn on_event(&mut self, event: &Signed) {
        self.guests.0.push(event.name.clone());
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<Guests>) {
        self.guests = offer.snapshot;
    }
}

/// Answers with all guests, the new one included.
#[derive(Message)]
#[rtype(result = "Result<Vec<String>, PersistError>")]
struct Sign {
    name: String,
}

impl Handler<Sign> for GuestBook {
    type Result = Reply<Sign>;

    fn handle(&mut self, Sign { name }: Sign, ctx: &mut Self::Context) -> Reply<Sign> {
        ctx.persist(Signed { name })
            .then(|book, _, ctx| {
                if ctx.last_sequence_nr().is_multiple_of(SNAPSHOT_EVERY) {
                    ctx.save_snapshot(&book.guests);
                }
            })
            .reply(|book| Ok(book.guests.0.clone()))
    }
}

#[actix::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "somebody".to_owned());
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/guest_book.toml");
    let config = arguments.next().unwrap_or_else(|| beside.to_owned());

    // ANCHOR: register
    let persistence = Persistence::builder()
        .plugin(FilePlugin::new())
        .config(Config::from_file(&config)?)
        .open()
        .await?;
    // ANCHOR_END: register
    let book = persistence.start(GuestBook::default)?;
    let guests = book.send(Sign { name }).await??;
    println!("{} guests so far: {}", guests.len(), guests.join(", "));
    // The snapshot is not waited for by anybody else.
    persistence.drained().await;
    Ok(())
}
