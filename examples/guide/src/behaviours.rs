//! A checkout that is in one phase after the other, and goes on in the same one after a restart.
//!
//! ```text
//! cargo run -p guide -- behaviours checkout.db tea cup check-out
//! cargo run -p guide -- behaviours checkout.db milk ship pay
//! ```

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

// ANCHOR: event
#[derive(Serialize, Deserialize)]
enum Step {
    Added { item: String },
    CheckedOut,
    Paid,
}
// ANCHOR_END: event

impl Event for Step {
    const MANIFEST: &'static str = "checkout.step";
    const VERSION: u32 = 1;
}

// ANCHOR: phase
#[derive(Debug)]
enum Phase {
    Shopping,
    Paying,
    Done,
}

struct Checkout {
    phase: Phase,
    items: Vec<String>,
}
// ANCHOR_END: phase

impl Checkout {
    fn new() -> Self {
        Self {
            phase: Phase::Shopping,
            items: Vec::new(),
        }
    }
}

impl Actor for Checkout {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Checkout {
    type Event = Step;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Checkout", "42")
    }

    // ANCHOR: on_event
    fn on_event(&mut self, event: &Step) {
        match event {
            Step::Added { item } => self.items.push(item.clone()),
            Step::CheckedOut => self.phase = Phase::Paying,
            Step::Paid => self.phase = Phase::Done,
        }
    }
    // ANCHOR_END: on_event

    fn on_recovery_completed(&mut self, _: &mut Self::Context) {
        println!("{:?}, {} items", self.phase, self.items.len());
    }
}

#[derive(Debug)]
enum CheckoutError {
    NotNow,
    Persist(PersistError),
}

impl From<PersistError> for CheckoutError {
    fn from(error: PersistError) -> Self {
        CheckoutError::Persist(error)
    }
}

type Answer = Result<String, CheckoutError>;

#[derive(Message)]
#[rtype(result = "Answer")]
struct Add {
    item: String,
}

// ANCHOR: add
impl Handler<Add> for Checkout {
    type Result = Reply<Add>;

    fn handle(&mut self, Add { item }: Add, ctx: &mut Self::Context) -> Reply<Add> {
        match self.phase {
            Phase::Shopping => ctx
                .persist(Step::Added { item })
                .reply(|checkout| Ok(format!("{} items", checkout.items.len()))),
            Phase::Paying | Phase::Done => Reply::now(Err(CheckoutError::NotNow)),
        }
    }
}
// ANCHOR_END: add

#[derive(Message)]
#[rtype(result = "Answer")]
struct CheckOut;

impl Handler<CheckOut> for Checkout {
    type Result = Reply<CheckOut>;

    fn handle(&mut self, _: CheckOut, ctx: &mut Self::Context) -> Reply<CheckOut> {
        match self.phase {
            Phase::Shopping => ctx
                .persist(Step::CheckedOut)
                .reply(|_| Ok("checked out".to_owned())),
            Phase::Paying | Phase::Done => Reply::now(Err(CheckoutError::NotNow)),
        }
    }
}

#[derive(Message)]
#[rtype(result = "Answer")]
struct Pay;

#[derive(Message)]
#[rtype(result = "Answer")]
struct Ship;

// ANCHOR: pay
impl Handler<Pay> for Checkout {
    type Result = Reply<Pay>;

    fn handle(&mut self, _: Pay, ctx: &mut Self::Context) -> Reply<Pay> {
        match self.phase {
            Phase::Paying => ctx
                .persist(Step::Paid)
                .then(|_, _, ctx| {
                    ctx.unstash_all();
                })
                .reply(|_| Ok("paid".to_owned())),
            Phase::Shopping | Phase::Done => Reply::now(Err(CheckoutError::NotNow)),
        }
    }
}

impl Handler<Ship> for Checkout {
    type Result = Reply<Ship>;

    fn handle(&mut self, ship: Ship, ctx: &mut Self::Context) -> Reply<Ship> {
        match self.phase {
            Phase::Shopping => Reply::now(Err(CheckoutError::NotNow)),
            // Not yet: it is processed again when the phase has changed.
            Phase::Paying => ctx.stash(ship),
            Phase::Done => Reply::now(Ok(format!("shipped {}", self.items.join(" and ")))),
        }
    }
}
// ANCHOR_END: pay

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(2);
    let database = arguments.next().unwrap_or_else(|| "checkout.db".to_owned());
    let persistence = Persistence::sqlite(database).await?;
    let checkout = persistence.start(Checkout::new)?;
    let mut shipping = None;
    for command in arguments {
        let answer = match command.as_str() {
            "check-out" => checkout.send(CheckOut).await?,
            "pay" => checkout.send(Pay).await?,
            "ship" => {
                // Its answer may take until it is paid.
                shipping = Some(checkout.send(Ship));
                continue;
            }
            item => {
                let item = item.to_owned();
                checkout.send(Add { item }).await?
            }
        };
        show(&command, answer);
    }
    if let Some(shipping) = shipping {
        show("ship", shipping.await?);
    }
    Ok(())
}

fn show(command: &str, answer: Answer) {
    match answer {
        Ok(text) => println!("{command}: {text}"),
        Err(CheckoutError::NotNow) => println!("{command}: not now"),
        Err(CheckoutError::Persist(error)) => println!("{command}: {error}"),
    }
}
