//! Random programs of nested persists against a model of the contract: plain sequential Rust.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use actix::AsyncContext;
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{DEFAULT_EVENT_LIMIT, PersistentContext};
use actix_persistence_storage_api::Journal;
use proptest::prelude::*;

use crate::scripted_journal::ScriptedJournal;
use crate::tally::{Added, Get, Log, Run, Tally};
use crate::world::{World, run};

/// One call of `persist_all`, and what its handlers do.
#[derive(Clone, Debug)]
struct Call {
    events: usize,
    /// Whether the first event is too large to be encoded.
    rejected: bool,
    /// Made by the handler of each event.
    nested: Vec<Call>,
}

/// A turn of the actor, as a command or as a timer.
#[derive(Clone, Debug)]
struct Turn {
    calls: Vec<Call>,
    by_timer: bool,
}

fn call() -> impl Strategy<Value = Call> {
    let leaf = (0_usize..4, prop::bool::weighted(0.15)).prop_map(|(events, rejected)| Call {
        events,
        rejected: rejected && events > 0,
        nested: Vec::new(),
    });
    leaf.prop_recursive(3, 12, 2, |inner| {
        (1_usize..3, prop::collection::vec(inner, 0..3)).prop_map(|(events, nested)| Call {
            events,
            rejected: false,
            nested,
        })
    })
}

fn turn() -> impl Strategy<Value = Turn> {
    (
        prop::collection::vec(call(), 0..4),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(calls, by_timer)| Turn { calls, by_timer })
}

/// What has to happen: every call in its turn, its handlers one by one, and the next turn only after all of them.
fn expected(turns: &[Turn]) -> (Vec<String>, u64) {
    let (mut log, mut number, mut stored) = (vec!["recovered at 0".to_owned()], 0, 0);
    for (index, turn) in turns.iter().enumerate() {
        log.push(format!("turn {index}"));
        let mut queue: VecDeque<(i64, &Call)> = VecDeque::new();
        let push = |queue: &mut VecDeque<_>, number: &mut i64, call| {
            queue.push_back((*number, call));
            *number += 10;
        };
        turn.calls
            .iter()
            .for_each(|call| push(&mut queue, &mut number, call));
        while let Some((first, call)) = queue.pop_front() {
            for n in (first..).take(call.events) {
                if call.rejected {
                    log.push(format!("rejected {n}"));
                    continue;
                }
                stored += 1;
                log.push(format!("event {n}"));
                log.push(format!("handler {n}"));
                call.nested
                    .iter()
                    .for_each(|nested| push(&mut queue, &mut number, nested));
            }
        }
    }
    (log, stored)
}

/// Makes the calls in the actor; the numbers of events are given in the order of the calls, as in the model.
fn make(calls: &[Call], ctx: &mut PersistentContext<Tally>, numbers: &Numbers) {
    for call in calls {
        let first = numbers.next();
        let rejected = call.rejected;
        let events = (first..).take(call.events).map(|n| Added {
            n,
            ballast: "x".repeat(if rejected { DEFAULT_EVENT_LIMIT } else { 0 }),
        });
        let (nested, numbers) = (call.nested.clone(), numbers.clone());
        ctx.persist_all(events).then(move |tally, event, ctx| {
            tally.log.add(format!("handler {}", event.n));
            make(&nested, ctx, &numbers);
        });
    }
}

#[derive(Clone, Default)]
struct Numbers(Arc<std::sync::atomic::AtomicI64>);

impl Numbers {
    fn next(&self) -> i64 {
        self.0.fetch_add(10, std::sync::atomic::Ordering::Relaxed)
    }
}

async fn really(turns: Vec<Turn>) -> (Vec<String>, u64, i64, i64) {
    let storage = MemoryStorage::new();
    let journal = ScriptedJournal::new(storage.journal());
    let world = World::on(storage, journal, |_| {});
    let (log, numbers) = (Log::default(), Numbers::default());
    let tally = world.start(Tally::factory("1", &log)).unwrap();
    for (index, turn) in turns.into_iter().enumerate() {
        let numbers = numbers.clone();
        let play = move |tally: &mut Tally, ctx: &mut PersistentContext<Tally>| {
            tally.log.add(format!("turn {index}"));
            make(&turn.calls, ctx, &numbers);
        };
        if turn.by_timer {
            let timer = Run::new(move |_, ctx| {
                ctx.run_later(Duration::from_millis(1), play);
            });
            tally.send(timer).await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
        } else {
            // Not waited for: the next turn is in the mailbox while this one persists.
            tally.do_send(Run::new(play));
        }
    }
    let sum = tally.send(Get).await.unwrap();
    let entries = log.take();
    drop(tally);
    while !world.environment.live_ids.is_empty() {
        tokio::task::yield_now().await;
    }
    let again = world.start(Tally::factory("1", &log)).unwrap();
    let replayed = again.send(Get).await.unwrap();
    let id = Tally::new("1", &log).id;
    let highest = world
        .storage
        .journal()
        .read_highest_sequence_nr(&id, 0)
        .await
        .unwrap();
    (entries, highest, sum, replayed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_program_happens_in_the_order_of_the_contract(turns in prop::collection::vec(turn(), 1..6)) {
        let (log, stored) = expected(&turns);
        run(move || async move {
            let (entries, highest, sum, replayed) = really(turns).await;
            assert_eq!(entries, log);
            assert_eq!(highest, stored, "numbers are gap-free");
            assert_eq!(sum, replayed, "replay gives the same state");
        });
    }
}
