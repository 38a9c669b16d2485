//! The list of projections.

use actix_persistence_storage_api::{OffsetStore, ProjectionChange};

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::offset_steps::{START, fresh_key, key};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] =
    &[case!(list_each_projection_once_in_order, ["O-KEYS-1"]).in_fresh_place()];

async fn list_each_projection_once_in_order(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let prefix = fresh_key().name().to_owned();
    let expected: Vec<_> = [
        ("-", 1),
        (".a", 1),
        ("A", 1),
        ("Z", 1),
        ("_", 1),
        ("a", 1),
        ("a", 2),
        ("a", 10),
        ("aa", 1),
    ]
    .map(|(name, version)| key(&format!("{prefix}{name}")).with_version(version))
    .into();
    let removed = key(&format!("{prefix}a")).with_version(3);
    for key in expected.iter().rev().chain([&removed, &expected[0]]) {
        // More shares than one, so that there is more to list than projections.
        store.register(key, 3, START).await?;
    }
    store.change(&removed, ProjectionChange::Remove).await?;
    expect_eq("projections", store.keys().await?, expected)
}
