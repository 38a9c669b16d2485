//! Starts many actors at once, most of which fail, panic or stop, again and again, and sees that nothing of them stays.
//!
//! `torture worker storm ASSIGNMENT`, for the kind `storm`.

mod droplet;
mod leaks;

use std::cell::Cell;
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use actix_persistence::Config;
use actix_persistence::prelude::*;
use actix_persistence_history::{Answer, Done, Operation};
use anyhow::bail;
use fastrand::Rng;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::{Deserialize, Serialize};

use super::kept::{Change, Kept, kept_id};
use super::stream::{Stream, Write, stream_id};
use super::writers::tell_of_recovery;
use super::{Scribe, Told, count, fault, run_until_told, tell};
use crate::Line;
use crate::last_look::{LONGEST_BUSY, last_look};
use droplet::{Burst, Droplet, Fail, Fate, REFUSAL, Stop};
use leaks::Leaks;

/// The time within which some actor answers, as long as one has not, or all that are left hang.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time within which all actors are gone after the last answer.
const UNTIL_GONE: Duration = Duration::from_secs(30);
/// The time between two looks whether actors are gone.
const INTERVAL: Duration = Duration::from_millis(1);
/// The time for which the program waits in the end for requests that are under way.
const STOP_DEADLINE: Duration = Duration::from_secs(60);

/// The assignment of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// A file; none keeps everything in memory.
    pub(crate) config: Option<PathBuf>,
    /// The number of the process in the history.
    pub(crate) process: u32,
    pub(crate) seed: u64,
    /// The number of actors of a storm with events, and of those with a state.
    pub(crate) droplets: u32,
    pub(crate) kept: u32,
    /// The number of storms.
    pub(crate) storms: u32,
}

/// The end of a storm.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Over {
    pub(crate) actors: u64,
    /// The time from the first start until the last actor is gone.
    pub(crate) millis: u64,
    /// The memory that the process has, in KiB.
    pub(crate) memory: u64,
}

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [assignment] = arguments else {
        bail!("usage: torture worker storm ASSIGNMENT");
    };
    let assignment: Assignment = serde_json::from_str(assignment)?;
    be_silent_about_storms();
    run_until_told(async |told| {
        let mut builder = Persistence::builder();
        builder = match &assignment.config {
            Some(file) => builder.config(Config::from_file(file)?),
            None => builder
                .config(Config::from_toml(LIMITS, "torture")?)
                .memory(),
        };
        let persistence = builder.open().await?;
        persistence.ready().await?;
        let mut weather = Weather {
            calm: Rc::default(),
            scribe: Arc::new(Scribe::of(assignment.process)),
            rng: Rng::with_seed(assignment.seed),
            persistence,
            assignment,
        };
        weather.storms(&told).await
    })
}

/// Waits until everything that was asked is answered; false if nothing is any more.
async fn all_answer(mut asked: FuturesUnordered<Asked>) -> bool {
    while !asked.is_empty() {
        let next = tokio::time::timeout(PATIENCE, asked.next());
        if next.await.is_err() {
            let left = asked.len();
            fault(format!(
                "{left} commands are not answered, and none was for {PATIENCE:?}"
            ));
            return false;
        }
    }
    true
}

/// The settings of few permits to recover for many actors at once, so that a permit that is not returned is missed.
pub(crate) const LIMITS: &str = "
[persistence]
max-concurrent-recoveries = 16
[persistence.back-off]
min = \"5ms\"
max = \"50ms\"
max-restarts = 3
";

/// The panics of a storm are no news.
fn be_silent_about_storms() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload_as_str();
        if text != Some(droplet::PANIC) {
            before(panic);
        }
    }));
}

/// The commands of actors to which nothing happens.
#[derive(Default)]
struct Calm {
    asked: Cell<u64>,
    stored: Cell<u64>,
}

struct Weather {
    assignment: Assignment,
    calm: Rc<Calm>,
    persistence: Persistence,
    scribe: Arc<Scribe>,
    rng: Rng,
}

fn stored(calm: Option<&Calm>) {
    count("stored");
    if let Some(calm) = calm {
        calm.stored.set(calm.stored.get() + 1);
    }
}

/// A call to an actor, whatever its answer.
type Asked = Pin<Box<dyn Future<Output = ()>>>;

impl Weather {
    async fn storms(&mut self, told: &Told) -> anyhow::Result<()> {
        let mut leaks = Leaks::default();
        for _ in 0..self.assignment.storms {
            if told.is_told() {
                break;
            }
            let began = Instant::now();
            let asked = self.let_loose();
            if !all_answer(asked).await || !self.all_are_gone().await {
                // Those that hang would be waited for.
                return Ok(());
            }
            let millis = began.elapsed().as_millis() as u64;
            let actors = u64::from(self.assignment.droplets + self.assignment.kept);
            let memory = leaks.look(actors)?;
            let over = Over {
                actors,
                millis,
                memory,
            };
            let other = serde_json::to_value(over)?;
            tell(&Line::Other { other });
        }
        self.check_the_calm();
        if self.assignment.config.is_none() {
            self.look_at_all().await;
        }
        let report = self.persistence.stop(STOP_DEADLINE).await;
        if !report.is_complete() {
            bail!("{report}");
        }
        Ok(())
    }

    /// Checks that an actor that does not fail does what it is asked, whatever happens to its neighbours; a database
    /// may be too busy.
    fn check_the_calm(&self) {
        let (asked, stored) = (self.calm.asked.get(), self.calm.stored.get());
        let least = match self.assignment.config {
            None => asked,
            Some(_) => asked / 10,
        };
        if stored < least {
            fault(format!(
                "of {asked} commands to actors that did not fail {stored} were stored"
            ));
        }
    }

