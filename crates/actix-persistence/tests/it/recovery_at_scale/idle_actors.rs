//! The memory of very many actors that do nothing.

use std::path::Path;
use std::sync::Arc;

use actix::System;
use actix_persistence::Persistence;
use futures_util::future::join_all;

use super::ledger::{Book, Ledger};
use super::{Scale, measured_process, stored_ledgers};

/// A process with this many actors is what the one with all of them is compared to.
const FEW: u64 = 1_000;
/// The number of actors that start at the same time, so that what they need for it is not what is measured.
const AT_ONCE: usize = 100;

/// The most bytes that each actor may hold beyond its state, its address included. What the process takes anyway while
/// actors start, such as the cache of SQLite, counts for more among few.
fn max_bytes_each() -> u64 {
    match Scale::from_environment() {
        Scale::Tenth => 4 * 1024,
        Scale::Full => 3 * 1024,
    }
}

fn actors() -> u64 {
    match Scale::from_environment() {
        Scale::Tenth => 5_000,
        Scale::Full => 100_000,
    }
}

#[test]
fn an_idle_actor_holds_some_kilobytes() {
    const NAME: &str = "recovery_at_scale::idle_actors::an_idle_actor_holds_some_kilobytes";
    if let Some((actors, file)) = measured_process::scenario() {
        return System::new().block_on(idle(actors, &file));
    }
    // The name of the test may stand on this line.
    println!();
    let actors = actors();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ledgers.db");
    let few = measured_process::run(NAME, FEW, &file);
    let all = measured_process::run(NAME, actors, &file);
    if let (Some(of_few), Some(of_all)) = (few.resident_kib(), all.resident_kib()) {
        let each = of_all.saturating_sub(of_few) * 1024 / (actors - FEW);
        let state = size_of::<Ledger>() as u64;
        let max = max_bytes_each() + state;
        println!(
            "{actors} idle actors hold {of_all} KiB, {FEW} hold {of_few} KiB: {each} bytes for each more, {state} of them its \
             state (at most {max})"
        );
        assert!(each <= max);
    }
}

async fn idle(actors: u64, file: &Path) {
    let persistence = Persistence::builder()
        .journal("ledgers", Arc::new(stored_ledgers::journal(file).await))
        .open()
        .await
        .unwrap();
    let mut idle = Vec::new();
    while (idle.len() as u64) < actors {
        let numbers = (idle.len() as u64..actors).take(AT_ONCE);
        let start = |number| persistence.start(move || Ledger::new(number)).unwrap();
        let ledgers: Vec<_> = numbers.map(start).collect();
        for booked in join_all(ledgers.iter().map(|ledger| ledger.send(Book))).await {
            booked.unwrap().unwrap();
        }
        idle.extend(ledgers);
    }
    measured_process::report_resident();
}
