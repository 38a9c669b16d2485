//! Snapshots that are gone, or older than what was deleted, between two lives: the actor does not start, nothing is
//! written, and with the snapshots back everything is there.

use std::time::{Duration, Instant};

use actix::Addr;
use actix_persistence::error::ReplayError;
use actix_persistence::prelude::*;
use actix_persistence_torture::Place;

use crate::ledger::{Enter, Ledger, Look, Retaining};
use crate::scale::scaled;
use crate::tables::{columns, tables};

/// The lives that there are at least.
const LIVES: usize = 12;
/// The time at full scale for each database.
const FULL_LENGTH: Duration = Duration::from_secs(600);

/// The fate of the snapshots between two lives.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Loss {
    /// None is left.
    Removed,
    /// Those of before the last life are left.
    RolledBack,
}

fn ledger(retaining: Retaining) -> Ledger {
    Ledger::named("1").retaining(retaining)
}

/// Makes an entry, and waits for as long as a slow machine takes for it: what was not stored in time is sent again.
async fn enter(actor: &Addr<Ledger>, number: u64) {
    loop {
        match actor.send(Enter { client: 1, number }).await.unwrap() {
            Ok(entered) => return assert_eq!(entered, number),
            Err(PersistError::NotStored(_)) => {}
            // The next answer is that of an actor which has recovered, and so knows.
            Err(PersistError::Unknown(_)) => {
                let Ok(book) = actor.send(Look).await else {
                    continue;
                };
                assert!((number - 1..=number).contains(&book.entries), "{book:?}");
                if book.entries == number {
                    return;
                }
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// A life in which so many entries are acknowledged.
async fn work(place: &Place, retaining: Retaining, entries: std::ops::Range<u64>) {
    let persistence = place.open().await.unwrap();
    let actor = persistence.start(move || ledger(retaining)).unwrap();
    for number in entries {
        enter(&actor, number).await;
    }
    drop(actor);
    // What it retains after the last answer is done, and nothing more is deleted.
    let unrecovered = persistence
        .stopped(&ledger(retaining).persistence_id())
        .await;
    assert!(unrecovered.is_none(), "{unrecovered:?}");
    // Rows of deleted events are removed in the background, which is no write of the next life.
    let unswept = "SELECT COUNT(*) FROM journal_metadata WHERE swept_to < deleted_to";
    while place.number(unswept).await.unwrap() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let report = persistence.stop(Duration::from_secs(60)).await;
    assert!(report.is_complete(), "{report}");
    assert_eq!(
        place.number(unswept).await.unwrap(),
        0,
        "left to a later life"
    );
}

/// A life in which nobody finds out more than there is; true if the actor has started.
async fn starts(place: &Place, retaining: Retaining, entries: u64) -> bool {
    let before = tables(place).await;
    let persistence = place.open().await.unwrap();
    let replayed = loop {
        match persistence.replay(ledger(retaining)).await {
            // A slow machine.
            Err(ReplayError::Recovery(error)) if error.is_transient() => {}
            replayed => break replayed,
        }
    };
    let actor = persistence.start(move || ledger(retaining)).unwrap();
    let looked = actor.send(Look).await;
    let has_started = match replayed {
        Ok(replayed) => {
            assert_eq!(replayed.sequence_nr, entries);
            replayed.actor.book.check(entries).unwrap();
            assert_eq!(looked.unwrap(), replayed.actor.book);
            true
        }
        Err(ReplayError::Recovery(RecoveryError::SnapshotNeeded { deleted_to, .. })) => {
            assert!(deleted_to > 0 && looked.is_err(), "{looked:?}");
            let number = entries + 1;
            let answer = actor.send(Enter { client: 1, number }).await;
            assert!(answer.is_err(), "{answer:?} without its snapshot");
            false
        }
        Err(error) => panic!("{error}"),
    };
    drop(actor);
    persistence.stop(Duration::ZERO).await;
    assert_eq!(tables(place).await, before, "something was written");
    has_started
}

async fn an_actor_that_lacks_a_snapshot_writes_nothing(place: Place) {
    let mut lives = [[0; 2]; 2];
    work(&place, Retaining { every: 5, keep: 1 }, 1..2).await;
    let columns = columns(&place, "snapshot").await.join(", ");
    place
        .execute(&format!(
            "CREATE TABLE of_before AS SELECT {columns} FROM snapshot"
        ))
        .await
        .unwrap();
    place
        .execute(&format!(
            "CREATE TABLE of_now AS SELECT {columns} FROM snapshot"
        ))
        .await
        .unwrap();
    let mut entries = 1;
    let ends = Instant::now() + scaled(Duration::ZERO, FULL_LENGTH);
    for life in 0.. {
        if life >= LIVES && Instant::now() >= ends {
            break;
        }
        let retaining = Retaining {
            every: fastrand::u64(1..=8),
            keep: fastrand::usize(1..=2),
        };
        place.execute("DELETE FROM of_before").await.unwrap();
        place
            .execute(&format!(
                "INSERT INTO of_before ({columns}) SELECT {columns} FROM snapshot"
            ))
            .await
            .unwrap();
        // The first two lives delete more than the snapshots of before cover.
        let more = if life < 2 { 30 } else { fastrand::u64(0..30) };
        work(&place, retaining, entries + 1..entries + more + 1).await;
        entries += more;
        place.execute("DELETE FROM of_now").await.unwrap();
        place
            .execute(&format!(
                "INSERT INTO of_now ({columns}) SELECT {columns} FROM snapshot"
            ))
            .await
            .unwrap();

        let loss = [Loss::Removed, Loss::RolledBack][life % 2];
        place.execute("DELETE FROM snapshot").await.unwrap();
        if loss == Loss::RolledBack {
            place
                .execute(&format!(
                    "INSERT INTO snapshot ({columns}) SELECT {columns} FROM of_before"
                ))
                .await
                .unwrap();
        }
        let deleted = entries as i64
            - place
                .number("SELECT COUNT(*) FROM event_journal")
                .await
                .unwrap();
        let covered = place
            .number("SELECT COALESCE(MAX(sequence_nr), 0) FROM snapshot")
            .await
            .unwrap();
        let has_started = starts(&place, retaining, entries).await;
        assert_eq!(
            has_started,
            covered >= deleted,
            "{covered} of {deleted}, {retaining:?}"
        );
        lives[loss as usize][usize::from(has_started)] += 1;

        place.execute("DELETE FROM snapshot").await.unwrap();
        place
            .execute(&format!(
                "INSERT INTO snapshot ({columns}) SELECT {columns} FROM of_now"
            ))
            .await
            .unwrap();
        assert!(
            starts(&place, retaining, entries).await,
            "its snapshots are back"
        );
    }
    eprintln!(
        "[refused, started] without snapshots {:?}, with old ones {:?}",
        lives[0], lives[1]
    );
    assert!(
        lives[0][0] > 0 && lives[1][0] > 0,
        "nothing was ever needed: {lives:?}"
    );
}

on_every_database! {
    an_actor_that_lacks_a_snapshot_writes_nothing,
}
