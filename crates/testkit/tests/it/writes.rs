//! Writes of several ids in one call, of which some are rejected.

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{Journal, Operation, StorageErrorKind, WriteOutcome};
use actix_persistence_tck::TakeOverOne;
use actix_persistence_testkit::Intercepted;

use crate::{id, write};

fn shown(outcomes: &[WriteOutcome]) -> Vec<&'static str> {
    let shown = outcomes.iter().map(|outcome| match outcome {
        WriteOutcome::Stored => "stored",
        WriteOutcome::Rejected(_) => "rejected",
        WriteOutcome::Failed(_) => "failed",
        WriteOutcome::Skipped => "skipped",
    });
    shown.collect()
}

async fn recovered(names: &[&str]) -> MemoryJournal {
    let journal = MemoryJournal::new();
    for name in names {
        let writer = actix_persistence_storage_api::WriterId::NIL;
        journal.take_over_one(&id(name), writer).await.unwrap();
    }
    journal
}

#[tokio::test]
async fn a_call_that_is_rejected_rejects_the_first_write_of_each_id() {
    let journal = Intercepted::journal(recovered(&["a", "b"]).await);
    journal
        .on(Operation::WriteMessages)
        .reject(StorageErrorKind::TooLarge);
    let writes = vec![write("a", 1, 1), write("b", 1, 1), write("a", 2, 1)];
    let outcomes = journal.write_messages(writes).await.unwrap();
    assert_eq!(shown(&outcomes), ["rejected", "rejected", "skipped"]);
    assert_eq!(journal.read_highest_sequence_nr(&id("a")).await.unwrap(), 0);
}

#[tokio::test]
async fn single_writes_are_rejected_and_the_others_are_stored_in_their_places() {
    let journal = Intercepted::journal(recovered(&["a", "b"]).await);
    journal
        .on(Operation::WriteMessages)
        .reject_writes(StorageErrorKind::TooLarge, |place, _| place == 1);
    let writes = vec![
        write("a", 1, 1),
        write("a", 2, 1),
        write("b", 1, 1),
        write("a", 3, 1),
    ];
    let outcomes = journal.write_messages(writes).await.unwrap();
    assert_eq!(
        shown(&outcomes),
        ["stored", "rejected", "stored", "skipped"]
    );
    assert_eq!(journal.read_highest_sequence_nr(&id("a")).await.unwrap(), 1);
    assert_eq!(journal.read_highest_sequence_nr(&id("b")).await.unwrap(), 1);
}
