//! Processes that write to streams and states, as a kind drives them, and what is stored in the end.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_persistence::cleanup::{CleanupError, Numbers};
use actix_persistence::{Config, Persistence};
use actix_persistence_history::{
    Answer, Done, Invariant, Operation, ProcessEvent, Record, Row, Table, Uid, What, check,
};
use anyhow::Context;
use fastrand::Rng;
use serde::de::DeserializeOwned;

use crate::last_look::{LONGEST_BUSY, last_look, until_cured};
use crate::last_write::LastWrites;
use crate::workers::kept::{Kept, KeptState, Noted, kept_id, tables};
use crate::workers::stream::{Digest, Retaining, Stream, Written, stream_id};
use crate::workers::writers::Assignment;
use crate::{Backend, Chronicle, Line, Place, Run, Worker, block_on, open};

/// Makes processes wait for their database less patiently than by default, so that nothing lasts.
pub(crate) const IMPATIENT: &str = "
[persistence.back-off]
min = \"5ms\"
max = \"100ms\"
[persistence.journal-plugin-fallback.circuit-breaker]
reset-timeout = \"500ms\"
[persistence.snapshot-store-plugin-fallback.circuit-breaker]
reset-timeout = \"500ms\"
[persistence.state-plugin-fallback.circuit-breaker]
reset-timeout = \"500ms\"
";

/// The limits of statements on a server, shorter than by default.
pub(crate) const HURRY: &str = "statement-timeout = \"1s\"\nlock-timeout = \"500ms\"\n";

/// The bytes of snapshots that are saved each second: so few that saves wait for each other, or no limit.
const PACES: [u64; 2] = [1_000, 0];

/// The setting of the state store that names the handler of changes.
pub(crate) const HANDLER: &str = "change-handler.Kept = \"noted\"\n";

/// The number of streams and states, and whatever else the processes of one history share.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The number of actors with events.
    pub streams: u32,
    /// The number of actors with events that are asked nothing: they live by timers, streams and what they send to
    /// themselves. Their numbers come after those of the others.
    pub driven: u32,
    /// The number of actors with a state.
    pub states: u32,
    /// The deletes of the former; none if it is `None`.
    pub retaining: Option<Retaining>,
    /// The largest number of groups of commands that a client sends to an actor before it does something else with the
    /// id: looks at it, saves a snapshot, cleans it up or lets the actor end.
    pub longest_burst: u32,
    /// The longest time for which a client waits between two groups of commands.
    pub longest_pause: Duration,
}

/// A database, and all that is done to it.
pub struct Writers<'a> {
    run: &'a Run,
    /// The record of all that is done.
    pub chronicle: Chronicle,
    place: Place,
    scene: Scene,
    name: String,
    config: PathBuf,
    /// The number of calls of the driver itself.
    calls: AtomicU64,
}

/// Returns one of the paces as a section of a config, with a time-out whose half is over soon, or nothing for the default.
fn pace_of_snapshots(rng: &mut Rng) -> String {
    let pace = PACES.get(rng.usize(..=PACES.len()));
    pace.map_or_else(String::new, |pace| {
        format!(
            "[persistence.snapshot-store-plugin-fallback]\nbytes-per-second = {pace}\nsave-timeout = \"8s\"\n"
        )
    })
}

impl<'a> Writers<'a> {
    /// Makes the tables at a place that is empty; the name is that of the history.
    ///
    /// # Errors
    /// If a file or a table cannot be made.
    pub fn at(place: Place, run: &'a Run, name: &str, scene: Scene) -> anyhow::Result<Self> {
        let lines = match place.backend() {
            Backend::Postgres | Backend::Mysql => HURRY,
            Backend::Sqlite => "busy-timeout = \"500ms\"\n",
            Backend::Memory => "",
        };
        let is_memory = place.backend() == Backend::Memory;
        let mut config = place.config_of(&["journal", "snapshot-store", "state"], lines);
        if !is_memory {
            config += HANDLER;
        }
        config += IMPATIENT;
        config += &pace_of_snapshots(&mut run.rng());
        let file = run.folder().join(format!("{name}.toml"));
        fs::write(&file, config)?;
        if !is_memory {
            block_on(place.execute(&tables(place.backend())))?;
        }
        Ok(Self {
            run,
            chronicle: run.chronicle(name)?,
            place,
            scene,
            name: name.to_owned(),
            config: file,
            calls: AtomicU64::new(0),
        })
    }

    /// Returns the database that processes write to.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The config of its processes.
    pub fn config_file(&self) -> &Path {
        &self.config
    }