    /// Starts all of them and asks them; no address is kept.
    fn let_loose(&mut self) -> FuturesUnordered<Asked> {
        let mut numbers: Vec<_> = (0..self.assignment.droplets)
            .map(|number| (true, number))
            .collect();
        numbers.extend((0..self.assignment.kept).map(|number| (false, number)));
        self.rng.shuffle(&mut numbers);
        let asked = FuturesUnordered::new();
        for (has_events, number) in numbers {
            match has_events {
                true => self.start_droplet(number, &asked),
                false => self.start_kept(number, &asked),
            }
        }
        asked
    }

    fn start_droplet(&mut self, number: u32, asked: &FuturesUnordered<Asked>) {
        let fate = Fate::of(&mut self.rng);
        let scribe = Arc::clone(&self.scribe);
        let started = self
            .persistence
            .start(move || Droplet::alive(number, fate, Arc::clone(&scribe)));
        let actor = match started {
            Ok(actor) => actor,
            Err(error) => return fault(error.to_string()),
        };
        count(fate.name());
        if fate == Fate::Idle {
            return;
        }
        asked.push(self.burst(&actor, fate));
        match fate {
            Fate::Fails => {
                let failed = actor.send(Fail);
                asked.push(Box::pin(async move {
                    match failed.await {
                        Ok(Err(refusal)) if refusal == REFUSAL => count("refused"),
                        Ok(other) => fault(format!("the error of a handler came as {other:?}")),
                        // A write before it failed.
                        Err(_) => count("closed"),
                    }
                }));
            }
            Fate::Stops => actor.do_send(Stop),
            _ => {}
        }
        let last = self.burst(&actor, fate);
        if fate == Fate::Abandoned {
            // The asker goes away at once.
            drop(last);
        } else {
            asked.push(last);
        }
    }

    fn burst(&mut self, actor: &Addr<Droplet>, fate: Fate) -> Asked {
        let calm = self.calm_of(fate == Fate::Calm);
        let uids = (0..self.rng.usize(1..=3)).map(|_| self.scribe.uid());
        let burst = actor.send(Burst(Write {
            uids: uids.collect(),
            asynchronously: self.rng.bool(),
        }));
        Box::pin(async move {
            match burst.await {
                Ok(Ok(_)) => stored(calm.as_deref()),
                Ok(Err(_)) => count("failed"),
                Err(_) => count("closed"),
            }
        })
    }

    /// A command to an actor to which nothing happens is to be stored.
    fn calm_of(&self, is_calm: bool) -> Option<Rc<Calm>> {
        is_calm.then(|| {
            self.calm.asked.set(self.calm.asked.get() + 1);
            Rc::clone(&self.calm)
        })
    }

    fn start_kept(&mut self, number: u32, asked: &FuturesUnordered<Asked>) {
        let scribe = Arc::clone(&self.scribe);
        let started = self
            .persistence
            .start(move || Kept::alive(number, Arc::clone(&scribe), tell_of_recovery));
        let actor = match started {
            Ok(actor) => actor,
            Err(error) => return fault(error.to_string()),
        };
        let stops = self.rng.bool();
        for nr in 0..2 {
            let change = actor.send(Change {
                uid: self.scribe.uid(),
                deletes: self.rng.u8(..4) == 0,
            });
            let calm = self.calm_of(!stops);
            asked.push(Box::pin(async move {
                match change.await {
                    Ok(Ok(_)) => stored(calm.as_deref()),
                    Ok(Err(_)) => count("failed"),
                    Err(_) => count("closed"),
                }
            }));
            if stops && nr == 0 {
                actor.do_send(Stop);
            }
        }
    }

    /// Waits until no id is live any more; false if one stays.
    async fn all_are_gone(&self) -> bool {
        let since = Instant::now();
        loop {
            let live = self.persistence.live_ids();
            if live.is_empty() {
                return true;
            }
            if since.elapsed() > UNTIL_GONE {
                let (count, first) = (live.len(), &live[0]);
                fault(format!(
                    "{count} ids are live {UNTIL_GONE:?} after the last address was dropped, such as {first}"
                ));
                return false;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Reports all that is stored in the end, where there is no other way to see it.
    async fn look_at_all(&self) {
        let again = |_: &_| count("last looks begun again");
        for number in 0..self.assignment.droplets {
            let id = stream_id(number).to_string();
            let call = self.scribe.invoke(Operation::Replay { id: id.clone() });
            let stream = || Stream::shown(number, None);
            match last_look(&self.persistence, LONGEST_BUSY, stream, again).await {
                Ok(mut replayed) => {
                    let seen = replayed.actor.recovered(replayed.sequence_nr);
                    let done = Done::Recovered(seen);
                    self.scribe.answer(call, Answer::Ok(done));
                }
                Err(error) => fault(format!("in the end {id}: {error}")),
            }
        }
        for number in 0..self.assignment.kept {
            let id = kept_id(number).to_string();
            let call = self.scribe.invoke(Operation::Load {
                id: id.clone(),
                incarnation: None,
            });
            let kept = || Kept::shown(number);
            match last_look(&self.persistence, LONGEST_BUSY, kept, again).await {
                Ok(replayed) => {
                    let loaded = replayed.actor.loaded(replayed.sequence_nr);
                    self.scribe.answer(call, Answer::Ok(loaded));
                }
                Err(error) => fault(format!("in the end {id}: {error}")),
            }
        }
    }
}
