//! The rounds of a work on one journal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_persistence_storage_api::{Journal, PersistenceId};

use super::Scale;
use super::calls::{Calls, Lane};
use super::events::Events;
use super::pages::recovered;
use super::watch::Steps;
use super::works::{Load, Work};
use crate::capability::Capability;
use crate::failure::{CaseResult, Failure};
use crate::journal_steps::expect_stored;
use crate::parallel::in_parallel;
use crate::site::Create;
use crate::subject::{Subject, UnderTest};
use crate::writer::Writer;

/// The part of a work that was measured.
pub(super) enum Measured {
    /// Every round.
    All,
    /// Nothing, because the journal does not declare this capability.
    Nothing(Capability),
}

/// Prepares the work in a fresh place, warms up, and does its rounds; each of them is a step.
pub(super) async fn measure(
    work: &'static Work,
    scale: Scale,
    create: Create<dyn Journal>,
    steps: Steps,
) -> Result<Measured, Failure> {
    let subject = Subject::<dyn Journal>::open(create(true).await).await?;
    let missing = work
        .needs()
        .filter(|&needed| !subject.store().declares(needed));
    if let Some(missing) = missing {
        return Ok(Measured::Nothing(missing));
    }
    let capabilities = subject.store().capabilities();
    // Dropped before the subject, and with it the place, is.
    let load = LoadOnJournal {
        events: Events::of_at_most(capabilities.max_event_bytes),
        events_of_an_id: work.events_of_an_id(scale.events),
        work,
        journal: subject.share(),
    };
    let stored = load.stored_before().await?;
    steps.ended(Duration::ZERO);
    for _ in 0..=scale.rounds {
        steps.ended(load.round(&stored).await?);
    }
    Ok(Measured::All)
}

/// A work, with the journal that does it.
struct LoadOnJournal {
    work: &'static Work,
    journal: Arc<dyn Journal>,
    events: Events,
    events_of_an_id: u64,
}

impl LoadOnJournal {
    /// Stores what the rounds read, and returns the ids; those of a round that writes are its own.
    async fn stored_before(&self) -> Result<Vec<PersistenceId>, Failure> {
        match self.work.load {
            Load::Write { .. } => Ok(Vec::new()),
            Load::Recover => {
                let writers = self.writers().await?;
                self.write(self.lanes(&writers, 1, Calls::Full)).await?;
                Ok(ids(writers))
            }
        }
    }

    /// Does one round, checks what it has done, and returns its time without that of the check.
    async fn round(&self, stored: &[PersistenceId]) -> Result<Duration, Failure> {
        match self.work.load {
            Load::Write { events, calls } => {
                let writers = self.writers().await?;
                let time = self.write(self.lanes(&writers, events, calls)).await?;
                self.recover(&ids(writers)).await?;
                Ok(time)
            }
            Load::Recover => self.recover(stored).await,
        }
    }

    /// Returns writers that have taken over ids of their own.
    async fn writers(&self) -> Result<Vec<Writer>, Failure> {
        let mut writers = Vec::new();
        for _ in 0..self.work.ids {
            writers.push(Writer::of_fresh_id(&*self.journal).await?);
        }
        Ok(writers)
    }

    fn lanes(&self, writers: &[Writer], events_a_write: usize, calls: Calls) -> Vec<Lane> {
        let writes = |writer| {
            let count = self.events_of_an_id;
            self.events.writes(writer, count, events_a_write)
        };
        let ids = writers.iter().map(writes).collect();
        calls.lanes(ids, &self.journal.capabilities())
    }

    /// Writes all lanes at the same time, and returns how long that took; everything must be stored.
    async fn write(&self, lanes: Vec<Lane>) -> Result<Duration, Failure> {
        let lanes = lanes.into_iter().map(|lane| {
            let journal = Arc::clone(&self.journal);
            async move {
                for call in lane {
                    expect_stored(&*journal, call).await?;
                }
                CaseResult::Ok(())
            }
        });
        let begin = Instant::now();
        in_parallel(lanes).await?;
        Ok(begin.elapsed())
    }

    /// Recovers all ids at the same time, and returns how long that took; every event must be there.
    async fn recover(&self, ids: &[PersistenceId]) -> Result<Duration, Failure> {
        let recoveries = ids.iter().map(|id| {
            let (journal, id) = (Arc::clone(&self.journal), id.clone());
            async move { recovered(&*journal, &id).await }
        });
        let begin = Instant::now();
        let found = in_parallel(recoveries).await?;
        let time = begin.elapsed();
        for (id, found) in ids.iter().zip(&found) {
            self.events.expect_all(id, found, self.events_of_an_id)?;
        }
        Ok(time)
    }
}

fn ids(writers: Vec<Writer>) -> Vec<PersistenceId> {
    writers.into_iter().map(|writer| writer.id).collect()
}
