//! Pages of states: how large they are, and what they do not leave out.

use actix_persistence_storage_api::{
    FindStates, FoundState, Payload, PersistenceId, StateChangesPage, StateChangesQuery,
    StateDelete, StateOffset, StateStore, StateUpdate, StorageError, StorageErrorKind,
};

use crate::Tables;

use super::{id, state, store};

/// The entity type of the ids here.
const ENTITY_TYPE: &str = "Test";

/// No page holds more bytes of payloads than it may, but one state it always holds; and no page ends the reading early.
///
/// # Panics
/// If one does.
pub async fn pages_of_large_states_are_bounded_in_bytes(tables: &dyn Tables) {
    const MOST: usize = 2_500;
    let states = tables.open_with_page_bytes(MOST).await;
    let sizes = [
        1_000, 1_000, 1_000, 9_000, 9_000, 0, 2_500, 1, 1_250, 1_250, 1_000,
    ];
    for (number, size) in sizes.into_iter().enumerate() {
        let mut large = state(&format!("{number:02}"), 1);
        large.payload.bytes = vec![b' '; size].into();
        store(&*states, large).await;
    }
    states
        .delete(StateDelete::new(id("gone"), 1))
        .await
        .expect("it can be deleted");

    let mut found = Vec::new();
    let mut query = FindStates::new(ENTITY_TYPE, "revision = $1", [1.into()], 100);
    loop {
        let page = find(&*states, query.clone())
            .await
            .expect("they can be found");
        let Some(last) = page.last() else { break };
        query = query.after(last.persistence_id.clone());
        let of_page = page.iter().map(|found| found.state.payload.len());
        found.push(of_page.collect::<Vec<_>>());
    }
    assert_eq!(
        found,
        [
            &[1_000, 1_000][..],
            &[1_000],
            &[9_000],
            &[9_000],
            &[0, 2_500],
            &[1, 1_250],
            &[1_250, 1_000]
        ]
    );

    let (mut offset, mut changed) = (StateOffset::start(), 0);
    while changed < sizes.len() + 1 {
        let page = changes(&*states, &offset, 100).await;
        let of_page = page
            .changes
            .iter()
            .map(|change| change.current.state.as_ref());
        let bytes: usize = of_page.flatten().map(|state| state.payload.len()).sum();
        assert!(bytes <= MOST || page.changes.len() == 1, "{bytes}");
        changed += page.changes.len();
        // Whether there are more says nothing here: PostgreSQL holds back what was stored while others write there.
        offset = page.offset;
    }
    assert_eq!(changes(&*states, &offset, 100).await.changes, []);
}

/// A page reads everything even if somebody has given one number to many rows by hand.
///
/// # Panics
/// If it is not.
pub async fn many_changes_of_one_number_are_all_read(tables: &dyn Tables) {
    let states = tables.open().await;
    for number in 0..40 {
        store(&*states, state(&format!("{number}"), 1)).await;
    }
    tables.run("UPDATE durable_state SET ordering = 3").await;
    for limit in [1, 3, 7, 100] {
        let (mut offset, mut ids) = (StateOffset::start(), Vec::new());
        loop {
            let page = changes(&*states, &offset, limit).await;
            ids.extend(page.changes.into_iter().map(|change| change.persistence_id));
            offset = page.offset;
            if !page.more {
                break;
            }
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 40, "in pages of {limit}");
    }
}

/// A condition has a placeholder for each of its values and no other, and nothing in it reaches what is around it.
///
/// # Panics
/// If it has, or does.
pub async fn a_condition_takes_its_own_values_and_stands_alone(tables: &dyn Tables) {
    let states = tables.open().await;
    store(&*states, state("a", 1)).await;
    store(&*states, state("a", 2)).await;
    let other = StateUpdate::new(
        PersistenceId::of("Other", "o"),
        1,
        Payload::new(2, "m", "1"),
    );
    store(&*states, other).await;
    let find = async |condition: &'static str, values: &[i64]| {
        let values = values.iter().map(|value| (*value).into());
        find(&*states, FindStates::new(ENTITY_TYPE, condition, values, 2)).await
    };
    // The limit of the page would be among the values.
    for (condition, values, says) in [
        ("revision = $1", &[][..], "has $1, but there are 0 values"),
        ("revision = $3", &[], "has $3"),
        ("revision = $2", &[7], "has $2, but there are 1 values"),
        ("revision = $0", &[2], "has $0"),
        ("revision = $5", &[1, 2, 3, 4], "has $5"),
        ("revision = $1", &[2, 9], "no $2"),
        ("1 = 1", &[1], "no $1"),
        ("manifest = '$1'", &[1], "no $1"),
        ("1 = 1; DELETE FROM durable_state", &[], "';'"),
    ] {
        let error = find(condition, values).await.expect_err(condition);
        assert_eq!(error.kind(), StorageErrorKind::Extension, "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
    }
    for condition in [
        "1 = 1) OR (1 = 1",
        "1 = 1) -- ",
        "1 = 1) /*",
        "1 = 1)\nOR (1 = 1",
        "1 = 1) UNION ALL SELECT * FROM durable_state WHERE (1 = 1",
        "1 = 1 LIMIT 1",
        "1 = 1 ORDER BY persistence_id",
        "(1 = 1",
        "1 = 1 /*",
        "manifest = '",
        "",
    ] {
        find(condition, &[]).await.expect_err(condition);
    }
    for (condition, values, count) in [
        ("revision = $1", &[2][..], 1),
        ("revision = $1 OR revision = $1 -- and so on", &[2], 1),
        ("(revision > $2) AND (revision < $1) /* ) */", &[3, 1], 1),
        ("manifest <> ') OR ($1' AND 1 = 1 OR 1 = 0", &[], 1),
        ("revision = 1 OR 1 = 0", &[], 0),
    ] {
        // The second time it is known.
        for _ in 0..2 {
            let found = find(condition, values).await.expect(condition);
            assert_eq!(found.len(), count, "{condition}");
        }
    }
}

async fn find(states: &dyn StateStore, query: FindStates) -> Result<Vec<FoundState>, StorageError> {
    states.sql().expect("the store has SQL").find(query).await
}

pub(super) async fn changes(
    states: &dyn StateStore,
    after: &StateOffset,
    limit: usize,
) -> StateChangesPage {
    let queries = states.queries().expect("the store has queries");
    let query = StateChangesQuery::new(ENTITY_TYPE, limit).after(after.clone());
    queries.changes(query).await.expect("they can be read")
}
