//! Large histories are checked in a time that grows as they do.

use std::time::Duration;

use actix_persistence_history::{History, What, check};

use crate::generate::{Size, history};

/// A history with about this many operations.
fn operations(wanted: usize) -> History {
    let steps = wanted * 7 / 2;
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

/// Returns the time that this thread has run so far: others use the machine, too.
fn running() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.expect("the first number is the time on a processor"))
}

fn time(history: &History) -> Duration {
    let begun = running();
    assert_eq!(check(history), []);
    running() - begun
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
    let (quarter, whole) = (time(&quarter), time(&full));
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
