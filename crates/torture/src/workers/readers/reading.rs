//! Reads what has changed, without a pause, from an offset on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_persistence::query::{Changed, QueryError, QuerySettings, StateOffset};
use actix_persistence::storage_api::{StateChangesQuery, StorageError};
use actix_persistence_history::{Entry, Page, Record, Uid, What};
use anyhow::{Context, anyhow};
use fastrand::Rng;
use futures_util::{FutureExt, StreamExt};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::{How, Process, Reading, Told, lists, number_of};
use crate::workers::kept::KeptState;
use crate::workers::{count, fault, tell};
use crate::{Line, clock};

/// The time for which a reader waits after trouble that waiting cures.
const AFTER_TROUBLE: Duration = Duration::from_millis(20);
/// A reader is shown the last change within this time after it was stored.
const PATIENCE: Duration = Duration::from_secs(40);
/// The time for which a live query is asked before a look whether the process is to end.
const LIVE_WAIT: Duration = Duration::from_millis(50);
/// The share of looks at which a live query is begun anew at its offset: one in this many.
const BEGUN_ANEW: u32 = 50;
/// The largest number of changes of a live query that are reported at once.
const MOST_AT_ONCE: usize = 64;

pub(super) fn start(
    process: &Arc<Process>,
    runtime: &Runtime,
    seed: u64,
    readings: Vec<Reading>,
) -> Vec<JoinHandle<anyhow::Result<()>>> {
    let mut rng = Rng::with_seed(seed);
    let mut tasks: Vec<_> = readings
        .into_iter()
        .map(|reading| {
            let reader = Reader {
                process: Arc::clone(process),
                offset: StateOffset::start(),
                rng: rng.fork(),
                pages: 0,
                was_shown_the_mark: reading.mark.is_empty(),
                reading,
            };
            runtime.spawn(reader.read())
        })
        .collect();
    tasks.push(runtime.spawn(lists::list(Arc::clone(process), rng)));
    tasks
}

struct Reader {
    process: Arc<Process>,
    reading: Reading,
    offset: StateOffset,
    rng: Rng,
    pages: u64,
    was_shown_the_mark: bool,
}

/// Changes that were shown at once.
#[derive(Default)]
struct Shown {
    entries: Vec<Entry>,
    offset: StateOffset,
    ended: bool,
}

impl Shown {
    fn take(&mut self, change: &Changed<KeptState>) {
        self.entries.push(Entry {
            id: change.persistence_id().to_string(),
            number: change.revision(),
            uid: change.state().map(|state| Uid(state.uid)),
        });
        self.offset = change.offset().clone();
    }
}

