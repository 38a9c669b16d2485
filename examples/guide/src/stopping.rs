//! A kitchen that cooks what was ordered before it closes.
//!
//! ```text
//! cargo run -p guide -- stopping kitchen.db soup fish
//! ```
//!
//! Each word is an order. Press Ctrl-C to close the kitchen.

use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Cooked {
    meal: String,
}

impl Event for Cooked {
    const MANIFEST: &'static str = "kitchen.cooked";
    const VERSION: u32 = 1;
}

#[derive(Default)]
struct Kitchen {
    meals: u64,
}

impl Actor for Kitchen {
    type Context = PersistentContext<Self>;

    fn stopped(&mut self, _: &mut Self::Context) {
        println!("closed after {} meals", self.meals);
    }
}

impl PersistentActor for Kitchen {
    type Event = Cooked;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Kitchen", "main")
    }

    fn on_event(&mut self, _: &Cooked) {
        self.meals += 1;
    }
}

#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Order {
    meal: String,
}

impl Handler<Order> for Kitchen {
    type Result = Reply<Order>;

    fn handle(&mut self, order: Order, ctx: &mut Self::Context) -> Reply<Order> {
        ctx.persist(Cooked { meal: order.meal })
            .then(|_, cooked, _| println!("{}", cooked.meal))
            .reply(|kitchen| Ok(kitchen.meals))
    }
}

// ANCHOR: close
#[derive(Message)]
#[rtype(result = "()")]
struct Close;

impl Handler<Close> for Kitchen {
    type Result = ();

    fn handle(&mut self, _: Close, ctx: &mut Self::Context) {
        ctx.stop();
    }
}
// ANCHOR_END: close

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(2);
    let database = arguments.next().unwrap_or_else(|| "kitchen.db".to_owned());
    let persistence = Persistence::sqlite(database).await?;
    let kitchen = persistence.start(Kitchen::default)?;
    for meal in arguments {
        if meal == "close" {
            kitchen.do_send(Close);
        } else {
            kitchen.do_send(Order { meal });
        }
    }
    // ANCHOR: stop_on_ctrl_c
    let report = persistence.stop_on_ctrl_c(Duration::from_secs(10)).await?;
    println!("{report}");
    // ANCHOR_END: stop_on_ctrl_c
    Ok(())
}
