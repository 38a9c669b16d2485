//! Large histories are checked in a time that grows as they do.

use std::time::{Duration, Instant};

use actix_persistence_history::{History, What, check};

use crate::generate::{Size, history};

/// A history with about so many operations.
fn operations(wanted: usize) -> History {
    let steps = wanted * 9 / 2;
    let size = Size {
        processes: 4,
        ids: wanted / 400,
        steps,
        fault_in: 50,
        kill_in: wanted / 8,
        resets: false,
    };
    history(5, size)
}

fn count(history: &History) -> usize {
    let invoked = history
        .records
        .iter()
        .filter(|record| matches!(record.what, What::Invoke { .. }));
    invoked.count()
}

fn time(history: &History) -> Duration {
    let begun = Instant::now();
    assert_eq!(check(history), []);
    begun.elapsed()
}

#[test]
fn four_times_the_operations_take_no_more_than_eight_times_as_long() {
    // Without optimisation a tenth shows the same.
    let full = if cfg!(debug_assertions) {
        100_000
    } else {
        1_000_000
    };
    let (quarter, full) = (operations(full / 4), operations(full));
    let (few, many) = (count(&quarter), count(&full));
    // The faster of two runs, as others use the machine, too.
    let quarter = time(&quarter).min(time(&quarter));
    let whole = time(&full).min(time(&full));
    eprintln!("{few} operations: {quarter:?}, {many} operations: {whole:?}");
    assert!(
        many >= if cfg!(debug_assertions) {
            100_000
        } else {
            1_000_000
        },
        "{many}"
    );
    assert!(whole < quarter * 8, "{quarter:?} and {whole:?}");
    assert!(whole < Duration::from_secs(20), "{whole:?}");
}
