//! Accounts that store events, and a table of their balances that a projection makes of those, each event once.
//!
//! ```text
//! cargo run -p guide -- projections
//! ```

use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::projection::{ExactlyOnceHandler, ExtensionError, Session};
use actix_persistence::query::{EventEnvelope, EventSelection};
use actix_persistence::sql::SessionWork;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Deposited(u32);

impl Event for Deposited {
    const MANIFEST: &'static str = "bank.deposited";
    const VERSION: u32 = 1;
}

struct Account {
    owner: &'static str,
    balance: u64,
}

impl Actor for Account {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Account {
    type Event = Deposited;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Account", self.owner)
    }

    fn on_event(&mut self, event: &Deposited) {
        self.balance += u64::from(event.0);
    }
}

#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Deposit(u32);

impl Handler<Deposit> for Account {
    type Result = Reply<Deposit>;

    fn handle(&mut self, Deposit(amount): Deposit, ctx: &mut Self::Context) -> Self::Result {
        // The number of the event, for whoever waits until it is in the read model.
        ctx.persist(Deposited(amount))
            .reply_with(|_, ctx| Ok(ctx.last_sequence_nr()))
    }
}

// ANCHOR: handler
struct Balances;

#[async_trait]
impl ExactlyOnceHandler<EventEnvelope<Deposited>> for Balances {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &EventEnvelope<Deposited>,
    ) -> Result<(), ExtensionError> {
        const ADD: &str = "INSERT INTO balances (account, amount) VALUES ($1, $2)
            ON CONFLICT (account) DO UPDATE SET amount = amount + excluded.amount";
        for Deposited(amount) in &item.events {
            let account = item.persistence_id.as_str();
            session
                .execute(ADD, [account.into(), (*amount).into()])
                .await?;
        }
        Ok(())
    }
}
// ANCHOR_END: handler

/// Returns the balances, as text.
async fn balances(persistence: &Persistence) -> anyhow::Result<Vec<String>> {
    let work = SessionWork::new(|session| {
        Box::pin(async move {
            const ALL: &str = "SELECT account, amount FROM balances ORDER BY account";
            let rows = session.select(ALL, []).await?;
            let balances = rows.iter().map(|row| {
                let (account, amount): (String, i64) = (row.get("account")?, row.get("amount")?);
                Ok(format!("{account} has {amount}"))
            });
            balances.collect()
        })
    });
    Ok(persistence.transact(None, work).await?)
}

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let persistence = Persistence::sqlite(folder.path().join("bank.db")).await?;
    let table = SessionWork::new(|session| {
        Box::pin(async move {
            const TABLE: &str = "CREATE TABLE balances (account TEXT PRIMARY KEY, amount INTEGER)";
            session.execute(TABLE, []).await?;
            Ok(())
        })
    });
    persistence.transact(None, table).await?;

    // ANCHOR: start
    let projection = persistence
        .projection("balances")
        .of_events::<Deposited>(None, EventSelection::all().of_entity_type("Account"))?
        .with(|settings| settings.shares = 4)
        .exactly_once(Balances)?;
    // ANCHOR_END: start

    let start = |owner| persistence.start(move || Account { owner, balance: 0 });
    let (ann, bob) = (start("ann")?, start("bob")?);
    // ANCHOR: applied
    for (owner, account, amount) in [("ann", &ann, 2_000), ("bob", &bob, 10), ("ann", &ann, 30)] {
        let number = account.send(Deposit(amount)).await??;
        let id = PersistenceId::of("Account", owner);
        let within = Duration::from_secs(30);
        projection.applied_event(&id, number, within).await?;
    }
    // ANCHOR_END: applied
    for balance in balances(&persistence).await? {
        println!("{balance}");
    }
    persistence.stop(Duration::from_secs(5)).await;
    Ok(())
}
