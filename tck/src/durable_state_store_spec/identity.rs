//! Ids that are alike are different ids.

use actix_persistence_storage_api::{StateDelete, StateStore};

use crate::case::{Case, case};
use crate::failure::CaseResult;
use crate::odd_texts::odd_ids;
use crate::state_steps::{expect_nothing, expect_state, state, with_payload};
use crate::subject::Subject;
use crate::writer::text;

pub(super) const CASES: &[Case<dyn StateStore>] = &[case!(
    keep_ids_apart_that_differ_in_one_byte,
    ["D-UPSERT-8", "D-HARD-3"]
)];

async fn keep_ids_apart_that_differ_in_one_byte(subject: Subject<dyn StateStore>) -> CaseResult {
    let states: Vec<_> = odd_ids()
        .iter()
        .enumerate()
        .map(|(place, id)| with_payload(state(id, 1), text(format!("state of {place}"))))
        .collect();
    for state in &states {
        subject.store().upsert(state.clone()).await?;
    }
    for state in &states {
        expect_state(subject.store(), state).await?;
    }
    for (place, state) in states.iter().enumerate() {
        let id = &state.persistence_id;
        match place % 3 {
            0 => {
                subject
                    .store()
                    .delete(StateDelete::new(id.clone(), 2))
                    .await?
            }
            1 => drop(subject.store().hard_delete(id).await?),
            _ => {}
        }
    }
    let subject = subject.restart().await?;
    for (place, state) in states.iter().enumerate() {
        let id = &state.persistence_id;
        match place % 3 {
            0 => expect_nothing(subject.store(), id, 2).await?,
            1 => expect_nothing(subject.store(), id, 0).await?,
            _ => expect_state(subject.store(), state).await?,
        }
    }
    Ok(())
}
