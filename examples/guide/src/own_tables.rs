//! Orders of a shop, and a table of the shop's own that is always in step with them.
//!
//! ```text
//! cargo run -p guide -- own_tables shop.db
//! ```

use actix::prelude::*;
use actix_persistence::payload::decode_state;
use actix_persistence::prelude::*;
use actix_persistence::sql::{
    ChangeHandler, ExtensionError, SchemaStep, SchemaSteps, Session, SessionWork, StateChange,
};
use actix_persistence::{Builder, Config};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

// ANCHOR: steps
fn tables() -> SchemaSteps {
    let steps = [
        SchemaStep::new(
            "CREATE TABLE customer_order (
                 id       VARCHAR(100) NOT NULL PRIMARY KEY,
                 customer VARCHAR(50)  NOT NULL
             )",
        )
        .on(
            "mysql",
            "CREATE TABLE customer_order (
                 id       VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
                 customer VARCHAR(50)  CHARACTER SET utf8mb4 NOT NULL
             )",
        ),
        // Added half a year later; what has run is never changed.
        SchemaStep::new("ALTER TABLE customer_order ADD COLUMN cents BIGINT NOT NULL DEFAULT 0"),
        SchemaStep::index("order_by_customer", "customer_order", "customer"),
    ];
    SchemaSteps::new("orders", steps).with_tables(["customer_order"])
}
// ANCHOR_END: steps

// ANCHOR: handler
/// Keeps a row for each order.
struct Rows;

#[async_trait]
impl ChangeHandler for Rows {
    async fn process(
        &self,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        let id = change.persistence_id.as_str();
        let sql = "DELETE FROM customer_order WHERE id = $1";
        session.execute(sql, [id.into()]).await?;
        if let Some(payload) = change.payload() {
            let order = decode_state::<Order>(payload)?;
            let sql = "INSERT INTO customer_order (id, customer, cents) VALUES ($1, $2, $3)";
            let values = [id.into(), order.customer.into(), order.cents.into()];
            session.execute(sql, values).await?;
        }
        Ok(())
    }
}
// ANCHOR_END: handler

// ANCHOR: open
fn shop(file: &str) -> Builder {
    let config = Config::new().with("persistence.state.sqlite.change-handler.Order", "rows");
    Persistence::builder()
        .config(config)
        .sqlite(file)
        .schema_steps(tables())
        .change_handler("rows", Rows)
}
// ANCHOR_END: open

#[derive(Clone, Serialize, Deserialize)]
struct Order {
    customer: String,
    cents: i64,
}

impl State for Order {
    const MANIFEST: &'static str = "shop.order";
    const VERSION: u32 = 1;
}

struct OrderActor(&'static str);

impl Actor for OrderActor {
    type Context = PersistentContext<Self>;
}

impl DurableState for OrderActor {
    type State = Order;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Order", self.0)
    }

    fn on_state(&mut self, _: Option<&Order>) {}
}

#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Place(Order);

impl Handler<Place> for OrderActor {
    type Result = Reply<Place>;

    fn handle(&mut self, Place(order): Place, ctx: &mut Self::Context) -> Reply<Place> {
        ctx.persist(order).reply(|_| Ok(()))
    }
}

// ANCHOR: query
/// Returns the number of orders of a customer, and what they cost.
async fn bill(persistence: &Persistence, customer: &'static str) -> anyhow::Result<(usize, i64)> {
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            let sql = "SELECT cents FROM customer_order WHERE customer = $1";
            let orders = session.select(sql, [customer.into()]).await?;
            let mut cents = 0;
            for order in &orders {
                cents += order.get::<i64>("cents")?;
            }
            Ok((orders.len(), cents))
        })
    });
    Ok(persistence.transact(None, work).await?)
}
// ANCHOR_END: query

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let file = std::env::args().nth(2).unwrap_or("shop.db".to_owned());
    let persistence = shop(&file).open().await?;
    for (name, cents) in [("1", 500), ("2", 700)] {
        let order = persistence.start(move || OrderActor(name))?;
        let customer = "ann".to_owned();
        order.send(Place(Order { customer, cents })).await??;
    }
    let (orders, cents) = bill(&persistence, "ann").await?;
    println!("ann has {orders} orders of {cents} cents");
    persistence.stop(std::time::Duration::from_secs(10)).await;
    Ok(())
}
