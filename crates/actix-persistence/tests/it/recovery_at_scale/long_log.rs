//! One actor with a very long log.

use std::path::Path;
use std::time::Instant;

use actix::System;
use actix_persistence::Persistence;

use super::ledger::{Ledger, Sum};
use super::{Scale, measured_process, stored_ledgers};

const SHORT: u64 = 1_000;

/// Returns the number of events of the long log, and the most by which its recovery may raise the peak of memory.
fn long_log() -> (u64, u64) {
    match Scale::from_environment() {
        // Little enough that a tenth of the events would not fit in.
        Scale::Tenth => (100_000, 16 * 1024),
        Scale::Full => (1_000_000, 64 * 1024),
    }
}

#[test]
fn the_memory_of_a_recovery_does_not_grow_with_the_log() {
    const NAME: &str =
        "recovery_at_scale::long_log::the_memory_of_a_recovery_does_not_grow_with_the_log";
    if let Some((events, file)) = measured_process::scenario() {
        return System::new().block_on(recover(events, &file));
    }
    // The name of the test may stand on this line.
    println!();
    let (long, limit_kib) = long_log();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ledgers.db");
    // The number of a ledger is the number of its events.
    let ledgers = [SHORT, long].map(|events| (events, events));
    System::new().block_on(stored_ledgers::store(&file, ledgers.into_iter()));

    let peaks = [SHORT, long].map(|events| {
        let measured = measured_process::run(NAME, events, &file);
        assert_eq!(measured.get("cents"), events);
        let peak = measured.peak_kib();
        println!(
            "{events:>9} events recovered in {} ms, peak memory {} KiB",
            measured.get("ms"),
            peak.unwrap_or_default()
        );
        peak
    });
    if let [Some(of_short), Some(of_long)] = peaks {
        let more = of_long.saturating_sub(of_short);
        println!("{more} KiB more (at most {limit_kib})");
        assert!(more <= limit_kib, "{more} KiB more, {limit_kib} allowed");
    }
}

async fn recover(events: u64, file: &Path) {
    let persistence = Persistence::sqlite(file).await.unwrap();
    let start = Instant::now();
    let ledger = persistence.start(move || Ledger::new(events)).unwrap();
    let cents = ledger.send(Sum).await.unwrap();
    measured_process::report("ms", start.elapsed().as_millis() as u64);
    measured_process::report("cents", cents);
    measured_process::report_peak();
}
