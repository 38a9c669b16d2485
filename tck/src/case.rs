//! A case: what it is called, what it proves, what it needs, and how it runs.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};

use crate::failure::CaseResult;
use crate::subject::{Subject, UnderTest};

/// A case of the kit, for those who compare it with the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaseInfo {
    /// The name with its spec, such as `journal_spec::replay_all_messages`.
    pub name: String,
    /// The clauses of the contract that the case proves, such as `J-REPLAY-1`; at least one.
    pub clauses: &'static [&'static str],
    /// The case of the Akka family's kits that it stands for, such as `JournalSpec 12`.
    pub spec_number: Option<&'static str>,
    /// The capability without which the case is ignored, such as `tags`.
    pub needs: Option<&'static str>,
}

/// Returns every case of every spec, in the order of the specs.
pub fn cases() -> Vec<CaseInfo> {
    infos::<dyn Journal>()
        .chain(infos::<dyn SnapshotStore>())
        .chain(infos::<dyn StateStore>())
        .collect()
}

/// Returns the names of the cases that need one of these capabilities, such as `tags`.
///
/// A fixture whose store declares none of them returns these from
/// [`expected_ignored`](crate::Fixture::expected_ignored).
pub fn cases_needing(capabilities: &[&str]) -> Vec<String> {
    let mut needing = cases();
    needing.retain(|case| {
        case.needs
            .is_some_and(|needed| capabilities.contains(&needed))
    });
    needing.into_iter().map(|case| case.name).collect()
}

/// The run of one case.
pub(crate) type CaseFuture = Pin<Box<dyn Future<Output = CaseResult> + Send>>;

/// A named list of cases, in groups: one per file.
pub(crate) struct Spec<S: ?Sized + 'static> {
    pub(crate) name: &'static str,
    pub(crate) groups: &'static [&'static [Case<S>]],
}

/// A case for stores of kind `S`.
pub(crate) struct Case<S: ?Sized + 'static> {
    pub(crate) name: &'static str,
    pub(crate) clauses: &'static [&'static str],
    pub(crate) spec_number: Option<&'static str>,
    pub(crate) needs: Option<Capability>,
    pub(crate) run: fn(Subject<S>) -> CaseFuture,
}

/// An ability that only some stores have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capability {
    AtomicBatches,
    Metadata,
    Tags,
    Reset,
    Queries,
    SqlSession,
}

/// Makes a [`Case`] of an async function and the clauses that it proves.
macro_rules! case {
    ($run:ident, $clauses:expr) => {
        $crate::case::Case {
            name: stringify!($run),
            clauses: &$clauses,
            spec_number: None,
            needs: None,
            run: |subject| Box::pin($run(subject)),
        }
    };
}

pub(crate) use case;

impl<S: ?Sized + 'static> Case<S> {
    /// The same case, standing for one of the Akka family's kits.
    pub(crate) const fn of_spec(mut self, number: &'static str) -> Self {
        self.spec_number = Some(number);
        self
    }

    /// The same case, ignored where the capability is not declared.
    pub(crate) const fn needing(mut self, capability: Capability) -> Self {
        self.needs = Some(capability);
        self
    }

    /// Returns the case in the form that [`cases`] returns.
    pub(crate) fn info(&self, spec: &Spec<S>) -> CaseInfo {
        CaseInfo {
            name: format!("{}::{}", spec.name, self.name),
            clauses: self.clauses,
            spec_number: self.spec_number,
            needs: self.needs.map(Capability::name),
        }
    }
}

impl<S: ?Sized + 'static> Spec<S> {
    /// Returns whether a name is that of a case of this spec.
    pub(crate) fn has(&self, case: &str) -> bool {
        let name = case.split_once("::").map(|(spec, _)| spec);
        name == Some(self.name)
    }

    /// Returns all cases in order.
    pub(crate) fn cases(&self) -> impl Iterator<Item = &'static Case<S>> {
        self.groups.iter().flat_map(|group| group.iter())
    }
}

impl Capability {
    fn name(self) -> &'static str {
        match self {
            Capability::AtomicBatches => "atomic_batches",
            Capability::Metadata => "metadata",
            Capability::Tags => "tags",
            Capability::Reset => "reset",
            Capability::Queries => "queries",
            Capability::SqlSession => "sql_session",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn infos<S: UnderTest + ?Sized>() -> impl Iterator<Item = CaseInfo> {
    S::SPECS
        .iter()
        .flat_map(|spec| spec.cases().map(|case| case.info(spec)))
}

#[cfg(test)]
mod tests;