    /// Makes the tables of the stores, before anybody needs them.
    ///
    /// # Errors
    /// If the stores cannot be opened.
    pub fn make_tables(&self) -> anyhow::Result<()> {
        self.place.make_tables(&self.config_without_handler()?)
    }

    /// Returns the config of a process that writes no state.
    pub(crate) fn config_without_handler(&self) -> anyhow::Result<String> {
        let config = fs::read_to_string(&self.config)?;
        Ok(config.replace(HANDLER, ""))
    }

    /// Starts a process, and returns its number in the history.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn start(&self, log: &str, rng: &mut Rng) -> anyhow::Result<(u32, Worker)> {
        self.start_in(log, rng, Vec::new())
    }

    /// Starts a process with more variables in its environment, and returns its number in the history.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn start_in(
        &self,
        log: &str,
        rng: &mut Rng,
        environment: Vec<(&'static str, PathBuf)>,
    ) -> anyhow::Result<(u32, Worker)> {
        let process = self.chronicle.process();
        let assignment = Assignment {
            config: self.config.clone(),
            process,
            seed: rng.u64(..),
            streams: self.scene.streams,
            driven: self.scene.driven,
            states: self.scene.states,
            retaining: self.scene.retaining,
            longest_burst: self.scene.longest_burst,
            longest_pause: self.scene.longest_pause,
        };
        let mut worker = self.run.worker(&format!("{}-{log}", self.name));
        for (name, value) in environment {
            worker = worker.env(name, value);
        }
        let assignment = serde_json::to_string(&assignment)?;
        Ok((process, worker.arg(assignment).start()?))
    }

    /// Records what a process says; true if something was acknowledged.
    pub fn hear(&self, line: Line) -> bool {
        match line {
            Line::Record(record) => {
                let acknowledges = acknowledges(&record);
                if acknowledges {
                    self.run.acknowledged(1);
                }
                self.chronicle.hear(record);
                return acknowledges;
            }
            Line::Count { count } => self.run.add(&count, 1),
            Line::Fault { fault } => self.run.violation(fault),
            Line::Other { other } => self.run.violation(format!("a worker said {other}")),
        }
        false
    }

    /// While no process runs: removes every trace of one stream and of one state, whose numbers start again at 1.
    ///
    /// # Errors
    /// If the stores cannot be opened, or refuse.
    pub fn reset(&self, rng: &mut Rng) -> anyhow::Result<()> {
        let config = self.config_without_handler()?;
        let (stream, kept) = (
            rng.u32(..self.scene.streams + self.scene.driven),
            rng.u32(..self.scene.states),
        );
        actix::System::new().block_on(async {
            let persistence = open(&config).await?;
            let id = stream_id(stream);
            let call = self.invoke(Operation::ResetEvents { id: id.to_string() });
            let cleanup = persistence.cleanup();
            let reset = async || cleanup.delete_all(&id, Numbers::Reset).await;
            until_cured(LONGEST_BUSY, reset, is_curable).await?;
            self.answer(call, Done::Done);
            let id = kept_id(kept);
            let call = self.invoke(Operation::ResetState { id: id.to_string() });
            let reset = async || cleanup.delete_state(&id, Numbers::Reset).await;
            until_cured(LONGEST_BUSY, reset, is_curable).await?;
            self.answer(call, Done::Done);
            anyhow::Ok(())
        })?;
        // The handler is not asked about what is removed altogether.
        let id = self.place.literal(kept_id(kept).as_str());
        block_on(self.place.execute(&format!(
            "DELETE FROM noted WHERE id = {id}; \
             UPDATE note_count SET notes = (SELECT COUNT(*) FROM noted WHERE revision % 2 = place)"
        )))?;
        self.run.add("resets", 2);
        Ok(())
    }

    /// Once all processes have ended: what is stored, as the product shows it and by plain SQL, against the history; and
    /// that every id takes one more write.
    ///
    /// Violations are those of the run. After Ctrl-C nothing is judged.
    ///
    /// # Errors
    /// If what is stored cannot be read.
    pub fn judge(self) -> anyhow::Result<()> {
        if crate::is_interrupted() {
            return Ok(());
        }
        self.look_at_all()?;
        // What has gone wrong is known, and may keep writes waiting for long.
        if !self.run.has_failed() {
            self.write_to_all()?;
        }
        self.dump()?;
        judge(self.run, &self.name, self.chronicle);
        Ok(())
    }

    /// A call of the driver itself.
    fn invoke(&self, operation: Operation) -> u64 {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        self.chronicle.say(What::Invoke { call, operation });
        call
    }

    fn answer(&self, call: u64, done: Done) {
        let answer = Answer::Ok(done);
        self.chronicle.say(What::Answer { call, answer });
    }

    fn look_at_all(&self) -> anyhow::Result<()> {
        if self.place.backend() == Backend::Memory {
            // It has ended with its process, which has looked before.
            return Ok(());
        }
        // A busy machine may take longer.
        let config = self.config_without_handler()?.replace(HURRY, "");
        let again = |_: &_| self.run.add("last looks begun again", 1);
        actix::System::new().block_on(async {
            let persistence = open(&config).await?;
            for number in 0..self.scene.streams + self.scene.driven {
                let id = stream_id(number).to_string();
                let call = self.invoke(Operation::Replay { id: id.clone() });
                let stream = || Stream::shown(number, self.scene.retaining);
                match last_look(&persistence, LONGEST_BUSY, stream, again).await {
                    Ok(mut replayed) => {
                        let seen = replayed.actor.recovered(replayed.sequence_nr);
                        self.answer(call, Done::Recovered(seen));
                    }
                    Err(error) => {
                        let error = anyhow::Error::from(error);
                        self.run.violation(format!("in the end {id}: {error:#}"));
                    }
                }
            }
            for number in 0..self.scene.states {
                let (id, incarnation) = (kept_id(number).to_string(), None);
                let call = self.invoke(Operation::Load {
                    id: id.clone(),
                    incarnation,
                });
                let kept = || Kept::shown(number);
                match last_look(&persistence, LONGEST_BUSY, kept, again).await {
                    Ok(replayed) => self.answer(call, replayed.actor.loaded(replayed.sequence_nr)),
                    Err(error) => {
                        let error = anyhow::Error::from(error);
                        self.run.violation(format!("in the end {id}: {error:#}"));
                    }
                }
            }
            anyhow::Ok(())
        })
    }

    /// An id that refuses every write for good has lost nothing, and is of no use.
    fn write_to_all(&self) -> anyhow::Result<()> {
        if self.place.backend() == Backend::Memory {
            return Ok(());
        }
        let config = fs::read_to_string(&self.config)?.replace(HURRY, "");
        let process = self.chronicle.process();
        let last = LastWrites::default();
        actix::System::new().block_on(async {
            let config = Config::from_toml(&config, "torture")?;
            let builder = Persistence::builder().config(config);
            let persistence = builder.change_handler("noted", Noted).open().await?;
            persistence.ready().await?;
            last.write(&persistence, process, &self.scene).await;
            anyhow::Ok(())
        })?;
        last.records()
            .into_iter()
            .for_each(|record| self.chronicle.hear(record));
        for fault in last.faults() {
            self.run.violation(format!("{}: {fault}", self.name));
        }
        let event = ProcessEvent::Ended;
        self.chronicle.process_event(process, event);
        Ok(())
    }

    /// Reads the tables by plain SQL: a second way to the data that shares nothing with the first.
    fn dump(&self) -> anyhow::Result<()> {
        if self.place.backend() == Backend::Memory {
            return Ok(());
        }
        dump_streams(&self.place, &self.chronicle)?;
        dump_states(&self.place, &self.chronicle)?;
        self.dump_notes()
    }

    fn dump_notes(&self) -> anyhow::Result<()> {
        let place = &self.place;
        let id = match place.backend() {
            Backend::Mysql => "CONVERT(id USING utf8mb4)",
            _ => "id",
        };
        let notes = format!("SELECT {id}, revision, uid FROM noted");
        let notes: Vec<(String, i64, Option<i64>)> = block_on(place.rows(&notes))?;
        let counted = "SELECT notes FROM note_count ORDER BY place";
        let counted: Vec<(i64,)> = block_on(place.rows(counted))?;
        let odd = notes
            .iter()
            .filter(|(_, revision, _)| revision % 2 == 1)
            .count();
        let expected = [notes.len() - odd, odd].map(|count| (count as i64,));
        if counted != expected {
            let sentence = format!("there are {expected:?} notes, and {counted:?} were counted");
            self.run.violation(sentence);
        }
        let notes = notes.into_iter().map(|(id, revision, uid)| Row::Change {
            table: "noted".to_owned(),
            id,
            revision: revision as u64,
            uid: uid.map(|uid| Uid(uid as u64)),
        });
        let table = Table::Changes {
            table: "noted".to_owned(),
            prefix: "Kept|".to_owned(),
        };
        self.chronicle.rows(table, notes);
        Ok(())
    }
}

