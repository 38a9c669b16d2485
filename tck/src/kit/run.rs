//! The run of one case, from prepared to done.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use tokio::runtime::Handle;

use crate::capability::Capability;
use crate::case::{CaseFuture, CaseInfo};
use crate::failure::{CaseResult, Failure};

/// A case and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaseReport {
    /// The name, with the prefix of its fixture.
    pub name: String,
    /// The outcome of the case.
    pub outcome: CaseOutcome,
}

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseOutcome {
    /// The store keeps the clauses.
    Passed,
    /// The store does not declare the capability that the case needs.
    Ignored,
    /// The store breaks a clause: which, what was expected and what was found.
    Failed(String),
}

/// A case that only has to be started.
pub(super) struct Prepared {
    pub(super) name: String,
    /// The case itself; `None` for the kit's own checks.
    pub(super) info: Option<CaseInfo>,
    /// The capability that the case needs and the store does not declare.
    pub(super) missing: Option<Capability>,
    pub(super) run: Box<dyn FnOnce() -> CaseFuture + Send>,
}

impl Prepared {
    pub(super) fn is_ignored(&self) -> bool {
        self.missing.is_some()
    }

    /// Returns whether the case cites one of the clauses; the kit's own checks count as if they did.
    pub(super) fn cites_any(&self, clauses: &[&str]) -> bool {
        let info = self.info.as_ref();
        info.is_none_or(|info| info.clauses.iter().any(|clause| clauses.contains(clause)))
    }

    pub(super) fn report(self, runtime: &Handle, limit: Duration) -> CaseReport {
        let name = self.name.clone();
        let outcome = if self.is_ignored() {
            CaseOutcome::Ignored
        } else {
            match execute(self, runtime, limit) {
                Ok(()) => CaseOutcome::Passed,
                Err(text) => CaseOutcome::Failed(text),
            }
        };
        CaseReport { name, outcome }
    }
}

/// Runs the case as a task of its own, so that a panic or a hang of the store fails this case alone.
///
/// The calling thread waits without the runtime's timer, which a store that blocks every thread would stop.
pub(super) fn execute(prepared: Prepared, runtime: &Handle, limit: Duration) -> Result<(), String> {
    if let Some(capability) = prepared.missing {
        return Err(format!(
            "needs the capability {capability}, which the store does not declare"
        ));
    }
    let (done, result) = channel();
    let case = runtime.spawn((prepared.run)());
    let abort = case.abort_handle();
    runtime.spawn(async move { done.send(case.await) });
    let result = match result.recv_timeout(limit) {
        Ok(Ok(result)) => result,
        Ok(Err(error)) => Err(Failure::of_task(error)),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            abort.abort();
            let text = format!("expected an end within {limit:?}, but the case is still running");
            Err(Failure::without_location(text))
        }
    };
    explain(result, prepared.info.as_ref())
}

fn explain(result: CaseResult, info: Option<&CaseInfo>) -> Result<(), String> {
    result.map_err(|failure| match info {
        Some(info) => {
            let number = info.spec_number.map(|number| format!(" ({number})"));
            format!(
                "breaks {}{}\n{failure}",
                info.clauses.join(", "),
                number.unwrap_or_default()
            )
        }
        None => failure.to_string(),
    })
}
