//! Two applications on one database file.

use actix_persistence::PersistError;
use actix_persistence::prelude::*;

use crate::counter::{Count, Counter};

#[actix::test]
async fn whoever_takes_an_id_over_wins_and_the_other_is_told_who() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bank.db");
    let (one, other) = (
        Persistence::sqlite(&file).await.unwrap(),
        Persistence::sqlite(&file).await.unwrap(),
    );
    let first = one.start(|| Counter::named("1")).unwrap();
    assert_eq!(first.send(Count(1)).await.unwrap().unwrap(), 1);
    let second = other.start(|| Counter::named("1")).unwrap();
    assert_eq!(second.send(Count(10)).await.unwrap().unwrap(), 11);
    let lost = first.send(Count(100)).await.unwrap().unwrap_err();
    let PersistError::Conflict(error) = lost else {
        panic!("{lost:?} is no conflict");
    };
    let conflict = error.conflict().unwrap();
    assert_ne!(conflict.refused.writer, conflict.stored.writer);
    assert_eq!(conflict.stored.sequence_nr, 2);
    assert_eq!(second.send(Count(20)).await.unwrap().unwrap(), 31);
}
