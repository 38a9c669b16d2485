//! A broken store, and the cases that find it out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_tck::{CaseOutcome, Kit};

/// Opens a place again and again, with the same defect: what its clones share is durable.
///
/// The types of defects are erased, so that the kit is compiled for all of them once.
pub(crate) type Defects<T> = Arc<dyn Fn() -> Arc<T> + Send + Sync>;

/// One way to break the contract.
///
/// Cases of `journal_spec`, `event_queries_spec`, `snapshot_store_spec`, `durable_state_store_spec`,
/// `durable_state_extensions_spec`, `state_queries_spec` and `offset_store_spec` are named without their spec.
pub(crate) struct Mutant {
    name: &'static str,
    kit: fn() -> Kit,
    clauses: &'static [&'static str],
    must_fail: &'static [&'static str],
    may_fail: &'static [&'static str],
}

impl Mutant {
    /// A store that breaks these clauses: of the cases that cite one of them these must fail, and no others.
    ///
    /// The cases of other clauses are not run, so that a new one changes the lists of its own clause alone.
    pub(crate) const fn new(
        name: &'static str,
        kit: fn() -> Kit,
        clauses: &'static [&'static str],
        must_fail: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            kit,
            clauses,
            must_fail,
            may_fail: &[],
        }
    }

    /// These race: sometimes nothing happens at the wrong moment.
    pub(crate) const fn perhaps(mut self, may_fail: &'static [&'static str]) -> Self {
        self.may_fail = may_fail;
        self
    }

    /// The cases that must fail.
    pub(crate) fn must_fail(&self) -> impl Iterator<Item = &'static str> {
        self.must_fail.iter().copied()
    }

    /// Returns the mistake in the kit's verdict, if there is one.
    fn misjudged(&self) -> Option<String> {
        let failed = failed_cases((self.kit)().citing(self.clauses));
        let passed: Vec<_> = self
            .must_fail()
            .filter(|&case| !failed.contains(case))
            .collect();
        let allowed: BTreeSet<_> = self
            .must_fail()
            .chain(self.may_fail.iter().copied())
            .collect();
        let surprising: Vec<_> = failed
            .iter()
            .filter(|case| !allowed.contains(case.as_str()))
            .collect();
        let right = passed.is_empty() && surprising.is_empty();
        let name = self.name;
        (!right)
            .then(|| format!("{name}: wrongly passed {passed:#?}, wrongly failed {surprising:#?}"))
    }
}

/// Runs the cases of their own clauses on every mutant and expects exactly those that it names to fail.
pub(crate) fn expect_found_out(mutants: &[Mutant]) {
    let wrong: Vec<_> = mutants.iter().filter_map(Mutant::misjudged).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The short names of the cases that fail.
pub(crate) fn failed_cases(kit: Kit) -> BTreeSet<String> {
    kit.with_case_timeout(Duration::from_secs(60))
        .collect()
        .into_iter()
        .filter(|report| matches!(report.outcome, CaseOutcome::Failed(_)))
        .map(|report| short(&report.name).to_owned())
        .collect()
}

/// The name of a case as mutants name it.
pub(crate) fn short(name: &str) -> &str {
    name.strip_prefix("journal_spec::")
        .or_else(|| name.strip_prefix("snapshot_store_spec::"))
        .or_else(|| name.strip_prefix("durable_state_store_spec::"))
        .or_else(|| name.strip_prefix("durable_state_extensions_spec::"))
        .or_else(|| name.strip_prefix("state_queries_spec::"))
        .or_else(|| name.strip_prefix("event_queries_spec::"))
        .or_else(|| name.strip_prefix("offset_store_spec::"))
        .unwrap_or(name)
}
