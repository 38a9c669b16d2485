//! A ticket office that answers its askers, each once.
//!
//! ```text
//! cargo run -p guide -- replying
//! ```

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
enum Ticket {
    Reserved,
    Sold { number: u64 },
}

impl Event for Ticket {
    const MANIFEST: &'static str = "office.ticket";
    const VERSION: u32 = 1;
}

struct Office {
    left: u64,
    sold: u64,
}

impl Actor for Office {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Office {
    type Event = Ticket;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Office", "opera")
    }

    fn on_event(&mut self, event: &Ticket) {
        match event {
            Ticket::Reserved => self.left -= 1,
            Ticket::Sold { number } => self.sold = *number,
        }
    }
}

// ANCHOR: error
#[derive(Debug)]
enum OfficeError {
    SoldOut,
    Persist(PersistError),
}

impl From<PersistError> for OfficeError {
    fn from(error: PersistError) -> Self {
        OfficeError::Persist(error)
    }
}
// ANCHOR_END: error

/// Answers with the number that is left.
#[derive(Message)]
#[rtype(result = "Result<u64, OfficeError>")]
struct Reserve;

impl Handler<Reserve> for Office {
    type Result = Reply<Reserve>;

    // ANCHOR: reply
    fn handle(&mut self, _: Reserve, ctx: &mut Self::Context) -> Reply<Reserve> {
        if self.left == 0 {
            return Reply::now(Err(OfficeError::SoldOut));
        }
        ctx.persist(Ticket::Reserved)
            .reply(|office| Ok(office.left))
    }
    // ANCHOR_END: reply
}

// ANCHOR: notice
#[derive(Message)]
#[rtype(result = "()")]
struct Notice(&'static str);

/// Answers with the number of the ticket, and sends notices on the way.
#[derive(Message)]
#[rtype(result = "Result<u64, OfficeError>")]
struct Buy {
    notices: Recipient<Notice>,
}
// ANCHOR_END: notice

impl Handler<Buy> for Office {
    type Result = Reply<Buy>;

    // ANCHOR: deferred
    fn handle(&mut self, buy: Buy, ctx: &mut Self::Context) -> Reply<Buy> {
        if self.left == 0 {
            return Reply::now(Err(OfficeError::SoldOut));
        }
        ctx.persist(Ticket::Reserved)
            .then(move |office, _, ctx| {
                buy.notices.do_send(Notice("reserved"));
                let number = office.sold + 1;
                ctx.persist(Ticket::Sold { number })
                    .then(move |_, _, ctx| {
                        // The answer is returned if no asker waits for it.
                        let _ = ctx.reply_to::<Buy>().send(Ok(number));
                    })
                    .detach();
            })
            .detach();
        Reply::deferred()
    }
    // ANCHOR_END: deferred
}

/// Prints what it is sent.
struct Display;

impl Actor for Display {
    type Context = Context<Self>;
}

impl Handler<Notice> for Display {
    type Result = ();

    fn handle(&mut self, notice: Notice, _: &mut Self::Context) {
        println!("notice: {}", notice.0);
    }
}

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let persistence = Persistence::memory().await?;
    let office = persistence.start(|| Office { left: 2, sold: 0 })?;
    let notices = Display.start().recipient();
    show("left", office.send(Reserve).await?);
    show("ticket", office.send(Buy { notices }).await?);
    show("left", office.send(Reserve).await?);
    Ok(())
}

fn show(what: &str, answer: Result<u64, OfficeError>) {
    match answer {
        Ok(number) => println!("{what}: {number}"),
        Err(OfficeError::SoldOut) => println!("sold out"),
        Err(OfficeError::Persist(error)) if error.is_not_stored() => {
            println!("not done, you may ask again: {error}");
        }
        Err(OfficeError::Persist(error)) => println!("look before you ask again: {error}"),
    }
}
