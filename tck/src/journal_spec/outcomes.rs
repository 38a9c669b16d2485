//! Calls of which some writes fail: each write stands or falls alone, but an id never goes on after a gap.

use actix_persistence_storage_api::Journal;

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, expect};
use crate::journal_steps::{expect_highest, expect_skipped, outcomes_of};
use crate::subject::Subject;
use crate::writer::{Writer, expect_conflict};

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        skip_later_writes_of_an_id_after_a_conflict,
        ["J-WRITE-6", "J-WRITE-1"]
    ),
    case!(
        store_writes_of_other_ids_around_a_conflict,
        ["J-WRITE-6", "J-WRITE-1"]
    ),
    case!(
        store_the_neighbours_of_a_conflicting_atomic_write,
        ["J-WRITE-2", "J-WRITE-6"]
    )
    .needing(Capability::AtomicBatches),
    case!(
        store_the_neighbours_of_a_writer_whose_epoch_is_over,
        ["J-WRITE-5", "J-WRITE-6"]
    ),
];

async fn skip_later_writes_of_an_id_after_a_conflict(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut writer = subject.five_events().await?;
    // 7 would follow on 6, but the order of the call says that 8 came before it.
    let writes: Vec<_> = [6, 8, 7, 8].map(|number| writer.single(number)).into();
    let wrong = writes[1].clone();
    let outcomes = outcomes_of(journal, writes).await?;
    expect(outcomes[0].is_stored(), "the first write to be stored")?;
    expect_conflict(&outcomes[1], &wrong, &writer, 6)?;
    expect_skipped(&outcomes[2])?;
    expect_skipped(&outcomes[3])?;
    writer.expect_events(journal, 1..=6).await?;
    expect_highest(journal, &writer.id, 6).await?;
    writer.next = 7;
    writer.store(journal, 2).await?;
    writer.expect_events(journal, 1..=8).await
}

async fn store_writes_of_other_ids_around_a_conflict(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let guilty = subject.five_events().await?;
    let before = subject.five_events().await?;
    let after = Writer::of_fresh_id(journal).await?;
    let wrong = guilty.single(5);
    let outcomes = outcomes_of(
        journal,
        vec![
            before.single(6),
            wrong.clone(),
            after.single(1),
            guilty.single(6),
            before.single(7),
            after.single(2),
        ],
    )
    .await?;
    expect_conflict(&outcomes[1], &wrong, &guilty, 5)?;
    expect_skipped(&outcomes[3])?;
    for place in [0, 2, 4, 5] {
        let found = &outcomes[place];
        expect(
            found.is_stored(),
            format!("write {place} of the call, of another id, to be stored, found {found:?}"),
        )?;
    }
    guilty.expect_events(journal, 1..=5).await?;
    before.expect_events(journal, 1..=7).await?;
    after.expect_events(journal, 1..=2).await
}

async fn store_the_neighbours_of_a_conflicting_atomic_write(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let guilty = subject.five_events().await?;
    let before = subject.five_events().await?;
    let after = subject.five_events().await?;
    let wrong = guilty.write(5..=7);
    let writes = vec![before.write(6..=8), wrong.clone(), after.write(6..=7)];
    let outcomes = outcomes_of(journal, writes).await?;
    expect_conflict(&outcomes[1], &wrong, &guilty, 5)?;
    for place in [0, 2] {
        let found = &outcomes[place];
        expect(
            found.is_stored(),
            format!("write {place} of the call, of another id, to be stored, found {found:?}"),
        )?;
    }
    guilty.expect_events(journal, 1..=5).await?;
    before.expect_events(journal, 1..=8).await?;
    after.expect_events(journal, 1..=7).await?;
    expect_highest(journal, &guilty.id, 5).await
}

async fn store_the_neighbours_of_a_writer_whose_epoch_is_over(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let zombie = subject.five_events().await?;
    let holder = Writer::holder_of(journal, &zombie.id).await?;
    let neighbour = subject.five_events().await?;
    let wrong = zombie.single(6);
    let writes = vec![wrong.clone(), neighbour.single(6), zombie.single(7)];
    let outcomes = outcomes_of(journal, writes).await?;
    expect_conflict(&outcomes[0], &wrong, &holder, 5)?;
    expect(
        outcomes[1].is_stored(),
        "the write of the other id to be stored",
    )?;
    expect_skipped(&outcomes[2])?;
    zombie.expect_events(journal, 1..=5).await?;
    neighbour.expect_events(journal, 1..=6).await
}
