//! Settings of the builder hold, whatever the config says.

use actix::prelude::*;
use actix_persistence::{
    BackOffSettings, Config, Persistence,
    stash::{Overflow, StashPolicy},
};

use crate::counter::{Count, Counter};

/// Makes the counter fail.
#[derive(Message)]
#[rtype(result = "()")]
struct Fail;

impl Handler<Fail> for Counter {
    type Result = ();

    fn handle(&mut self, Fail: Fail, _: &mut Self::Context) {
        panic!("as the test wants");
    }
}

fn config() -> Config {
    Config::new()
        .with("persistence.journal.plugin", "memory")
        .with("persistence.journal.memory.kind", "memory")
        .with("persistence.internal-stash.capacity", 10)
        .with("persistence.back-off.min", "1h")
        .with("persistence.back-off.max", "1h")
        .with("persistence.max-concurrent-recoveries", 3)
}

#[actix::test]
async fn the_stash_policy_of_the_builder_replaces_that_of_the_config() {
    let builder = Persistence::builder().config(config());
    let persistence = builder.open().await.unwrap();
    assert_eq!(persistence.stash_policy().capacity(), 10);
    let builder = Persistence::builder().config(config());
    let builder = builder.stash_policy(StashPolicy::new(20, Overflow::Drop));
    let persistence = builder.open().await.unwrap();
    assert_eq!(
        persistence.stash_policy().to_string(),
        "capacity 20, overflow drop"
    );
}

#[actix::test]
async fn the_back_off_of_the_builder_replaces_that_of_the_config() {
    let builder = Persistence::builder().config(config());
    let builder = builder.back_off(BackOffSettings::default().with_max_restarts(0));
    let persistence = builder.open().await.unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    assert_eq!(counter.send(Fail).await, Err(MailboxError::Closed));
    // With the config's hour this would wait.
    let closed = counter.send(Count(1)).await.err();
    assert_eq!(closed, Some(MailboxError::Closed));
}

#[actix::test]
async fn the_recoveries_of_the_builder_replace_those_of_the_config() {
    let builder = Persistence::builder().config(config());
    let builder = builder.max_concurrent_recoveries(4);
    let persistence = builder.open().await.unwrap();
    let shown = persistence.journal_config("memory").unwrap();
    assert!(
        shown.contains("max-concurrent-recoveries = 4  # code"),
        "{shown}"
    );
}
