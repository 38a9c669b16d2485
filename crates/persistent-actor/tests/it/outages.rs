//! A store that is away for a while, and many actors that need it.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use crate::logging::{collect, has_line, logged};
use crate::scripted_journal::Scripted;
use crate::tally::{Add, Get, Log, Tally};
use crate::world::{World, run};

const ACTORS: usize = 100;

fn lines(text: &str, parts: &[&str]) -> usize {
    text.lines()
        .filter(|line| parts.iter().all(|part| line.contains(part)))
        .count()
}

/// Actors that have stored an event each, on a journal that the test directs.
async fn tallies() -> (World, std::sync::Arc<Scripted>, Vec<actix::Addr<Tally>>) {
    let ((world, journal), log) = (World::scripted(), Log::default());
    let tallies: Vec<_> = (0..ACTORS)
        .map(|nr| {
            let id = Box::leak(nr.to_string().into_boxed_str());
            world.start(Tally::factory(id, &log)).unwrap()
        })
        .collect();
    for answer in join_all(tallies.iter().map(|tally| tally.send(Add(1)))).await {
        answer.unwrap().unwrap();
    }
    (world, journal, tallies)
}

#[test]
fn after_a_long_outage_every_actor_serves_within_two_seconds() {
    run(|| async {
        let (_world, journal, tallies) = tallies().await;
        journal.set_away(true);
        for answer in join_all(tallies.iter().map(|tally| tally.send(Add(2)))).await {
            assert!(answer.unwrap().is_err());
        }
        let waiting = join_all(tallies.iter().map(|tally| tally.send(Add(3))));
        let back = async {
            sleep(Duration::from_secs(120)).await;
            journal.set_away(false);
            Instant::now()
        };
        let (answers, back) = futures_util::join!(waiting, back);
        for answer in answers {
            assert_eq!(answer.unwrap().unwrap(), 4);
        }
        assert!(
            back.elapsed() < Duration::from_secs(2),
            "{:?}",
            back.elapsed()
        );
        for tally in &tallies {
            assert_eq!(tally.send(Get).await.unwrap(), 4);
        }
    });
}

#[test]
fn an_outage_and_its_end_are_a_few_lines_of_log_for_many_actors() {
    run(|| async {
        collect();
        let (world, journal, tallies) = tallies().await;
        journal.set_away(true);
        for tally in &tallies {
            tally.send(Add(2)).await.unwrap().unwrap_err();
        }
        sleep(Duration::from_secs(120)).await;
        journal.set_away(false);
        sleep(Duration::from_secs(2)).await;
        let text = logged();
        let told = lines(&text, &["WARN", "the store does not answer", "journal"]);
        assert!((1..=3).contains(&told), "{told}");
        assert_eq!(lines(&text, &["INFO", "the store works again"]), 1);
        has_line(&[
            "INFO",
            "the store works again",
            "waiting=100",
            "lasted_ms=12",
        ]);
        assert_eq!(lines(&text, &["ERROR"]), 0);
        assert_eq!(lines(&text, &["WARN"]), told);
        assert_eq!(lines(&text, &["INFO", "rebuilt"]), 0);

        // What is wrong with one actor alone is still said of it.
        collect();
        let log = Log::default();
        let poisoned = world.start(move || {
            let mut tally = Tally::new("poisoned", &log);
            tally.poison = Some(7);
            tally
        });
        let poisoned = poisoned.unwrap();
        let _ = poisoned.send(Add(7)).await;
        sleep(Duration::from_secs(10)).await;
        has_line(&["ERROR", "recovery failed", "Tally|poisoned"]);
    });
}

#[test]
fn what_is_not_the_stores_fault_is_not_tried_again_any_sooner() {
    run(|| async {
        let (_world, journal, tallies) = tallies().await;
        journal.set_away(true);
        tallies[0].send(Add(2)).await.unwrap().unwrap_err();
        journal.set_away(false);
        // The store is back, and an actor panics.
        sleep(Duration::from_secs(2)).await;
        let panicking = crate::tally::Run::new(|_, _| panic!("in a handler"));
        tallies[1].send(panicking).await.unwrap_err();
        let failed = Instant::now();
        assert_eq!(tallies[1].send(Get).await.unwrap(), 1);
        assert!(failed.elapsed() >= Duration::from_secs(3));
    });
}