fn is_curable(error: &CleanupError) -> bool {
    matches!(error, CleanupError::Storage(error) if error.kind().is_transient())
}

/// Lets the checker judge a history; its violations are those of the run.
pub(crate) fn judge(run: &Run, name: &str, chronicle: Chronicle) {
    for violation in check(&chronicle.end()) {
        match violation.invariant {
            Invariant::NothingLost => run.lost(1, format!("{name}: {violation}")),
            _ => run.violation(format!("{name}: {violation}")),
        }
    }
}

/// The states, by plain SQL.
pub(crate) fn dump_states(place: &Place, chronicle: &Chronicle) -> anyhow::Result<()> {
    let id = id_of(place);
    let states: Vec<(String, i64, Option<Vec<u8>>)> = block_on(place.rows(&format!(
        "SELECT {id}, t.revision, t.payload FROM durable_state t"
    )))?;
    let states = states.into_iter().map(|(id, revision, payload)| {
        let state: Option<KeptState> = payload.as_deref().map(decoded).transpose()?;
        let (revision, uid) = (revision as u64, state.map(|state| Uid(state.uid)));
        Ok(Row::State { id, revision, uid })
    });
    let states = states.collect::<anyhow::Result<Vec<_>>>()?;
    chronicle.rows(Table::States, states);
    Ok(())
}

