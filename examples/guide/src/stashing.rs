//! A shop where customers wait in line until it opens.
//!
//! ```text
//! cargo run -p guide -- stashing
//! ```

use actix::prelude::*;
use actix_persistence::{
    error::ErrorChain,
    prelude::*,
    stash::{Overflow, OverflowReplies, StashPolicy},
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
enum Day {
    Opened,
    Sold,
}

impl Event for Day {
    const MANIFEST: &'static str = "shop.day";
    const VERSION: u32 = 1;
}

#[derive(Default)]
struct Shop {
    is_open: bool,
    sold: u64,
}

impl Actor for Shop {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Shop {
    type Event = Day;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Shop", "corner")
    }

    fn on_event(&mut self, event: &Day) {
        match event {
            Day::Opened => self.is_open = true,
            Day::Sold => self.sold += 1,
        }
    }

    // ANCHOR: policy
    fn stash_policy(&self) -> Option<StashPolicy> {
        let replies = OverflowReplies::new().with::<Buy>(|| Err(ShopError::TooBusy));
        Some(StashPolicy::new(2, Overflow::Reply(replies)))
    }
    // ANCHOR_END: policy
}

#[derive(Debug)]
enum ShopError {
    TooBusy,
    Persist(PersistError),
}

impl From<PersistError> for ShopError {
    fn from(error: PersistError) -> Self {
        ShopError::Persist(error)
    }
}

#[derive(Message)]
#[rtype(result = "Result<u64, ShopError>")]
struct Buy {
    customer: &'static str,
}

// ANCHOR: stash
impl Handler<Buy> for Shop {
    type Result = Reply<Buy>;

    fn handle(&mut self, buy: Buy, ctx: &mut Self::Context) -> Reply<Buy> {
        if !self.is_open {
            return ctx.stash(buy);
        }
        println!("{} is served", buy.customer);
        ctx.persist(Day::Sold).reply(|shop| Ok(shop.sold))
    }
}
// ANCHOR_END: stash

#[derive(Message)]
#[rtype(result = "Result<u64, ShopError>")]
struct Open;

// ANCHOR: unstash
impl Handler<Open> for Shop {
    type Result = Reply<Open>;

    fn handle(&mut self, _: Open, ctx: &mut Self::Context) -> Reply<Open> {
        ctx.persist(Day::Opened)
            .then(|_, _, ctx| {
                let waiting = ctx.unstash_all();
                println!("open, {waiting} are waiting");
            })
            .reply(|shop| Ok(shop.sold))
    }
}
// ANCHOR_END: unstash

#[derive(Message)]
#[rtype(result = "u64")]
struct Sold;

impl Handler<Sold> for Shop {
    type Result = u64;

    fn handle(&mut self, _: Sold, _: &mut Self::Context) -> u64 {
        self.sold
    }
}

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let persistence = Persistence::memory().await?;
    println!("by default: {}", persistence.stash_policy());
    let shop = persistence.start(Shop::default)?;
    let buy = |customer| shop.send(Buy { customer });
    // Answered after the recovery: from then on commands are put aside by the shop itself.
    println!("{} sold", shop.send(Sold).await?);
    // Sent in this order; they wait in the shop, and their askers here.
    let (ann, ben, cem) = (buy("Ann"), buy("Ben"), buy("Cem"));
    match cem.await? {
        Err(ShopError::TooBusy) => println!("Cem is told to come again"),
        other => println!("Cem: {other:?}"),
    }
    shop.do_send(Open);
    for waiting in [ann, ben] {
        match waiting.await? {
            Ok(sold) => println!("sold: {sold}"),
            Err(ShopError::TooBusy) => println!("too busy"),
            Err(ShopError::Persist(error)) => println!("not sold: {}", ErrorChain(&error)),
        }
    }
    Ok(())
}
