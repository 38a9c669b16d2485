//! The changes that a reader gets while many writers write.

use std::sync::Arc;

use actix_persistence_storage_api::{PersistenceId, Revision, StateDelete, StateStore};
use tokio::task::yield_now;

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect_eq};
use crate::parallel::in_parallel;
use crate::query_steps::{Reader, of_tck, tck_id};
use crate::state_steps::state;
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(
        give_the_last_change_of_each_id_while_many_write,
        ["D-CHANGES-7", "D-CHANGES-9"]
    )
    .needing(Capability::Queries),
    case!(give_each_new_id_while_many_write, ["D-CHANGES-7"]).needing(Capability::Queries),
];

const WRITERS: usize = 8;
const IDS: usize = 3;

async fn give_the_last_change_of_each_id_while_many_write(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let ids = (0..IDS).map(|number| tck_id(writer * IDS + number));
            write(stores[writer % 2].clone(), ids.collect())
        })
        .collect();
    let writers = tokio::spawn(in_parallel(writers));
    let mut reader = Reader::beside_writers(of_tck(2));
    while !writers.is_finished() {
        reader.read(subject.store()).await?;
        yield_now().await;
    }
    let mut expected: Vec<_> = writers.await??.into_iter().flatten().collect();
    // Stored after all others, so that they are there to be read when it is.
    let last = (tck_id(WRITERS * IDS), 1);
    subject.store().upsert(state(&last.0, last.1)).await?;
    reader.read_until(subject.store(), &last).await?;
    expected.push(last);
    expected.sort();
    expect_eq("last changes", reader.revisions(), expected)
}

/// Stores each id once, so that no later change makes up for one that the reader missed.
async fn give_each_new_id_while_many_write(subject: Subject<dyn StateStore>) -> CaseResult {
    const NEW_IDS: usize = 40;
    // Elsewhere, so that the writers delay only each other.
    let readers_store = subject.another().await?;
    let writers = (0..WRITERS).map(|writer| {
        let store = subject.share();
        async move {
            for number in 0..NEW_IDS {
                let id = tck_id(writer * NEW_IDS + number);
                store.upsert(state(&id, 1)).await?;
            }
            Ok(())
        }
    });
    let writers = tokio::spawn(in_parallel(writers.collect::<Vec<_>>()));
    let mut readers = [7, 100].map(|limit| Reader::beside_writers(of_tck(limit)));
    while !writers.is_finished() {
        for reader in &mut readers {
            reader.read(&*readers_store).await?;
        }
        yield_now().await;
    }
    writers.await??;
    // Stored after all others, so that they are there to be read when it is.
    let last = (tck_id(WRITERS * NEW_IDS), 1);
    subject.store().upsert(state(&last.0, last.1)).await?;
    let mut expected: Vec<_> = (0..=WRITERS * NEW_IDS)
        .map(|number| (tck_id(number), 1))
        .collect();
    expected.sort();
    for reader in &mut readers {
        reader.read_until(&*readers_store, &last).await?;
        expect_eq("new ids", &reader.revisions(), &expected)?;
    }
    Ok(())
}

/// Changes the ids in turns, and returns the last revision of each.
async fn write(
    store: Arc<dyn StateStore>,
    ids: Vec<PersistenceId>,
) -> Result<Vec<(PersistenceId, Revision)>, Failure> {
    let last = 12;
    for revision in 1..=last {
        for (place, id) in ids.iter().enumerate() {
            if (revision + place as u64).is_multiple_of(4) {
                store.delete(StateDelete::new(id.clone(), revision)).await?;
            } else {
                store.upsert(state(id, revision)).await?;
            }
            yield_now().await;
        }
    }
    Ok(ids.into_iter().map(|id| (id, last)).collect())
}
