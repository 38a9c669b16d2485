//! The cases against the text of the contract.

use std::collections::BTreeSet;

use actix_persistence_tck::{NOT_THERE_YET, cases};

/// The sources of the clauses: the repository's text, so that a new clause without a case cannot land.
const CONTRACT: [&str; 10] = [
    include_str!("../../../crates/storage-api/src/journal.rs"),
    include_str!("../../../crates/storage-api/src/journal/event_queries.rs"),
    include_str!("../../../crates/storage-api/src/snapshot_store.rs"),
    include_str!("../../../crates/storage-api/src/state_store.rs"),
    include_str!("../../../crates/storage-api/src/state_store/state_queries.rs"),
    include_str!("../../../crates/storage-api/src/offset_store.rs"),
    include_str!("../../../crates/storage-api/src/sql/sql_states.rs"),
    include_str!("../../../crates/storage-api/src/sql/session.rs"),
    include_str!("../../../crates/storage-api/src/sql/additional_column.rs"),
    include_str!("../../../crates/storage-api/src/sql/change_handler.rs"),
];

/// Returns the clauses, written as `/// - **J-WRITE-1**: ...`.
fn clauses() -> BTreeSet<&'static str> {
    CONTRACT
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| line.trim().strip_prefix("/// - **"))
        .filter_map(|line| line.split_once("**:"))
        .map(|(clause, _)| clause)
        .collect()
}

#[test]
fn every_clause_has_a_case_and_every_case_cites_clauses_that_exist() {
    let clauses = clauses();
    assert!(clauses.len() > 30, "{clauses:?}");
    let cases = cases();
    let cited: BTreeSet<_> = cases.iter().flat_map(|case| case.clauses.iter()).collect();
    let unproved: Vec<_> = clauses.iter().filter(|&it| !cited.contains(it)).collect();
    assert!(unproved.is_empty(), "clauses without a case: {unproved:?}");
    for case in &cases {
        assert!(!case.clauses.is_empty(), "{} cites no clause", case.name);
        for clause in case.clauses {
            assert!(clauses.contains(clause), "{}: {clause}", case.name);
        }
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = cases().into_iter().map(|case| case.name).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn every_numbered_case_is_there_once_or_is_not_there_yet() {
    let cases = cases();
    let numbers: Vec<_> = cases.iter().filter_map(|case| case.spec_number).collect();
    for (spec, count) in [("JournalSpec", 22), ("SnapshotStoreSpec", 15)] {
        for number in 1..=count {
            let wanted = format!("{spec} {number}");
            let found = numbers.iter().filter(|&&number| number == wanted).count();
            assert_eq!(found, 1, "{wanted}");
        }
    }
    for missing in NOT_THERE_YET {
        assert!(!numbers.contains(&missing.spec_number), "{missing:?}");
        assert!(!missing.reason.is_empty(), "{missing:?}");
    }
}
