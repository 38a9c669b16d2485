//! docs/guide/snapshots.md

use crate::program::stdout_of;

const PROGRAM: &str = "snapshots";

#[test]
fn a_second_run_starts_from_the_snapshot_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let first = stdout_of(PROGRAM, folder.path(), &["museum.db", "4", "2", "7", "1"]);
    assert_eq!(
        first,
        "snapshot 0, then events to 0\n4 visitors\n6 visitors\n13 visitors\n14 visitors\n"
    );
    let second = stdout_of(PROGRAM, folder.path(), &["museum.db", "1"]);
    assert_eq!(
        second,
        "snapshot 3, then events to 4\n13 visitors by event 3\n15 visitors\n"
    );
}
