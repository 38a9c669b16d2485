//! A journal that counts how many actors recover at once, and in which order.

use actix_persistence::storage_api::{PersistenceId, StorageError};
use actix_persistence_testkit::{Hook, JournalAnswer, JournalCall, Journals, Next, StoreCall};
use async_trait::async_trait;
use tokio::sync::watch;

/// The recoveries that the journal has seen.
#[derive(Default)]
pub(super) struct Seen {
    /// The ids in the order in which their recoveries reached the journal.
    pub(super) taken_over: Vec<PersistenceId>,
    /// The ids in the order in which their actors were told that the recovery is completed.
    pub(super) completed: Vec<PersistenceId>,
    /// The most recoveries that were under way at the same time.
    pub(super) peak: usize,
}

/// Sees recoveries begin in the journal and end in the actors.
pub(super) struct Watch {
    seen: watch::Sender<Seen>,
    permits: usize,
}

impl Watch {
    /// Lets no actor replay before this many recoveries were under way at the same time.
    pub(super) fn new(permits: usize) -> Self {
        Self {
            seen: watch::Sender::new(Seen::default()),
            permits,
        }
    }

    /// To be called by an actor that has recovered.
    pub(super) fn completed(&self, id: PersistenceId) {
        self.seen.send_modify(|seen| seen.completed.push(id));
    }

    /// Returns the recoveries seen so far.
    pub(super) fn seen(&self) -> watch::Ref<'_, Seen> {
        self.seen.borrow()
    }

    fn taken_over(&self, id: &PersistenceId) {
        self.seen.send_modify(|seen| {
            seen.taken_over.push(id.clone());
            let under_way = seen.taken_over.len() - seen.completed.len();
            seen.peak = seen.peak.max(under_way);
        });
    }

    async fn all_permits_in_use(&self) {
        let mut seen = self.seen.subscribe();
        let reached = seen.wait_for(|seen| seen.peak >= self.permits).await;
        reached.expect("the watch holds the sender");
    }
}

#[async_trait]
impl Hook<Journals> for Watch {
    async fn call(
        &self,
        call: JournalCall,
        next: Next<Journals>,
    ) -> Result<JournalAnswer, StorageError> {
        match &call {
            JournalCall::ReadHead { .. } | JournalCall::TakeOver { .. } => {
                let ids = call.persistence_ids().into_iter();
                ids.for_each(|id| self.taken_over(id));
            }
            JournalCall::ReplayMessages { .. } => self.all_permits_in_use().await,
            _ => {}
        }
        next.run(call).await
    }
}
