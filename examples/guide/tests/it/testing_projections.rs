//! The tests of an application's projections: those of the page "Testing your actors".

use std::path::Path;

use actix_persistence::prelude::*;
use actix_persistence::projection::{
    ExactlyOnceHandler, ExtensionError, OnFailure, ProjectionTest, Session,
};
use actix_persistence::query::EventEnvelope;
use actix_persistence::sql::{SchemaStep, SchemaSteps, SessionWork, SqlRow};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
struct Paid {
    cents: u32,
}

impl Event for Paid {
    const MANIFEST: &'static str = "order.paid";
    const VERSION: u32 = 1;
}

// ANCHOR: handler
/// Adds up what each customer has paid.
struct Turnover;

#[async_trait]
impl ExactlyOnceHandler<EventEnvelope<Paid>> for Turnover {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &EventEnvelope<Paid>,
    ) -> Result<(), ExtensionError> {
        const ADD: &str = "INSERT INTO turnover (customer, cents) VALUES ($1, $2)
            ON CONFLICT (customer) DO UPDATE SET cents = cents + excluded.cents";
        for Paid { cents } in &item.events {
            if *cents == 0 {
                return Err("nobody pays nothing".into());
            }
            let customer = item.persistence_id.entity_id();
            session
                .execute(ADD, [customer.into(), (*cents).into()])
                .await?;
        }
        Ok(())
    }
}
// ANCHOR_END: handler

// ANCHOR: shop
/// The stores of a test, with the table of the read model.
async fn shop(folder: &Path) -> Persistence {
    const TABLE: &str = "CREATE TABLE turnover (customer TEXT PRIMARY KEY, cents INTEGER)";
    let tables = SchemaSteps::new("shop", [SchemaStep::new(TABLE)]);
    let builder = Persistence::builder().sqlite(folder.join("test.db"));
    builder.schema_steps(tables).open().await.unwrap()
}

/// Returns what the table has, as text.
async fn turnover(persistence: &Persistence) -> Vec<String> {
    let rows = SessionWork::new(|session| {
        Box::pin(async move {
            const ALL: &str = "SELECT customer, cents FROM turnover ORDER BY customer";
            let rows = session.select(ALL, []).await?.into_iter();
            let row = |row: SqlRow| {
                let (customer, cents): (String, i64) = (row.get("customer")?, row.get("cents")?);
                Ok(format!("{customer} {cents}"))
            };
            rows.map(row).collect()
        })
    });
    persistence.transact(None, rows).await.unwrap()
}
// ANCHOR_END: shop

// ANCHOR: rows
#[actix::test]
async fn the_turnover_of_each_customer_is_added_up() {
    let folder = tempfile::tempdir().unwrap();
    let persistence = shop(folder.path()).await;
    let (ann, bob) = (id("ann"), id("bob"));
    let outcome = ProjectionTest::on(&persistence)
        .given(&ann, Paid { cents: 500 })
        .given(&bob, Paid { cents: 20 })
        .given(&ann, Paid { cents: 70 })
        .refusing_call(2) // its transaction is taken back, and its events come again
        .exactly_once(Turnover)
        .await
        .unwrap();
    assert!(outcome.is_complete());
    assert_eq!(turnover(&persistence).await, ["ann 570", "bob 20"]);
}
// ANCHOR_END: rows

// ANCHOR: skipped
#[actix::test]
async fn a_payment_of_nothing_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let persistence = shop(folder.path()).await;
    let ann = id("ann");
    let outcome = ProjectionTest::on(&persistence)
        .given(&ann, Paid { cents: 500 })
        .given(&ann, Paid { cents: 0 })
        .given(&ann, Paid { cents: 70 })
        .with(|settings| settings.on_failure = OnFailure::Skip)
        .exactly_once(Turnover)
        .await
        .unwrap();
    assert_eq!(outcome.skipped.len(), 1);
    assert!(outcome.skipped[0].reason.ends_with("nobody pays nothing"));
    assert_eq!(turnover(&persistence).await, ["ann 570"]);
}
// ANCHOR_END: skipped

fn id(customer: &str) -> PersistenceId {
    PersistenceId::of("Order", customer)
}
