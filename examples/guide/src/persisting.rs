//! A ship's log, written in all the ways there are to persist.
//!
//! ```text
//! cargo run -p guide -- persisting
//! ```

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Noted {
    line: String,
}

impl Event for Noted {
    const MANIFEST: &'static str = "log.noted";
    const VERSION: u32 = 1;
}

fn noted(line: &str) -> Noted {
    Noted {
        line: line.to_owned(),
    }
}

#[derive(Default)]
struct Log {
    lines: usize,
}

impl Actor for Log {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Log {
    type Event = Noted;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Log", "Beagle")
    }

    fn on_event(&mut self, _: &Noted) {
        self.lines += 1;
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Nested;

impl Handler<Nested> for Log {
    type Result = ();

    // ANCHOR: nested
    fn handle(&mut self, _: Nested, ctx: &mut Self::Context) {
        for outer in ["outer-1", "outer-2"] {
            ctx.persist(noted(outer))
                .then(|_, event, ctx| {
                    println!("{}", event.line);
                    let inner = event.line.replace("outer", "inner");
                    ctx.persist(noted(&inner))
                        .then(|_, event, _| println!("{}", event.line))
                        .detach();
                })
                .detach();
        }
    }
    // ANCHOR_END: nested
}

#[derive(Message)]
#[rtype(result = "()")]
struct Next;

impl Handler<Next> for Log {
    type Result = ();

    fn handle(&mut self, _: Next, _: &mut Self::Context) {
        println!("the next command");
    }
}

#[derive(Message)]
#[rtype(result = "Result<usize, PersistError>")]
struct Land {
    ports: Vec<&'static str>,
}

impl Handler<Land> for Log {
    type Result = Reply<Land>;

    // ANCHOR: all
    fn handle(&mut self, land: Land, ctx: &mut Self::Context) -> Reply<Land> {
        ctx.persist_all(land.ports.into_iter().map(noted))
            .for_each_event(|_, event, _| println!("{}", event.line))
            .on_complete(|log, _| println!("all of them, {} lines now", log.lines))
            .reply(|log| Ok(log.lines))
    }
    // ANCHOR_END: all
}

#[derive(Message)]
#[rtype(result = "()")]
struct Measure;

impl Handler<Measure> for Log {
    type Result = ();

    // ANCHOR: async
    fn handle(&mut self, _: Measure, ctx: &mut Self::Context) {
        ctx.persist_async(noted("wind"))
            .then(|_, event, _| println!("{}", event.line))
            .detach();
        ctx.defer_async(|_, _| println!("between wind and water"))
            .detach();
        ctx.persist_async(noted("water"))
            .then(|_, event, _| println!("{}", event.line))
            .detach();
        println!("measured, nothing is stored yet");
    }
    // ANCHOR_END: async
}

#[derive(Message)]
#[rtype(result = "()")]
struct Close;

impl Handler<Close> for Log {
    type Result = ();

    // ANCHOR: defer
    fn handle(&mut self, _: Close, ctx: &mut Self::Context) {
        ctx.defer(|log, _| println!("everything is stored, {} lines", log.lines))
            .detach();
    }
    // ANCHOR_END: defer
}

#[derive(Message)]
#[rtype(result = "Result<usize, PersistError>")]
struct Sign;

impl Handler<Sign> for Log {
    type Result = ResponseActFuture<Self, Result<usize, PersistError>>;

    // ANCHOR: await
    fn handle(&mut self, _: Sign, ctx: &mut Self::Context) -> Self::Result {
        let first = ctx.persist(noted("signed"));
        let countersign = async move { first.await }
            .into_actor(self)
            .then(|stored, log, ctx| {
                let second = stored.map(|()| ctx.persist(noted("countersigned")));
                async move { second?.await }.into_actor(log)
            })
            .map(|stored, log, _| stored.map(|()| log.lines));
        Box::pin(countersign)
    }
    // ANCHOR_END: await
}

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let persistence = Persistence::memory().await?;
    let log = persistence.start(Log::default)?;
    log.do_send(Nested);
    log.send(Next).await?;

    let ports = vec!["Tahiti", "Sydney"];
    println!("answered: {}", log.send(Land { ports }).await??);
    let ports = vec![];
    println!("answered: {}", log.send(Land { ports }).await??);

    log.do_send(Measure);
    log.do_send(Close);
    log.send(Next).await?;

    println!("answered: {}", log.send(Sign).await??);
    Ok(())
}
