//! The specs of one kind of store on the stores of one fixture.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt;

use super::run::Prepared;
use crate::NoOffsetStore;
use crate::case::{Case, Spec, prefixed};
use crate::failure::{Failure, expect};
use crate::site::Create;
use crate::specs::{Specified, cases};
use crate::subject::Subject;

/// A suite of any kind of store.
#[async_trait]
pub(super) trait PrepareSuite: Send + Sync {
    /// Opens one store to learn its capabilities, and makes every case ready to run.
    async fn prepare(&self) -> Vec<Prepared>;
}

pub(super) struct Suite<S: ?Sized> {
    pub(super) prefix: String,
    pub(super) presence: Presence,
    pub(super) expected_ignored: Vec<String>,
    pub(super) create: Create<S>,
}

/// The answer to whether a fixture must have a kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Needed,
    Optional,
}

#[async_trait]
impl<S: Specified + ?Sized> PrepareSuite for Suite<S> {
    async fn prepare(&self) -> Vec<Prepared> {
        let place = (self.create)(false).await;
        match place.open().await {
            Ok(store) => self.prepare_for(&store),
            Err(error) if self.presence == Presence::Optional && error.is::<NoOffsetStore>() => {
                Vec::new()
            }
            Err(error) => {
                let failure = Failure::from(error);
                vec![self.own_check("opens_a_store", Err(failure))]
            }
        }
    }
}

impl<S: Specified + ?Sized> Suite<S> {
    fn prepare_for(&self, store: &S) -> Vec<Prepared> {
        let mut prepared = Vec::new();
        let mut ignored = BTreeSet::new();
        let mut expected: BTreeSet<_> = self.expected_ignored.iter().cloned().collect();
        // A fixture names those of all its stores.
        for other in cases() {
            if !S::SPECS.iter().any(|spec| spec.has(&other.name)) {
                expected.remove(&other.name);
            }
        }
        for spec in S::SPECS {
            for case in spec.cases() {
                let case = self.prepare_case(spec, case, store);
                if let (true, Some(info)) = (case.is_ignored(), &case.info) {
                    ignored.insert(info.name.clone());
                }
                prepared.push(case);
            }
        }
        prepared.push(self.own_check("ignores_what_it_declares", difference(&ignored, &expected)));
        prepared
    }

    fn prepare_case(&self, spec: &Spec<S>, case: &'static Case<S>, store: &S) -> Prepared {
        let info = case.info(spec);
        let create = Arc::clone(&self.create);
        let is_fresh = case.is_in_fresh_place();
        let run = move || {
            let future = async move {
                let place = create(is_fresh).await;
                (case.run)(Subject::open(place).await?).await
            };
            future.boxed()
        };
        Prepared {
            name: prefixed(&self.prefix, &info.name),
            info: Some(info),
            missing: case.needs().find(|&needed| !store.declares(needed)),
            run: Box::new(run),
        }
    }

    /// Returns a check of the fixture rather than of the store.
    fn own_check(&self, check: &str, result: Result<(), Failure>) -> Prepared {
        let kind = S::SPECS.first().map_or("", |spec| spec.name);
        Prepared {
            name: prefixed(&self.prefix, &format!("{kind}::fixture::{check}")),
            info: None,
            missing: None,
            run: Box::new(move || async move { result }.boxed()),
        }
    }
}

fn difference(ignored: &BTreeSet<String>, expected: &BTreeSet<String>) -> Result<(), Failure> {
    let unexpected: Vec<_> = ignored.difference(expected).collect();
    let missing: Vec<_> = expected.difference(ignored).collect();
    let same = unexpected.is_empty() && missing.is_empty();
    expect(
        same,
        format!(
            "the ignored cases to be those that expected_ignored names, \
             but ignored without being named: {unexpected:?}, named without being ignored: {missing:?}"
        ),
    )
}
