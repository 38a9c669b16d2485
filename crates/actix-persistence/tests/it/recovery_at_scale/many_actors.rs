//! Very many actors that recover at once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::System;
use actix_persistence::prelude::*;
use actix_persistence::{Config, Persistence};
use actix_persistence_testkit::Intercepted;
use futures_util::future::join_all;

use super::ledger::{Ledger, Sum};
use super::watched_journal::Watch;
use super::{Scale, measured_process, stored_ledgers};

const PERMITS: u64 = 50;
/// A process with this many actors is what the one with all of them is compared to.
const FEW: u64 = 2 * PERMITS;
/// The pages of the file that SQLite keeps, at most 2 MiB for each of four connections that read: more actors read more of
/// the file.
const CACHES: u64 = 4 * 2 * 1024 * 1024;
/// The most that each actor may add to the peak beyond that: twice what was measured.
const MAX_BYTES_EACH: u64 = 14 * 1024;
/// Something hangs if they have not recovered by then.
const DEADLINE: Duration = Duration::from_secs(120);

fn actors() -> u64 {
    match Scale::from_environment() {
        Scale::Tenth => 1_000,
        Scale::Full => 10_000,
    }
}

/// Every tenth ledger is new, the others have up to 45 events.
fn events_of(ledger: u64) -> u64 {
    ledger % 10 * 5
}

#[test]
fn many_recoveries_at_once_stay_within_the_permits_and_all_finish() {
    const NAME: &str = "recovery_at_scale::many_actors::many_recoveries_at_once_stay_within_the_permits_and_all_finish";
    if let Some((actors, file)) = measured_process::scenario() {
        return System::new().block_on(recover(actors, &file));
    }
    // The name of the test may stand on this line.
    println!();
    let actors = actors();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ledgers.db");
    let ledgers = (0..actors).map(|ledger| (ledger, events_of(ledger)));
    System::new().block_on(stored_ledgers::store(&file, ledgers));

    let all = measured_process::run(NAME, actors, &file);
    let (most, new_most) = (all.get("overtaken"), all.get("new-overtaken"));
    println!(
        "{actors} actors recovered in {} ms, {} at once; overtaken by {most} at most, new ones by {new_most}",
        all.get("ms"),
        all.get("at-once"),
    );
    assert_eq!(all.get("at-once"), PERMITS);
    // Permits are given in the order of starting, so only those can overtake that have one at the same time.
    assert!(all.get("overtaken-at-start") < PERMITS);
    // Nor can others overtake one that has nothing to read.
    assert!(
        new_most < PERMITS,
        "new actors were overtaken by {new_most}"
    );
    assert!(most <= actors / 4, "an actor was overtaken by {most}");

    let few = measured_process::run(NAME, FEW, &file);
    if let (Some(of_few), Some(of_all)) = (few.peak_kib(), all.peak_kib()) {
        let more = of_all.saturating_sub(of_few) * 1024;
        let each = more.saturating_sub(CACHES) / (actors - FEW);
        println!(
            "peak memory {of_all} KiB, of {FEW} actors {of_few} KiB: {each} bytes for each more (at most {MAX_BYTES_EACH})"
        );
        assert!(each <= MAX_BYTES_EACH);
    }
}

async fn recover(actors: u64, file: &Path) {
    let watch = Arc::new(Watch::new(PERMITS as usize));
    let journal = Intercepted::journal_with(stored_ledgers::journal(file).await, watch.clone());
    let persistence = Persistence::builder()
        .config(Config::new().with("persistence.max-concurrent-recoveries", PERMITS as i64))
        .journal("watched", Arc::new(journal))
        .open()
        .await
        .unwrap();

    let start = Instant::now();
    let ledgers: Vec<_> = (0..actors)
        .map(|number| {
            let watch = watch.clone();
            let make = move || Ledger::watched(number, watch.clone());
            persistence.start(make).unwrap()
        })
        .collect();
    let sums = join_all(ledgers.iter().map(|ledger| ledger.send(Sum)));
    let sums = tokio::time::timeout(DEADLINE, sums)
        .await
        .expect("all of them recover");
    measured_process::report("ms", start.elapsed().as_millis() as u64);
    for (number, sum) in (0..).zip(sums) {
        assert_eq!(sum.unwrap(), events_of(number));
    }

    let seen = watch.seen();
    let overtaken_at_start = overtaken(&seen.taken_over, actors);
    let overtaken = overtaken(&seen.completed, actors);
    let new = overtaken.iter().step_by(10);
    measured_process::report("at-once", seen.peak as u64);
    measured_process::report("overtaken-at-start", max(overtaken_at_start.iter()));
    measured_process::report("overtaken", max(overtaken.iter()));
    measured_process::report("new-overtaken", max(new));
    measured_process::report_peak();
}

/// For each ledger how many that were started later are before it in `order`, where each stands once.
fn overtaken(order: &[PersistenceId], actors: u64) -> Vec<u64> {
    let places: HashMap<_, _> = order.iter().zip(0_u64..).collect();
    assert_eq!(places.len(), order.len(), "nobody recovered twice");
    let places: Vec<_> = (0..actors).map(|n| places[&Ledger::id(n)]).collect();
    let mut counts = Vec::new();
    for (number, place) in places.iter().enumerate() {
        let later = &places[number + 1..];
        counts.push(later.iter().filter(|other| *other < place).count() as u64);
    }
    counts
}

fn max<'a>(counts: impl Iterator<Item = &'a u64>) -> u64 {
    counts.copied().max().unwrap_or_default()
}
