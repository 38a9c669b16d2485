//! Finding states by what stands beside them.

use actix_persistence_storage_api::{FindStates, PersistenceId, StateDelete, StateStore};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::extension_steps::{ENTITY_TYPE, Site, found, post, sql, title_column};
use crate::failure::{CaseResult, expect, expect_eq};
use crate::state_steps::{expect_state, state, store_up_to};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(find_states_by_a_column, ["D-FIND-1"]).needing(Capability::SqlSession),
    case!(find_states_page_by_page, ["D-FIND-2"]).needing(Capability::SqlSession),
    case!(refuse_a_condition_whose_values_do_not_match, ["D-FIND-4"])
        .needing(Capability::SqlSession),
    case!(
        keep_to_the_entity_type_whatever_the_condition_says,
        ["D-FIND-3"]
    )
    .in_fresh_place()
    .needing(Capability::SqlSession),
];

async fn find_states_by_a_column(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open(|post| post.columns.push(title_column())).await?;
    store_up_to(&*store, &post("a"), 2).await?;
    store_up_to(&*store, &post("B"), 1).await?;
    store_up_to(&*store, &post("c"), 2).await?;
    store_up_to(&*store, &post("d"), 1).await?;
    store.delete(StateDelete::new(post("d"), 2)).await?;
    let twos = found(&*store, "title = $1 OR title IS NULL", vec!["s-2".into()]).await?;
    expect_eq("those with the title", twos, vec![post("a"), post("c")])?;
    let query = FindStates::new(ENTITY_TYPE, "title = $1", ["s-1".into()], 10);
    let ones = sql(&*store)?.find(query).await?;
    expect_eq("how many", ones.len(), 1)?;
    expect_eq("revision", ones[0].revision, 1)?;
    let payload = &ones[0].state.payload;
    expect_eq("payload", payload, &state(&post("B"), 1).payload)
}

async fn find_states_page_by_page(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open(|post| post.columns.push(title_column())).await?;
    // In the order of their bytes, in which no language sorts.
    let ids = ["A", "Z", "_", "a", "z", "ß", "ü", "😀"].map(post);
    for id in ids.iter().rev() {
        store.upsert(state(id, 1)).await?;
    }
    let mut pages = Vec::new();
    let mut query = FindStates::new(ENTITY_TYPE, "title = $1", ["s-1".into()], 3);
    // One more than there are states, were a page never empty.
    for _ in 0..=ids.len() {
        let page = sql(&*store)?.find(query.clone()).await?;
        let Some(last) = page.last() else { break };
        query = query.after(last.persistence_id.clone());
        pages.push(
            page.into_iter()
                .map(|state| state.persistence_id)
                .collect::<Vec<_>>(),
        );
    }
    let expected: Vec<Vec<PersistenceId>> = ids.chunks(3).map(<[_]>::to_vec).collect();
    expect_eq("pages", pages, expected)?;
    let query = FindStates::new(ENTITY_TYPE, "title = $1", ["s-1".into()], 0);
    expect_eq("a page of none", sql(&*store)?.find(query).await?.len(), 0)
}

async fn keep_to_the_entity_type_whatever_the_condition_says(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open(|_| {}).await?;
    store.upsert(state(&post("a"), 1)).await?;
    store.upsert(state(&post("b"), 1)).await?;
    store.delete(StateDelete::new(post("b"), 2)).await?;
    // The same table, were the type a pattern; and one in the table of all others.
    let other = PersistenceId::of("Poet_'\"\\", "1");
    store.upsert(state(&other, 1)).await?;
    expect_state(&*store, &state(&other, 1)).await?;
    let all = found(&*store, "1 = 0 OR 1 = 1", Vec::new()).await?;
    expect_eq("all of the type", all, vec![post("a")])?;
    // If the store puts the condition in parentheses, this ends them early.
    let query = FindStates::new(ENTITY_TYPE, "1 = 1) OR (1 = 1", [], 10);
    let broken_out = sql(&*store)?.find(query).await;
    expect(
        broken_out.is_err(),
        "an error for a condition that closes what it did not open",
    )?;
    let query = FindStates::new("Poet_'\"\\", "1 = 0 OR 1 = 1", [], 10);
    let others = sql(&*store)?.find(query).await?;
    let others: Vec<_> = others
        .into_iter()
        .map(|state| state.persistence_id)
        .collect();
    expect_eq("all of the other", others, vec![other])
}

async fn refuse_a_condition_whose_values_do_not_match(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open(|_| {}).await?;
    store_up_to(&*store, &post("a"), 2).await?;
    // Were the values of the store taken for those of the condition, some of these would find a state.
    for (condition, values) in [
        ("revision = $1", Vec::new()),
        ("revision = $2", vec![2.into()]),
        ("revision = $3", Vec::new()),
        ("revision = $4", vec![2.into()]),
        ("revision = $1", vec![2.into(), 2.into()]),
    ] {
        let query = FindStates::new(ENTITY_TYPE, condition, values.clone(), 2);
        let found = sql(&*store)?.find(query).await;
        let what = format!("an error for {condition:?} with {} values", values.len());
        expect(found.is_err(), what)?;
    }
    let found = found(&*store, "revision = $1", vec![2.into()]).await?;
    expect_eq("with the right value", found, vec![post("a")])
}
