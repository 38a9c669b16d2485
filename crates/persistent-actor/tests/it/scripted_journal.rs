//! A journal in memory whose next answers a test decides.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    JournalCapabilities, StorageError, StorageErrorKind, WriteOutcome,
};
use actix_persistence_testkit::{
    Fault, Hook, Intercepted, JournalAnswer, JournalCall, Journals, Next as Rest, Verdict,
};
use async_trait::async_trait;
use tokio::sync::Semaphore;

/// The fate of the next call of `write_messages`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// Rejects every write with this many events, and stores the others.
    RejectWritesOf(usize),
    /// Stores nothing and says so.
    FailNotStored,
    /// Stores everything and says that it does not know.
    StoreButFailUnknown,
    /// Skips everything, for no reason.
    Skip,
    Panic,
}

pub(crate) type Scripted = Intercepted<Journals, ScriptedJournal>;

pub(crate) struct ScriptedJournal {
    script: Mutex<VecDeque<Next>>,
    /// One permit lets one write go on; closed to let all pass.
    gate: Semaphore,
    /// The numbers of events in each write of each call, in order.
    calls: Mutex<Vec<Vec<usize>>>,
    recoveries_to_fail: Mutex<usize>,
    /// True if it does not answer.
    away: AtomicBool,
}

impl ScriptedJournal {
    /// Lets every write pass until told otherwise.
    pub(crate) fn new(inner: MemoryJournal) -> Arc<Scripted> {
        let journal = Self::held(inner);
        journal.gate.close();
        journal
    }

    pub(crate) fn with_capabilities(
        inner: MemoryJournal,
        capabilities: JournalCapabilities,
    ) -> Arc<Scripted> {
        let journal = Self::around(inner).with_capabilities(capabilities);
        journal.gate.close();
        Arc::new(journal)
    }

    /// Holds back every write until [`release`](Self::release).
    pub(crate) fn held(inner: MemoryJournal) -> Arc<Scripted> {
        Arc::new(Self::around(inner))
    }

    fn around(inner: MemoryJournal) -> Scripted {
        let hook = Self {
            script: Mutex::default(),
            gate: Semaphore::new(0),
            calls: Mutex::default(),
            recoveries_to_fail: Mutex::default(),
            away: AtomicBool::default(),
        };
        Intercepted::journal_with(inner, hook)
    }

    /// Lets this many held writes go on.
    pub(crate) fn release(&self, writes: usize) {
        self.gate.add_permits(writes);
    }

    pub(crate) fn next(&self, next: Next) {
        self.script.lock().unwrap().push_back(next);
    }

    pub(crate) fn fail_recoveries(&self, count: usize) {
        *self.recoveries_to_fail.lock().unwrap() = count;
    }

    /// Lets every call fail until it is back.
    pub(crate) fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::Relaxed);
    }

    /// The numbers of events in each write of each call so far.
    pub(crate) fn calls(&self) -> Vec<Vec<usize>> {
        self.calls.lock().unwrap().clone()
    }
}

#[async_trait]
impl Hook<Journals> for ScriptedJournal {
    async fn call(
        &self,
        call: JournalCall,
        rest: Rest<Journals>,
    ) -> Result<JournalAnswer, StorageError> {
        let unavailable = Fault::new(StorageErrorKind::Unavailable);
        match &call {
            JournalCall::Ping
            | JournalCall::ReadHead { .. }
            | JournalCall::TakeOver { .. }
            | JournalCall::WriteMessages { .. }
            | JournalCall::ReplayMessages { .. }
                if self.away.load(Ordering::Relaxed) =>
            {
                return Err(unavailable.of(&call));
            }
            // It is not back before all recoveries have failed that are to.
            JournalCall::Ping => {
                if *self.recoveries_to_fail.lock().unwrap() > 0 {
                    return Err(unavailable.of(&call));
                }
                return Ok(JournalAnswer::Done);
            }
            JournalCall::ReadHead { .. } | JournalCall::TakeOver { .. } => {
                let mut left = self.recoveries_to_fail.lock().unwrap();
                if *left > 0 {
                    *left -= 1;
                    return Err(unavailable.with_unknown_effect().of(&call));
                }
            }
            JournalCall::WriteMessages { .. } => return self.write(call, rest).await,
            _ => {}
        }
        rest.run(call).await
    }
}

impl ScriptedJournal {
    async fn write(
        &self,
        call: JournalCall,
        rest: Rest<Journals>,
    ) -> Result<JournalAnswer, StorageError> {
        let writes = call.writes();
        let skipped = vec![WriteOutcome::Skipped; writes.len()];
        let sizes = writes.iter().map(|write| write.events().len()).collect();
        self.calls.lock().unwrap().push(sizes);
        if let Ok(permit) = self.gate.acquire().await {
            permit.forget();
        }
        let next = self.script.lock().unwrap().pop_front();
        let verdict = match next {
            None => Verdict::Pass,
            Some(Next::FailNotStored) => Verdict::fail(StorageErrorKind::Backend),
            Some(Next::StoreButFailUnknown) => Verdict::store_but_fail(StorageErrorKind::Backend),
            Some(Next::Skip) => Verdict::Answer(JournalAnswer::Outcomes(skipped)),
            Some(Next::Panic) => Verdict::Panic("scripted".to_owned()),
            Some(Next::RejectWritesOf(size)) => {
                let too_large = Fault::new(StorageErrorKind::TooLarge);
                let has_size = |_, write: &actix_persistence_storage_api::AtomicWrite| {
                    write.events().len() == size
                };
                return rest.reject_writes(call, &too_large, has_size).await;
            }
        };
        verdict.carry_out(call, rest).await
    }
}
