//! A case: what it is called, what it proves, what it needs, and how it runs.

use std::future::Future;
use std::pin::Pin;

use crate::capability::Capability;
use crate::failure::CaseResult;
use crate::subject::Subject;

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
    /// The capabilities that the case needs, such as `tags`; it is ignored if the store lacks one of them.
    pub needs: Vec<&'static str>,
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
    /// Those that it has stand in front.
    pub(crate) needs: [Option<Capability>; 2],
    /// True if it runs in a place that no other case has used.
    pub(crate) in_fresh_place: bool,
    pub(crate) run: fn(Subject<S>) -> CaseFuture,
}

/// Makes a [`Case`] of an async function and the clauses that it proves.
macro_rules! case {
    ($run:ident, $clauses:expr) => {
        $crate::case::Case {
            name: stringify!($run),
            clauses: &$clauses,
            spec_number: None,
            needs: [None, None],
            in_fresh_place: false,
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

    /// The same case, ignored where the capability is not declared; a case may need two.
    pub(crate) const fn needing(mut self, capability: Capability) -> Self {
        self.needs = match self.needs {
            [None, _] => [Some(capability), None],
            [first, _] => [first, Some(capability)],
        };
        self
    }

    /// The same case in a place that no other case has used, because it lists what other cases store, too.
    pub(crate) const fn in_fresh_place(mut self) -> Self {
        self.in_fresh_place = true;
        self
    }

    /// Returns whether it runs in a place that no other case has used; queries read what is stored under all ids.
    pub(crate) fn is_in_fresh_place(&self) -> bool {
        let queries = |it| matches!(it, Capability::EventQueries | Capability::Queries);
        self.in_fresh_place || self.needs().any(queries)
    }

    /// Returns the capabilities that it needs.
    pub(crate) fn needs(&self) -> impl Iterator<Item = Capability> {
        self.needs.iter().flatten().copied()
    }

    /// Returns the case in the form that [`cases`](crate::cases) returns.
    pub(crate) fn info(&self, spec: &Spec<S>) -> CaseInfo {
        CaseInfo {
            name: format!("{}::{}", spec.name, self.name),
            clauses: self.clauses,
            spec_number: self.spec_number,
            needs: self.needs().map(Capability::name).collect(),
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

/// Returns a name with the prefix of its fixture, such as `proxied::journal_spec::keep_tags`.
pub(crate) fn prefixed(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}::{name}")
    }
}