/// Returns the expression for the id of a row `t` as a text.
pub(crate) fn id_of(place: &Place) -> &'static str {
    match place.backend() {
        Backend::Mysql => "CONVERT(t.persistence_id USING utf8mb4)",
        _ => "t.persistence_id",
    }
}

/// Other ids have other events.
const OF_STREAMS: &str = "WHERE t.persistence_id LIKE 'Stream|%'";

/// The events and snapshots of streams, by plain SQL.
pub(crate) fn dump_streams(place: &Place, chronicle: &Chronicle) -> anyhow::Result<()> {
    let id = id_of(place);
    let events: Vec<(String, i64, Vec<u8>)> = block_on(place.rows(&format!(
        "SELECT {id}, t.sequence_nr, t.payload FROM event_journal t {OF_STREAMS}"
    )))?;
    let events = events.into_iter().map(|(id, number, payload)| {
        let Written { uid } = decoded(&payload)?;
        let (number, uid) = (number as u64, Uid(uid));
        Ok(Row::Event { id, number, uid })
    });
    chronicle.rows(Table::Events, events.collect::<anyhow::Result<Vec<_>>>()?);
    let heads: Vec<(String, i64, i64, i64)> = block_on(place.rows(&format!(
        "SELECT {id}, t.highest, t.deleted_to, COALESCE((SELECT MAX(e.sequence_nr) FROM event_journal e \
         WHERE e.persistence_id = t.persistence_id), 0) FROM journal_metadata t {OF_STREAMS}"
    )))?;
    // On SQLite the highest number is raised by a take-over or a delete, and the events are beyond it.
    let heads = heads.into_iter().map(|(id, highest, deleted_to, last)| {
        let (highest, deleted_to) = (highest.max(last) as u64, deleted_to as u64);
        Row::Head {
            id,
            highest,
            deleted_to,
        }
    });
    chronicle.rows(Table::Heads, heads);
    let snapshots: Vec<(String, i64, Vec<u8>)> = block_on(place.rows(&format!(
        "SELECT {id}, t.sequence_nr, t.payload FROM snapshot t {OF_STREAMS}"
    )))?;
    let snapshots = snapshots.into_iter().map(|(id, number, payload)| {
        let Digest { digest } = decoded(&payload)?;
        let number = number as u64;
        Ok(Row::Snapshot { id, number, digest })
    });
    let snapshots = snapshots.collect::<anyhow::Result<Vec<_>>>()?;
    chronicle.rows(Table::Snapshots, snapshots);
    Ok(())
}

pub(crate) fn acknowledges(record: &Record) -> bool {
    let What::Answer { answer, .. } = &record.what else {
        return false;
    };
    matches!(
        answer,
        Answer::Ok(Done::Persisted { .. } | Done::Changed { .. })
    )
}

/// Decodes a payload in the form in which the product stores it by default.
fn decoded<T: DeserializeOwned>(payload: &[u8]) -> anyhow::Result<T> {
    rmp_serde::from_slice(payload).context("a payload cannot be decoded")
}
