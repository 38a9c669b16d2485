//! docs/guide/published-events.md

use crate::program::stdout_of;

const PROGRAM: &str = "published_events";

#[test]
fn the_display_hears_of_each_event_and_the_failed_delete_is_a_dead_letter() {
    let folder = tempfile::tempdir().unwrap();
    let printed = stdout_of(PROGRAM, folder.path(), &[]);
    // The display and the reader of dead letters go on at the same time.
    let (letters, events): (Vec<_>, Vec<_>) =
        printed.lines().partition(|line| line.contains("deleted"));
    assert_eq!(
        letters,
        ["Shelf|A1: events up to 9 cannot be deleted, the last one is 2"]
    );
    assert_eq!(
        events,
        [
            "Shelf|A1 event 1: 3 pieces came in",
            "Shelf|A1 event 2: 7 pieces came in"
        ]
    );
}
