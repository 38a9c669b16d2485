//! Accounts that store events, and readers of what all of them stored.
//!
//! ```text
//! cargo run -p guide -- event_queries
//! ```

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::query::{EventOffset, EventSelection, ReplayRange};
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Deposited(u64);

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
        self.balance += event.0;
    }
}

#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Deposit(u64);

impl Handler<Deposit> for Account {
    type Result = Reply<Deposit>;

    fn handle(&mut self, Deposit(amount): Deposit, ctx: &mut Self::Context) -> Self::Result {
        let large = (amount >= 1_000).then_some("large");
        let tagged = ctx.tagged(large);
        tagged.persist(Deposited(amount)).reply(|_| Ok(()))
    }
}

// ANCHOR: follow
/// Shows this many large deposits, and returns where to go on.
async fn follow(
    persistence: &Persistence,
    offset: EventOffset,
    deposits: usize,
) -> anyhow::Result<EventOffset> {
    let queries = persistence.event_queries(None)?;
    let mut large = queries.events_by_tag::<Deposited>("large", offset);
    for _ in 0..deposits {
        let Some(envelope) = large.try_next().await? else {
            break;
        };
        for Deposited(amount) in &envelope.events {
            println!("{}: {amount}", envelope.persistence_id);
        }
    }
    Ok(large.offset().clone())
}
// ANCHOR_END: follow

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let persistence = Persistence::memory().await?;
    let start = |owner| persistence.start(move || Account { owner, balance: 0 });
    let (ann, bob) = (start("ann")?, start("bob")?);
    for (account, amount) in [(&ann, 2_000), (&bob, 10), (&bob, 3_000)] {
        account.send(Deposit(amount)).await??;
    }

    // ANCHOR: resume
    let offset = follow(&persistence, EventOffset::start(), 2).await?;
    // The text is what is kept, beside what was made of the events.
    let kept = offset.to_string();
    ann.send(Deposit(4_000)).await??;
    follow(&persistence, kept.parse()?, 1).await?;
    // ANCHOR_END: resume

    // ANCHOR: current
    let queries = persistence.event_queries(None)?;
    let all = queries.current_events::<Deposited>(EventSelection::all(), EventOffset::start());
    println!("{} events", all.count().await);

    let bob = PersistenceId::of("Account", "bob");
    let of_bob = queries.current_events_of::<Deposited>(&bob, ReplayRange::ALL);
    let of_bob: Vec<_> = of_bob.try_collect().await?;
    println!("{} of bob", of_bob.len());
    // ANCHOR_END: current
    Ok(())
}
