//! The notifications of the actors to the rest of the program.

use std::collections::BTreeMap;

use actix::prelude::*;
use actix_persistence::memory::MemoryStorage;
use actix_persistence::prelude::*;
use actix_persistence::{Lagged, PublishedEvent, error::DeadLetterCause};
use futures_util::StreamExt;
use futures_util::future::join_all;

use crate::counter::{Count, Counted, Counter};

#[actix::test]
async fn events_of_actors_on_several_arbiters_come_in_the_order_of_each_actor() {
    const ACTORS: u64 = 6;
    const EVENTS: u64 = 200;
    let persistence = Persistence::memory().await.unwrap();
    let mut events = persistence.events::<Counted>();
    let arbiters: Vec<_> = (0..3).map(|_| Arbiter::new()).collect();
    let mut counters = Vec::new();
    for (n, arbiter) in (0..ACTORS).zip(arbiters.iter().cycle()) {
        let factory = move || Counter::named(&n.to_string());
        let started = persistence.start_in(&arbiter.handle(), factory).await;
        counters.push(started.unwrap());
    }
    let reading = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let mut next_of = BTreeMap::new();
            for _ in 0..ACTORS * EVENTS {
                let published = events.next().await.unwrap().unwrap();
                let next = next_of.entry(published.persistence_id).or_insert(1);
                assert_eq!(published.sequence_nr, *next);
                assert_eq!(published.event.0, *next, "the n-th command adds n");
                *next += 1;
            }
            next_of.len() as u64
        })
    });
    for n in 1..=EVENTS {
        let answers = counters.iter().map(|counter| counter.send(Count(n)));
        for answer in join_all(answers).await {
            answer.unwrap().unwrap();
        }
    }
    let actors = tokio::task::spawn_blocking(move || reading.join().unwrap());
    assert_eq!(actors.await.unwrap(), ACTORS);
    drop(counters);
    for arbiter in arbiters {
        arbiter.stop();
        arbiter.join().unwrap();
    }
}

/// An actor that is told of events.
#[derive(Default)]
struct Watcher {
    heard: Vec<Result<u64, Lagged>>,
}

impl Actor for Watcher {
    type Context = Context<Self>;
}

impl StreamHandler<Result<PublishedEvent<Counted>, Lagged>> for Watcher {
    fn handle(&mut self, item: Result<PublishedEvent<Counted>, Lagged>, _: &mut Self::Context) {
        self.heard.push(item.map(|published| published.event.0));
    }

    fn finished(&mut self, _: &mut Self::Context) {}
}

#[derive(Message)]
#[rtype(result = "Vec<Result<u64, Lagged>>")]
struct Heard;

impl Handler<Heard> for Watcher {
    type Result = MessageResult<Heard>;

    fn handle(&mut self, _: Heard, _: &mut Self::Context) -> Self::Result {
        MessageResult(std::mem::take(&mut self.heard))
    }
}

#[actix::test]
async fn an_actor_takes_the_stream_in_and_hears_how_many_events_were_missed() {
    let storage = MemoryStorage::new();
    let persistence = Persistence::builder()
        .published_events_capacity(4)
        .journal("memory", std::sync::Arc::new(storage.journal()))
        .open()
        .await
        .unwrap();
    let slow = persistence.events::<Counted>();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    for n in 1..=7 {
        counter.send(Count(n)).await.unwrap().unwrap();
    }
    let watcher = Watcher::create(|ctx| {
        ctx.add_stream(slow);
        Watcher::default()
    });
    let mut heard = Vec::new();
    while heard.len() < 5 {
        heard.extend(watcher.send(Heard).await.unwrap());
        tokio::task::yield_now().await;
    }
    assert_eq!(heard[0].as_ref().map_err(|missed| missed.count), Err(3));
    assert_eq!(heard[1..], [Ok(4), Ok(5), Ok(6), Ok(7)]);
}

/// Asks for a delete of more events than there are.
#[derive(Message)]
#[rtype(result = "()")]
struct DeleteTooMany;

impl Handler<DeleteTooMany> for Counter {
    type Result = ();

    fn handle(&mut self, _: DeleteTooMany, ctx: &mut Self::Context) {
        ctx.delete_messages(100);
    }
}

#[actix::test]
async fn one_stream_has_all_dead_letters_and_ends_with_the_last_actor() {
    let persistence = Persistence::memory().await.unwrap();
    let mut letters = persistence.dead_letters();
    for name in ["1", "2"] {
        let counter = persistence.start(|| Counter::named(name)).unwrap();
        counter.send(DeleteTooMany).await.unwrap();
        let letter = letters.next().await.unwrap().unwrap();
        assert_eq!(letter.persistence_id, PersistenceId::of("Counter", name));
        let DeadLetterCause::StoreFailure(response) = letter.cause else {
            panic!("{letter:?}");
        };
        assert!(
            matches!(*response, StoreResponse::DeleteMessagesFailure { .. }),
            "{response:?}"
        );
    }
    drop(persistence);
    assert!(letters.next().await.is_none());
}
