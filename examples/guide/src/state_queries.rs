//! Shelves that are stored as they are, and a display that follows what changes on them.
//!
//! ```text
//! cargo run -p guide -- state_queries
//! ```

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::query::{Changed, StateOffset};
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Books(u32);

impl State for Books {
    const MANIFEST: &'static str = "library.books";
    const VERSION: u32 = 1;
}

struct Shelf {
    name: &'static str,
    books: u32,
}

impl Actor for Shelf {
    type Context = PersistentContext<Self>;
}

impl DurableState for Shelf {
    type State = Books;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Shelf", self.name)
    }

    fn on_state(&mut self, state: Option<&Books>) {
        self.books = state.map_or(0, |books| books.0);
    }
}

/// Puts books onto the shelf, or takes the shelf away with none.
#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Put(u32);

impl Handler<Put> for Shelf {
    type Result = Reply<Put>;

    fn handle(&mut self, Put(books): Put, ctx: &mut Self::Context) -> Self::Result {
        if books == 0 {
            return ctx.delete().reply(|_| Ok(()));
        }
        ctx.persist(Books(self.books + books)).reply(|_| Ok(()))
    }
}

// ANCHOR: follow
/// Shows this many changes, and returns where to go on.
async fn follow(
    persistence: &Persistence,
    offset: StateOffset,
    changes: usize,
) -> anyhow::Result<StateOffset> {
    let queries = persistence.state_queries(None)?;
    let changes = queries
        .changes_by_slices::<Books>("Shelf", 0..=1023, offset.clone())
        .take(changes);
    let last = changes.try_fold(offset, |_, change| async move {
        match &change {
            Changed::Updated(shelf) => println!("{}: {}", shelf.persistence_id, shelf.state.0),
            Changed::Deleted(shelf) => println!("{} is gone", shelf.persistence_id),
            _ => {}
        }
        Ok(change.offset().clone())
    });
    Ok(last.await?)
}
// ANCHOR_END: follow

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let persistence = Persistence::memory().await?;
    let start = |name| persistence.start(move || Shelf { name, books: 0 });
    let (poems, atlases) = (start("poems")?, start("atlases")?);
    for (shelf, books) in [(&poems, 3), (&atlases, 1), (&poems, 4)] {
        shelf.send(Put(books)).await??;
    }

    // ANCHOR: ids
    let queries = persistence.state_queries(None)?;
    let ids: Vec<PersistenceId> = queries
        .current_persistence_ids_of("Shelf")
        .try_collect()
        .await?;
    println!("{ids:?}");
    // ANCHOR_END: ids

    // ANCHOR: resume
    // Each shelf once, as it is now.
    let offset = follow(&persistence, StateOffset::start(), 2).await?;
    // The text is what is kept, beside what was made of the changes.
    let kept = offset.to_string();
    atlases.send(Put(0)).await??;
    follow(&persistence, kept.parse()?, 1).await?;
    // ANCHOR_END: resume
    Ok(())
}
