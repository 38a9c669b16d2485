//! Follows the changes of states, and lives by a timer, while its wall clock jumps.
//!
//! `torture worker clock reads READING`; with an assignment alone it writes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::storage_api::{NUMBER_OF_SLICES, StateOffset, Timestamp};
use actix_persistence::{
    Config, EventMeta, Revision,
    query::{Changed, DurableStateQuery, QueryError},
};
use actix_persistence_history::{Entry, Page, Uid, What};
use anyhow::Context as _;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

use super::kept::{Kept, KeptState, Noted, kept_id};
use super::stream::Written;
use super::{Scribe, Told, count, fault, run_until_told, writers};
use crate::clock;
use crate::kinds::files::shim::CLOCK;
use crate::last_look::{LONGEST_BUSY, last_look};

/// The first argument of a process that reads.
pub(crate) const READS: &str = "reads";
/// The time between two ticks of a timer.
const TICK: Duration = Duration::from_millis(50);
/// The time within which a timer ticks again, on a loaded machine.
const LONGEST_SILENCE: Duration = Duration::from_secs(45);
/// The largest error of the time that a process believes in, in nanoseconds.
const PRECISION: i128 = 1_000_000_000;
/// The time between two looks for changes.
const PAUSE: Duration = Duration::from_millis(5);
/// The last changes are shown within this time after they were stored: transactions of others may hold them back.
const PATIENCE: Duration = Duration::from_secs(30);

/// The assignment of a process that reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// The path of the config file.
    pub(crate) config: PathBuf,
    /// The number of the process in the history.
    pub(crate) process: u32,
    /// The number of states there are.
    pub(crate) states: u32,
}

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    check_that_the_clock_is_moved()?;
    match arguments {
        [word, reading] if word == READS => {
            let reading: Reading = serde_json::from_str(reading)?;
            run_until_told(async |told| read_until(told, reading).await)
        }
        _ => writers::work(arguments),
    }
}

/// A clock that does not jump would let everything pass.
fn check_that_the_clock_is_moved() -> anyhow::Result<()> {
    let file = std::env::var_os(CLOCK).context("there is no clock")?;
    let moved_by = || {
        let bytes = std::fs::read(&file)?;
        let nanos = i64::from_ne_bytes(bytes.try_into().ok().context("a clock has 8 bytes")?);
        anyhow::Ok(i128::from(nanos))
    };
    let (moved, before) = (moved_by()?, clock::of_the_machine());
    let believed = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_nanos() as i128,
        Err(error) => -(error.duration().as_nanos() as i128),
    };
    let after = clock::of_the_machine();
    let right = before + moved - PRECISION..=after + moved + PRECISION;
    // The driver may have moved it meanwhile.
    if !right.contains(&believed) && moved_by()? == moved {
        fault(format!(
            "the clock of the process is to be {moved} ns from that of the machine, and is {} ns from it",
            believed - after
        ));
    }
    Ok(())
}

