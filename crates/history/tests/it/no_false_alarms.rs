//! A history of a store that keeps its promises has no violation.

use actix_persistence_history::check;
use proptest::prelude::*;

use crate::generate::{Size, history};

fn sizes() -> impl Strategy<Value = Size> {
    let wild = (1..5_usize, 1..5_usize, 1..900_usize);
    (wild, 2..40_usize, 10..300_usize, any::<bool>()).prop_map(
        |((processes, ids, steps), fault_in, kill_in, resets)| Size {
            processes,
            ids,
            steps,
            fault_in,
            kill_in,
            resets,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_valid_history_has_no_violation(seed: u64, size in sizes()) {
        let history = history(seed, size);
        let violations = check(&history);
        prop_assert!(violations.is_empty(), "{}", violations.iter().take(5).map(|it| format!("{it}\n")).collect::<String>());
    }

    #[test]
    fn the_order_of_the_lines_does_not_matter(seed: u64, at in 0..400_usize) {
        let mut history = history(seed, Size::SMALL);
        let records = &mut history.records;
        let at = at % (records.len() - 1);
        // Lines of different processes come in as they are read.
        if records[at].process != records[at + 1].process {
            records.swap(at, at + 1);
        }
        prop_assert_eq!(check(&history), []);
    }

    #[test]
    fn a_history_that_is_cut_anywhere_has_no_violation(seed: u64, cut in 0..2_000_usize) {
        let mut history = history(seed, Size::SMALL);
        let rows = |record: &actix_persistence_history::Record| {
            let what = &record.what;
            matches!(what, actix_persistence_history::What::Row(_) | actix_persistence_history::What::Dumped(_))
        };
        let end = history.records.iter().position(rows).unwrap_or(history.records.len());
        history.records.truncate(cut.min(end));
        prop_assert_eq!(check(&history), []);
    }
}

#[test]
fn a_reset_that_is_tried_again_in_the_same_instant_is_no_violation() {
    let size = Size {
        processes: 1,
        ids: 3,
        steps: 445,
        fault_in: 9,
        kill_in: 116,
        resets: true,
    };
    assert_eq!(check(&history(5_328_154_443_470_947_218, size)), []);
}

#[test]
fn a_change_that_is_answered_when_its_id_is_reset_is_no_violation() {
    let size = Size {
        processes: 1,
        ids: 3,
        steps: 438,
        fault_in: 37,
        kill_in: 83,
        resets: true,
    };
    assert_eq!(check(&history(12_549_083_810_826_349_578, size)), []);
}
