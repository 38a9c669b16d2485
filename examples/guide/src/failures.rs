//! A jar that breaks and is there again.
//!
//! ```text
//! cargo run -p guide -- failures
//! ```

use std::time::Duration;

use actix::prelude::*;
use actix_persistence::{
    BackOffSettings,
    error::{ErrorChain, RejectionCause},
    prelude::*,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct PutIn {
    label: String,
}

impl Event for PutIn {
    const MANIFEST: &'static str = "jar.put-in";
    const VERSION: u32 = 1;
}

#[derive(Default)]
struct Jar {
    pieces: u64,
}

impl Actor for Jar {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Jar {
    type Event = PutIn;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Jar", "kitchen")
    }

    fn on_event(&mut self, _: &PutIn) {
        self.pieces += 1;
    }

    // ANCHOR: back_off
    fn back_off(&self) -> Option<BackOffSettings> {
        let settings = BackOffSettings::default();
        Some(
            settings
                .with_min(Duration::from_millis(10))
                .with_max_restarts(5),
        )
    }
    // ANCHOR_END: back_off

    // ANCHOR: recovery_replies
    fn recovery_replies(&self) -> RecoveryReplies {
        RecoveryReplies::new().with::<Put>().with::<Drop>()
    }
    // ANCHOR_END: recovery_replies

    // ANCHOR: hooks
    fn on_persist_rejected(&mut self, _: &RejectionCause, _: &PutIn, _: &mut Self::Context) {
        println!("rejected, the jar goes on");
    }

    fn on_persist_failure(&mut self, error: &PersistError, _: &PutIn, number: SequenceNr) {
        println!("event {number}: {error}, the jar will be built again");
    }
    // ANCHOR_END: hooks
}

#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Put {
    label: String,
}

impl Handler<Put> for Jar {
    type Result = Reply<Put>;

    fn handle(&mut self, put: Put, ctx: &mut Self::Context) -> Reply<Put> {
        ctx.persist(PutIn { label: put.label })
            .reply(|jar| Ok(jar.pieces))
    }
}

#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Drop;

impl Handler<Drop> for Jar {
    type Result = Reply<Drop>;

    // ANCHOR: panic
    fn handle(&mut self, _: Drop, ctx: &mut Self::Context) -> Reply<Drop> {
        let label = "a shard".to_owned();
        ctx.persist(PutIn { label }).detach();
        panic!("the jar broke");
    }
    // ANCHOR_END: panic
}

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let persistence = Persistence::memory().await?;
    let jar = persistence.start(Jar::default)?;
    let put = |label: String| jar.send(Put { label });
    println!("{} pieces", put("tea".to_owned()).await??);

    // ANCHOR: rejected
    if let Err(error @ PersistError::Rejected(_)) = put("x".repeat(100_000_000)).await? {
        println!("{}", ErrorChain(&error));
    }
    // ANCHOR_END: rejected

    // ANCHOR: broken
    let (broken, next) = (jar.send(Drop), put("salt".to_owned()));
    println!("dropped: {:?}", broken.await);
    println!("{} pieces", next.await??);
    // ANCHOR_END: broken

    // ANCHOR: running
    match persistence.start(Jar::default) {
        Err(error) => println!("{error}"),
        Ok(_) => println!("there are two of them"),
    }
    // ANCHOR_END: running

    // ANCHOR: start_when_stopped
    drop(jar);
    let jar = persistence.start_when_stopped(Jar::default).await?;
    // ANCHOR_END: start_when_stopped
    let label = "honey".to_owned();
    println!("{} pieces", jar.send(Put { label }).await??);
    Ok(())
}
