//! A journal in memory that keeps recoveries waiting where a test wants it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{SequenceNr, StorageError};
use actix_persistence_testkit::{Hook, Intercepted, JournalAnswer, JournalCall, Journals, Next};
use async_trait::async_trait;
use tokio::sync::watch;

/// The calls that do not return until another choice is made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stall {
    Nothing,
    TakeOvers,
    /// The same of one id.
    TakeOversOf(&'static str),
    /// Pages that begin at this number or above.
    PagesFrom(SequenceNr),
}

pub(crate) type Stalling = Intercepted<Journals, StallingJournal>;

pub(crate) struct StallingJournal {
    stall: watch::Sender<Stall>,
    /// The time that each page takes anyway.
    page_takes: Duration,
    pages: AtomicUsize,
    /// Blocks whole threads while calls stall, instead of futures; until the other end is dropped.
    blocked: Option<Mutex<mpsc::Receiver<()>>>,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
}

impl StallingJournal {
    pub(crate) fn new(inner: MemoryJournal, stall: Stall) -> Arc<Stalling> {
        Self::slow(inner, stall, Duration::ZERO)
    }

    pub(crate) fn slow(inner: MemoryJournal, stall: Stall, page_takes: Duration) -> Arc<Stalling> {
        Arc::new(Self::made(inner, stall, page_takes, None))
    }

    /// Calls that stall block their thread, until the other end is dropped.
    pub(crate) fn blocking(
        inner: MemoryJournal,
        stall: Stall,
        until: mpsc::Receiver<()>,
    ) -> Arc<Stalling> {
        let blocked = Some(Mutex::new(until));
        Arc::new(Self::made(inner, stall, Duration::ZERO, blocked))
    }

    fn made(
        inner: MemoryJournal,
        stall: Stall,
        page_takes: Duration,
        blocked: Option<Mutex<mpsc::Receiver<()>>>,
    ) -> Stalling {
        let hook = Self {
            stall: watch::Sender::new(stall),
            page_takes,
            blocked,
            pages: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
        };
        Intercepted::journal_with(inner, hook)
    }

    pub(crate) fn set(&self, stall: Stall) {
        self.stall.send_replace(stall);
    }

    /// Returns the number of pages asked for so far.
    pub(crate) fn pages(&self) -> usize {
        self.pages.load(Ordering::Relaxed)
    }

    /// The most pages that were being read at once.
    pub(crate) fn most_pages_at_once(&self) -> usize {
        self.most_in_flight.load(Ordering::Relaxed)
    }

    async fn wait_while(&self, stalled: impl Fn(&Stall) -> bool) {
        if let Some(blocked) = &self.blocked
            && stalled(&self.stall.borrow())
        {
            let _ = blocked.lock().unwrap().recv();
        }
        let mut stall = self.stall.subscribe();
        let _ = stall.wait_for(|stall| !stalled(stall)).await;
    }
}

#[async_trait]
impl Hook<Journals> for StallingJournal {
    async fn call(
        &self,
        call: JournalCall,
        next: Next<Journals>,
    ) -> Result<JournalAnswer, StorageError> {
        match &call {
            JournalCall::ReadHead { persistence_id } => {
                let id = persistence_id.as_str();
                self.wait_while(|stall| match *stall {
                    Stall::TakeOvers => true,
                    Stall::TakeOversOf(stalled) => stalled == id,
                    Stall::Nothing | Stall::PagesFrom(_) => false,
                })
                .await;
            }
            JournalCall::Ping | JournalCall::TakeOver { .. } => {
                self.wait_while(|stall| matches!(stall, Stall::TakeOvers))
                    .await;
            }
            JournalCall::ReplayMessages { range, .. } => {
                self.pages.fetch_add(1, Ordering::Relaxed);
                let now = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
                self.most_in_flight.fetch_max(now, Ordering::Relaxed);
                self.wait_while(|stall| matches!(stall, Stall::PagesFrom(nr) if range.from >= *nr))
                    .await;
                tokio::time::sleep(self.page_takes).await;
                let page = next.run(call).await;
                self.in_flight.fetch_sub(1, Ordering::Relaxed);
                return page;
            }
            _ => {}
        }
        next.run(call).await
    }
}
