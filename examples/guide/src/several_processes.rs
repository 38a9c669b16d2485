//! A basket that two processes have at once.
//!
//! ```text
//! cargo run -p guide -- several_processes baskets.db
//! ```

use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Put {
    key: u64,
}

impl Event for Put {
    const MANIFEST: &'static str = "guide.put";
    const VERSION: u32 = 1;
}

#[derive(Default)]
struct Basket {
    keys: Vec<u64>,
    take_over: TakeOver,
}

impl Actor for Basket {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Basket {
    type Event = Put;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Basket", "ann")
    }

    fn on_event(&mut self, put: &Put) {
        self.keys.push(put.key);
    }

    // ANCHOR: take_over
    fn take_over(&self) -> TakeOver {
        // TakeOver::WithFirstWrite unless said otherwise
        self.take_over
    }
    // ANCHOR_END: take_over

    // ANCHOR: on_conflict
    fn back_off(&self) -> Option<BackOffSettings> {
        let settings = BackOffSettings::default();
        Some(settings.with_on_conflict(OnConflict::Recover))
    }
    // ANCHOR_END: on_conflict
}

// ANCHOR: put_in
/// Puts something in; a key that is there already is done already.
#[derive(Clone, Message)]
#[rtype(result = "Result<usize, PersistError>")]
struct PutIn {
    key: u64,
}

impl Handler<PutIn> for Basket {
    type Result = Reply<PutIn>;

    fn handle(&mut self, PutIn { key }: PutIn, ctx: &mut Self::Context) -> Reply<PutIn> {
        if self.keys.contains(&key) {
            return Reply::now(Ok(self.keys.len()));
        }
        ctx.persist(Put { key })
            .reply(|basket| Ok(basket.keys.len()))
    }
}
// ANCHOR_END: put_in

#[derive(Message)]
#[rtype(result = "usize")]
struct Count;

impl Handler<Count> for Basket {
    type Result = usize;

    fn handle(&mut self, _: Count, _: &mut Self::Context) -> usize {
        self.keys.len()
    }
}

// ANCHOR: send_again
/// Sends a command again if another process was first: nothing is stored then, and the next attempt meets what that
/// process has stored.
async fn send_again(basket: &Addr<Basket>, put: PutIn) -> anyhow::Result<usize> {
    for _ in 0..10 {
        match basket.send(put.clone()).await? {
            Err(PersistError::Conflict(_)) => {}
            answer => return Ok(answer?),
        }
    }
    anyhow::bail!("too many others want this basket")
}
// ANCHOR_END: send_again

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let file = std::env::args().nth(2).unwrap_or("baskets.db".into());
    // Two handles stand for two processes: each has actors and connections of its own.
    let (here, there) = (
        Persistence::sqlite(&file).await?,
        Persistence::sqlite(&file).await?,
    );
    let (ours, theirs) = (here.start(Basket::default)?, there.start(Basket::default)?);
    println!(
        "both are empty: {} {}",
        ours.send(Count).await?,
        theirs.send(Count).await?
    );

    println!("stored here: {}", ours.send(PutIn { key: 1 }).await??);
    // ANCHOR: conflict
    if let Err(error @ PersistError::Conflict(_)) = theirs.send(PutIn { key: 2 }).await? {
        println!("refused there: {error}");
    }
    // ANCHOR_END: conflict
    println!(
        "sent again: {}",
        send_again(&theirs, PutIn { key: 2 }).await?
    );

    println!("stale: {}", ours.send(Count).await?);
    // ANCHOR: fresh
    let replayed = here.replay(Basket::default()).await?;
    println!("fresh: {}", replayed.actor.keys.len());
    // ANCHOR_END: fresh
    println!(
        "a write finds out: {}",
        send_again(&ours, PutIn { key: 3 }).await?
    );

    drop((ours, theirs));
    for persistence in [here, there] {
        persistence.stop(Duration::from_secs(10)).await;
    }
    Ok(())
}
