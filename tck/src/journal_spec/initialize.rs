//! Initialising, again and at the same time.

use actix_persistence_storage_api::{EventDeletion, Journal};

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::journal_steps::{expect_highest, expect_numbers, outcome_of};
use crate::parallel::in_parallel;
use crate::subject::Subject;
use crate::writer::Writer;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(change_nothing_when_initialized_again, ["J-INIT-1"]),
    case!(
        initialize_a_store_in_use_from_another_instance,
        ["J-INIT-1", "J-INIT-2"]
    ),
    case!(
        initialize_one_store_from_several_instances_at_once,
        ["J-INIT-2"]
    ),
];

async fn change_nothing_when_initialized_again(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut writer = subject.five_events().await?;
    journal
        .delete_messages_to(&writer.id, EventDeletion::up_to(2))
        .await?;
    journal.initialize().await?;
    expect_numbers(journal, &writer.id, 3..=5).await?;
    expect_highest(journal, &writer.id, 5).await?;
    // The epoch is as before, too.
    writer.store(journal, 1).await?;
    let next = Writer::holder_of(journal, &writer.id).await?;
    expect_eq("deleted_to", next.taken.deleted_to, 2)
}

async fn initialize_a_store_in_use_from_another_instance(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let mut writer = subject.five_events().await?;
    let other = subject.another().await?;
    expect_numbers(&*other, &writer.id, 1..=5).await?;
    writer.store(subject.store(), 1).await?;
    expect_numbers(&*other, &writer.id, 1..=6).await
}

async fn initialize_one_store_from_several_instances_at_once(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let mut journals = vec![subject.share()];
    for _ in 0..4 {
        journals.push(subject.another_uninitialised().await?);
    }
    let initialisations = journals.clone().into_iter().map(|journal| async move {
        journal.initialize().await?;
        Ok(())
    });
    in_parallel(initialisations).await?;
    // Each of them works, and all of them on the same store.
    let mut writer = Writer::of_fresh_id(subject.store()).await?;
    for journal in &journals {
        writer.store(&**journal, 1).await?;
    }
    for journal in &journals {
        let stale = outcome_of(&**journal, writer.single(1)).await?;
        expect_eq("stored twice", stale.is_stored(), false)?;
        expect_numbers(&**journal, &writer.id, 1..=5).await?;
    }
    Ok(())
}
