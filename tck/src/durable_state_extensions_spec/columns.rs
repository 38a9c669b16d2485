//! Columns of the application beside states.

use std::sync::Arc;

use actix_persistence_storage_api::{
    AdditionalColumn, ColumnValue, SqlValue, StateChange, StateDelete, StateStore, StorageErrorKind,
};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::extension_steps::{Column, Site, expect_extension_refused, post, title_column};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::state_steps::{expect_state, state, store_up_to};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(store_a_column_with_the_state, ["D-COLUMN-1"]).needing(Capability::SqlSession),
    case!(keep_a_column_that_says_so, ["D-COLUMN-1"]).needing(Capability::SqlSession),
    case!(ask_a_column_when_its_state_is_deleted, ["D-COLUMN-2"]).needing(Capability::SqlSession),
    case!(refuse_a_change_whose_column_fails, ["D-COLUMN-3"]).needing(Capability::SqlSession),
    case!(say_which_column_the_table_lacks, ["D-COLUMN-4"]).needing(Capability::SqlSession),
];

async fn store_a_column_with_the_state(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open(|post| post.columns.push(title_column())).await?;
    for revision in 1..=3 {
        let update = state(&post(1), revision);
        store.upsert(update.clone()).await?;
        expect_state(&*store, &update).await?;
        let title = format!("s-{revision}");
        site.expect_columns(&*store, &post(1), Some(&title), Some(3))
            .await?;
    }
    let conflict = store.upsert(state(&post(1), 3)).await;
    expect(conflict.is_err(), "a conflict of revisions")?;
    site.expect_columns(&*store, &post(1), Some("s-3"), Some(3))
        .await
}

/// A column that is kept in every second revision.
fn stars() -> Arc<dyn AdditionalColumn> {
    Arc::new(Column("stars", |change: &StateChange<'_>| {
        Ok(match change.revision {
            even if even.is_multiple_of(2) => {
                ColumnValue::Set(SqlValue::Integer(even.cast_signed()))
            }
            _ => ColumnValue::Keep,
        })
    }))
}

async fn keep_a_column_that_says_so(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let columns = |post: &mut actix_persistence_storage_api::EntityExtensions| {
        post.columns = vec![stars(), title_column()];
    };
    let store = site.open(columns).await?;
    for (revision, stars) in [(1, 3), (2, 2), (3, 2), (4, 4), (5, 4)] {
        store.upsert(state(&post(1), revision)).await?;
        let title = format!("s-{revision}");
        site.expect_columns(&*store, &post(1), Some(&title), Some(stars))
            .await?;
    }
    Ok(())
}

async fn ask_a_column_when_its_state_is_deleted(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let columns = |post: &mut actix_persistence_storage_api::EntityExtensions| {
        post.columns = vec![stars(), title_column()];
    };
    let store = site.open(columns).await?;
    // One tombstone in the place of a state, one where nothing was.
    store_up_to(&*store, &post(1), 2).await?;
    store.delete(StateDelete::new(post(1), 3)).await?;
    store.delete(StateDelete::new(post(2), 1)).await?;
    site.expect_columns(&*store, &post(1), None, Some(2))
        .await?;
    site.expect_columns(&*store, &post(2), None, Some(3)).await
}

async fn refuse_a_change_whose_column_fails(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let broken = Column("title", |change: &StateChange<'_>| match change.revision {
        1 => Ok(ColumnValue::from("one")),
        _ => Err("this title is not for sale".into()),
    });
    let store = site
        .open(|post| post.columns.push(Arc::new(broken)))
        .await?;
    store.upsert(state(&post(1), 1)).await?;
    for refused in [
        store.upsert(state(&post(1), 2)).await,
        store.delete(StateDelete::new(post(1), 2)).await,
    ] {
        let error = expect_extension_refused(refused)?;
        let source = std::error::Error::source(&error).map(ToString::to_string);
        let expected = Some("this title is not for sale".to_owned());
        expect_eq("source", source, expected)?;
    }
    expect_state(&*store, &state(&post(1), 1)).await?;
    site.expect_columns(&*store, &post(1), Some("one"), Some(3))
        .await
}

async fn say_which_column_the_table_lacks(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let missing = Column("titel", |_: &StateChange<'_>| Ok(ColumnValue::Keep));
    let store = site
        .open_uninitialised(|post| post.columns.push(Arc::new(missing)))
        .await?;
    let Err(error) = store.initialize().await else {
        return Err(Failure::new("expected a refusal, found success"));
    };
    expect_eq("kind", error.kind(), StorageErrorKind::SchemaMismatch)?;
    let message = error.message().unwrap_or_default();
    expect(
        message.contains("titel"),
        format!("the column's name in {message:?}"),
    )
}
