//! A library of books that is asked without writing anything.
//!
//! ```text
//! cargo run -p guide -- read_only_commands
//! ```

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Lent {
    title: String,
}

impl Event for Lent {
    const MANIFEST: &'static str = "library.lent";
    const VERSION: u32 = 1;
}

#[derive(Default)]
struct Library {
    lent: Vec<String>,
}

impl Actor for Library {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Library {
    type Event = Lent;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Library", "town")
    }

    fn on_event(&mut self, event: &Lent) {
        self.lent.push(event.title.clone());
    }
}

#[derive(Message)]
#[rtype(result = "Result<usize, PersistError>")]
struct Lend {
    title: &'static str,
}

impl Handler<Lend> for Library {
    type Result = Reply<Lend>;

    fn handle(&mut self, lend: Lend, ctx: &mut Self::Context) -> Reply<Lend> {
        let title = lend.title.to_owned();
        ctx.persist(Lent { title })
            .reply(|library| Ok(library.lent.len()))
    }
}

// ANCHOR: query
#[derive(Message)]
#[rtype(result = "usize")]
struct HowMany;

impl Handler<HowMany> for Library {
    type Result = usize;

    fn handle(&mut self, _: HowMany, _: &mut Self::Context) -> usize {
        self.lent.len()
    }
}
// ANCHOR_END: query

// ANCHOR: count
/// Lends a book without holding anything up; answers with the books that are lent at this moment.
#[derive(Message)]
#[rtype(result = "usize")]
struct LendQuickly {
    title: &'static str,
}

impl Handler<LendQuickly> for Library {
    type Result = usize;

    fn handle(&mut self, lend: LendQuickly, ctx: &mut Self::Context) -> usize {
        let title = lend.title.to_owned();
        ctx.persist_async(Lent { title }).detach();
        self.lent.len()
    }
}
// ANCHOR_END: count

// ANCHOR: barrier
/// The same question as `HowMany`, answered after everything that was asked for before.
#[derive(Message)]
#[rtype(result = "Result<usize, PersistError>")]
struct HowManyAfterAll;

impl Handler<HowManyAfterAll> for Library {
    type Result = Reply<HowManyAfterAll>;

    fn handle(&mut self, _: HowManyAfterAll, ctx: &mut Self::Context) -> Reply<HowManyAfterAll> {
        ctx.defer_async(|_, _| {})
            .reply(|library| Ok(library.lent.len()))
    }
}
// ANCHOR_END: barrier

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let persistence = Persistence::memory().await?;
    let library = persistence.start(Library::default)?;
    // The question waits until the book is stored and noted.
    let title = "Emma";
    library.do_send(Lend { title });
    println!("lent: {}", library.send(HowMany).await?);

    let title = "Dune";
    println!("lent: {}", library.send(LendQuickly { title }).await?);
    println!("lent: {}", library.send(HowManyAfterAll).await??);

    // ANCHOR: replay
    let replayed = persistence.replay(Library::default()).await?;
    println!(
        "{} at event {}",
        replayed.actor.lent.join(" and "),
        replayed.sequence_nr
    );
    // ANCHOR_END: replay

    let title = "Ulysses";
    println!("lent: {}", library.send(Lend { title }).await??);
    Ok(())
}