impl Reader {
    /// Reads until the process is asked to end, and then until it has seen all there is.
    async fn read(mut self) -> anyhow::Result<()> {
        self.offset = offset_of(&self.reading.offset)?;
        if self.reading.how == How::Live {
            self.read_live().await?;
        }
        let mut told = None;
        loop {
            let is_last = self.process.is_told_to_end();
            if is_last && told.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                let Reading { mark, slices, .. } = &self.reading;
                fault(format!(
                    "a reader of the slices {slices:?} is not shown {mark:?} {PATIENCE:?} after it was stored"
                ));
                return Ok(());
            }
            let asked_at = clock::now();
            let shown = match self.reading.how {
                How::Pages => self.page().await,
                How::Current | How::Live => self.current().await,
            };
            let Some(shown) = shown? else {
                sleep(AFTER_TROUBLE).await;
                continue;
            };
            let ended = shown.ended;
            self.show(asked_at, shown);
            if is_last && ended && self.was_shown_the_mark {
                let reader = self.reading.number;
                self.process.scribe.say(What::CaughtUp { reader, asked_at });
                return Ok(());
            }
        }
    }

    /// Returns a page of the store; `None` if it has to be asked again.
    async fn page(&mut self) -> anyhow::Result<Option<Shown>> {
        let store = self.process.persistence.states(None)?;
        let queries = store.queries().context("the store has no queries")?;
        let limit = self.rng.usize(1..=self.reading.page);
        let query = StateChangesQuery::new(self.reading.entity_type.as_str(), limit)
            .of_slices(self.reading.slices())
            .after(self.offset.clone());
        let page = match queries.changes(query).await {
            Ok(page) => page,
            Err(error) => return trouble(error),
        };
        let mut shown = Shown::default();
        for change in page.changes {
            let state = change.current.state.as_ref();
            let state = state.map(|state| actix_persistence::payload::decode_state(&state.payload));
            let state: Option<KeptState> = state.transpose()?;
            shown.entries.push(Entry {
                id: change.persistence_id.to_string(),
                number: change.current.revision,
                uid: state.map(|state| Uid(state.uid)),
            });
        }
        shown.offset = page.offset;
        shown.ended = !page.more;
        Ok(Some(shown))
    }

    /// Returns what the query returns until it ends; what it returned before trouble, or `None` if that is nothing.
    async fn current(&mut self) -> anyhow::Result<Option<Shown>> {
        let settings = QuerySettings::default().with_page_size(self.reading.page);
        let queries = self
            .process
            .persistence
            .state_queries_with(None, settings)?;
        let Reading { entity_type, .. } = &self.reading;
        let mut changes = queries.current_changes_by_slices::<KeptState>(
            entity_type,
            self.reading.slices(),
            self.offset.clone(),
        );
        let mut shown = Shown {
            offset: self.offset.clone(),
            ..Shown::default()
        };
        loop {
            match changes.next().await {
                Some(Ok(change)) => shown.take(&change),
                Some(Err(QueryError::Store(error))) => {
                    let _: Option<()> = trouble(error)?;
                    return Ok(Some(shown).filter(|shown| !shown.entries.is_empty()));
                }
                Some(Err(error)) => return Err(error.into()),
                None => {
                    shown.ended = true;
                    return Ok(Some(shown));
                }
            }
        }
    }

    /// Takes what the live query returns, until the process is asked to end.
    async fn read_live(&mut self) -> anyhow::Result<()> {
        let settings = QuerySettings::default()
            .with_page_size(self.reading.page)
            .with_max_back_off(Duration::from_millis(200))
            .with_refresh_interval(Duration::from_millis(self.rng.u64(1..=50)));
        let queries = self
            .process
            .persistence
            .state_queries_with(None, settings)?;
        while !self.process.is_told_to_end() {
            let mut changes = queries.changes_by_slices::<KeptState>(
                &self.reading.entity_type,
                self.reading.slices(),
                self.offset.clone(),
            );
            let asked_at = clock::now();
            while !self.process.is_told_to_end() && self.rng.u32(..BEGUN_ANEW) > 0 {
                let Ok(next) = timeout(LIVE_WAIT, changes.next()).await else {
                    continue;
                };
                let mut shown = Shown::default();
                let mut next = Some(next);
                while let Some(change) = next.take() {
                    let change = change.ok_or_else(|| anyhow!("a live query has ended"))?;
                    shown.take(&change?);
                    if shown.entries.len() < MOST_AT_ONCE {
                        next = changes.next().now_or_never();
                    }
                }
                self.show(asked_at, shown);
            }
        }
        Ok(())
    }

    /// Reports what was shown, and goes on after it, from the text of the offset.
    fn show(&mut self, asked_at: u64, shown: Shown) {
        let Shown {
            entries,
            offset,
            ended,
        } = shown;
        let number = number_of(&offset);
        let offset = offset.to_string();
        match offset_of(&offset) {
            Ok(offset) => self.offset = offset,
            Err(error) => fault(error.to_string()),
        }
        self.pages += 1;
        if entries.is_empty() {
            return;
        }
        self.was_shown_the_mark |= entries.iter().any(|entry| entry.id == self.reading.mark);
        let reader = self.reading.number;
        let told = Told {
            reader,
            record: Record {
                at: clock::now(),
                process: self.process.scribe.process(),
                what: What::Shown {
                    reader,
                    asked_at,
                    page: Page {
                        offset: number,
                        entries,
                        ended,
                    },
                },
            },
            offset,
            pages: std::mem::take(&mut self.pages),
        };
        match serde_json::to_value(told) {
            Ok(other) => tell(&Line::Other { other }),
            Err(error) => fault(error.to_string()),
        }
    }
}

fn offset_of(text: &str) -> anyhow::Result<StateOffset> {
    let offset = text.parse();
    offset.with_context(|| format!("{text:?} was the text of an offset"))
}

/// Trouble of the database is waited for; anything else is the end.
fn trouble<T>(error: StorageError) -> anyhow::Result<Option<T>> {
    if !error.kind().is_transient() {
        return Err(error.into());
    }
    count("reads begun again");
    Ok(None)
}
