//! An order and the stock that it takes from, and what is stored beside their events.
//!
//! ```text
//! cargo run -p guide -- metadata
//! ```

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Placed {
    cents: u64,
}

impl Event for Placed {
    const MANIFEST: &'static str = "shop.order";
    const VERSION: u32 = 1;
}

/// Takes from the stock what is ordered.
struct Order {
    id: &'static str,
    stock: Addr<Stock>,
    cents: u64,
}

impl Actor for Order {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Order {
    type Event = Placed;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Order", self.id)
    }

    fn on_event(&mut self, event: &Placed) {
        self.cents += event.cents;
    }

    // ANCHOR: tags
    fn tags(&self, event: &Placed) -> Vec<String> {
        let is_large = self.cents + event.cents >= 10_000;
        is_large.then(|| "large".to_owned()).into_iter().collect()
    }
    // ANCHOR_END: tags
}

#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Place {
    cents: u64,
    is_gift: bool,
}

impl Handler<Place> for Order {
    type Result = Reply<Place>;

    // ANCHOR: tagged
    fn handle(&mut self, place: Place, ctx: &mut Self::Context) -> Self::Result {
        let placed = Placed { cents: place.cents };
        let tags = place.is_gift.then_some("gift");
        ctx.tagged(tags)
            .persist(placed)
            .then(|order, _, _| order.stock.do_send(Take))
            .reply(|_| Ok(()))
    }
    // ANCHOR_END: tagged
}

#[derive(Serialize, Deserialize)]
struct Taken {
    pieces: u64,
}

impl Event for Taken {
    const MANIFEST: &'static str = "shop.stock";
    const VERSION: u32 = 1;
}

#[derive(Default)]
struct Stock {
    pieces: u64,
    last_user: Option<String>,
}

impl Actor for Stock {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Stock {
    type Event = Taken;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Stock", "lamps")
    }

    fn on_event(&mut self, event: &Taken) {
        self.pieces += event.pieces;
    }

    // ANCHOR: on_event_at
    fn on_event_at(&mut self, event: &Taken, meta: &EventMeta) {
        self.last_user = meta.metadata.user().map(str::to_owned);
        self.on_event(event);
    }
    // ANCHOR_END: on_event_at
}

#[derive(Message)]
#[rtype(result = "()")]
struct Take;

impl Handler<Take> for Stock {
    type Result = ();

    // ANCHOR: set_metadata
    fn handle(&mut self, _: Take, ctx: &mut Self::Context) {
        let correlation_id = ctx.metadata().correlation_id().map(str::to_owned);
        println!("taking a lamp for {correlation_id:?}");
        if let Ok(metadata) = ctx.metadata().with_entry("shelf", "north") {
            ctx.set_metadata(metadata);
        }
        ctx.persist(Taken { pieces: 1 }).detach();
    }
    // ANCHOR_END: set_metadata
}

#[derive(Message)]
#[rtype(result = "Option<String>")]
struct LastUser;

impl Handler<LastUser> for Stock {
    type Result = Option<String>;

    fn handle(&mut self, _: LastUser, _: &mut Self::Context) -> Self::Result {
        self.last_user.clone()
    }
}

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let persistence = Persistence::memory().await?;
    let stock = persistence.start(Stock::default)?;
    let for_order = stock.clone();
    let order = persistence.start(move || Order {
        id: "81",
        stock: for_order.clone(),
        cents: 0,
    })?;

    // ANCHOR: scope
    let metadata = Metadata::new()
        .with_correlation_id("order 81")?
        .with_causation_id("request 7")?
        .with_user("ann")?
        .with_trace_context(
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            None,
        )?;
    let place = Place {
        cents: 12_000,
        is_gift: true,
    };
    metadata.scope(|| order.send(place)).await??;
    // ANCHOR_END: scope

    let user = stock.send(LastUser).await?;
    println!("the last lamp went to {user:?}");

    // ANCHOR: replay
    let show = |meta: &EventMeta| {
        let (number, metadata) = (meta.sequence_nr, &meta.metadata);
        println!(
            "event {number} of {:?}, because of {:?}, on the shelf {:?}",
            metadata.correlation_id(),
            metadata.causation_id(),
            metadata.entry("shelf"),
        );
    };
    let order = PersistenceId::of("Order", "81");
    let stock = PersistenceId::of("Stock", "lamps");
    persistence
        .replay_events(order, |meta, _: Placed| show(meta))
        .await?;
    persistence
        .replay_events(stock, |meta, _: Taken| show(meta))
        .await?;
    // ANCHOR_END: replay
    Ok(())
}