async fn read_until(told: Told, reading: Reading) -> anyhow::Result<()> {
    let config = Config::from_file(&reading.config)?;
    let builder = Persistence::builder().config(config);
    let persistence = builder.change_handler("noted", Noted).open().await?;
    let ticks = Rc::new(RefCell::new(Ticks::default()));
    let ticker = {
        let (process, ticks) = (reading.process, Rc::clone(&ticks));
        persistence.start(move || Ticker {
            process,
            ticks: Rc::clone(&ticks),
        })?
    };
    let scribe = Scribe::of(reading.process);
    let mut reader = Reader {
        number: u64::from(reading.process),
        queries: persistence.state_queries(None)?,
        offset: StateOffset::start(),
        seen: HashMap::new(),
        scribe,
    };
    reader.scribe.say(What::ReaderOpened {
        reader: reader.number,
        query: "changes of Kept".to_owned(),
        every: false,
        ids: None,
        prefix: String::new(),
        continues: None,
    });
    while !told.is_told() {
        reader.look().await;
        ticks.borrow().check();
        tokio::time::sleep(PAUSE).await;
    }
    // No process writes any more.
    let since = Instant::now();
    let ticks_before = ticks.borrow().count;
    while ticks.borrow().count == ticks_before {
        if since.elapsed() > LONGEST_SILENCE {
            fault(format!(
                "a timer of {TICK:?} is silent for {LONGEST_SILENCE:?} after {ticks_before} ticks"
            ));
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    let since = Instant::now();
    loop {
        let asked_at = clock::now();
        reader.look().await;
        if since.elapsed() > PATIENCE || reader.has_all(&persistence, reading.states).await? {
            let reader_number = reader.number;
            reader.scribe.say(What::CaughtUp {
                reader: reader_number,
                asked_at,
            });
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    drop(ticker);
    let report = persistence.stop(PATIENCE).await;
    anyhow::ensure!(report.is_complete(), "{report}");
    Ok(())
}

/// Follows all changes, and goes on from the last one.
struct Reader {
    number: u64,
    queries: DurableStateQuery,
    offset: StateOffset,
    /// The last change of each id.
    seen: HashMap<String, (Revision, Timestamp)>,
    scribe: Scribe,
}

impl Reader {
    /// Takes what has changed since.
    async fn look(&mut self) {
        let asked_at = clock::now();
        let slices = 0..=NUMBER_OF_SLICES - 1;
        let mut changes = self.queries.current_changes_by_slices::<KeptState>(
            "Kept",
            slices,
            self.offset.clone(),
        );
        let mut entries = Vec::new();
        let mut ended = true;
        while let Some(changed) = changes.next().await {
            match changed {
                Ok(changed) => {
                    self.offset = changed.offset().clone();
                    self.check_time(&changed);
                    entries.push(Entry {
                        id: changed.persistence_id().to_string(),
                        number: changed.revision(),
                        uid: changed.state().map(|state| Uid(state.uid)),
                    });
                }
                Err(error) => {
                    let is_busy = match &error {
                        QueryError::Store(error) => error.kind().is_transient(),
                        _ => false,
                    };
                    if !is_busy {
                        fault(format!("changes cannot be read: {error}"));
                    }
                    eprintln!("changes: {error}");
                    count("looks for changes that failed");
                    ended = false;
                    break;
                }
            }
        }
        if !entries.is_empty() {
            let (reader, offset) = (self.number, None);
            let page = Page {
                offset,
                entries,
                ended,
            };
            self.scribe.say(What::Shown {
                reader,
                asked_at,
                page,
            });
        }
    }

    /// A state is later with each revision, even if the clock was set back.
    fn check_time(&mut self, changed: &Changed<KeptState>) {
        let time = match changed {
            Changed::Updated(updated) => updated.timestamp,
            Changed::Deleted(deleted) => deleted.timestamp,
            _ => return,
        };
        let (id, revision) = (changed.persistence_id().to_string(), changed.revision());
        if let Some((before, earlier)) = self.seen.insert(id.clone(), (revision, time))
            && revision > before
            && time <= earlier
        {
            fault(format!(
                "revision {before} of {id} is of {earlier:?}, and revision {revision} of {time:?}"
            ));
        }
    }

    /// Returns whether the last change of every state was shown.
    async fn has_all(&self, persistence: &Persistence, states: u32) -> anyhow::Result<bool> {
        for number in 0..states {
            let id = kept_id(number).to_string();
            let again = |_: &_| count("last looks begun again");
            let look = last_look(persistence, LONGEST_BUSY, || Kept::shown(number), again);
            let stored = look.await?.sequence_nr;
            let seen = self.seen.get(&id).map_or(0, |seen| seen.0);
            if seen < stored {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The ticks of a timer, by a clock that never jumps.
#[derive(Default)]
struct Ticks {
    count: u64,
    /// The time at which the first timer was set.
    since: Option<Instant>,
    /// The number of timers there were.
    timers: u64,
}

impl Ticks {
    fn set(&mut self) {
        self.timers += 1;
        self.since.get_or_insert_with(Instant::now);
    }

    fn tick(&mut self) {
        self.count += 1;
        count("ticks");
    }

    fn check(&self) {
        let Some(since) = self.since else {
            return;
        };
        let elapsed = since.elapsed();
        // Ticks that were missed are made up for.
        let most = elapsed.as_millis() / TICK.as_millis() + u128::from(self.timers);
        if u128::from(self.count) > most {
            fault(format!(
                "a timer of {TICK:?} has ticked {} times in {elapsed:?}",
                self.count
            ));
        }
    }
}

/// Lives by its timer: each tick is an event.
struct Ticker {
    process: u32,
    ticks: Rc<RefCell<Ticks>>,
}

impl Actor for Ticker {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Ticker {
    type Event = Written;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Ticker", &self.process.to_string())
    }

    fn on_event(&mut self, _: &Written) {}

    fn on_event_at(&mut self, _: &Written, meta: &EventMeta) {
        if !meta.replayed {
            self.ticks.borrow_mut().tick();
        }
    }

    fn on_recovery_completed(&mut self, ctx: &mut PersistentContext<Self>) {
        self.ticks.borrow_mut().set();
        ctx.run_interval(TICK, |_, ctx| ctx.persist(Written { uid: 0 }).detach());
    }
}
