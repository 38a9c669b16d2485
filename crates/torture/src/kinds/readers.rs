//! Readers follow what changes without a pause, while processes store new states and change others, transactions of
//! others stay open, and processes and servers are killed: each reader is shown all of it, in order, even after a
//! restart.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix_persistence::PersistenceId;
use actix_persistence::storage_api::{StateStore, StorageErrorKind};
use actix_persistence_history::{Answer, Done, Incarnation, Operation, ProcessEvent, Uid, What};
use actix_persistence_test_servers::Server;
use fastrand::Rng;

use super::Kind;
use crate::last_look::LONGEST_BUSY;
use crate::workers::kept::kept_id;
use crate::workers::readers::writing::{is_of_range, new_id, update};
use crate::workers::readers::{Assignment, How, KEPT, NEW, RANGES, Reading, Task, Told};
use crate::writers::{acknowledges, dump_states, judge};
use crate::{
    Backend, Chronicle, Line, Place, Run, Worker, block_on, is_interrupted, open, workers,
};

pub(super) const KIND: Kind = Kind {
    name: "readers",
    sentence: "Readers follow changes of states by every query without a pause, from stored offsets, while processes \
               store new states and change others, transactions of others stay open, and processes and servers are \
               killed.",
    backends: Backend::DATABASES,
    run,
    worker: Some(workers::readers::work),
};

/// The number of phases of a round, which has a database of its own and is judged in its end.
///
/// In the end of each all readers catch up with what is stored.
const PHASES: u32 = 4;
const LONGEST_PHASE: Duration = Duration::from_secs(5);
/// The number of processes that write, and of those that read.
const WRITERS: usize = 2;
const READERS: usize = 2;
/// The number of states that are changed all the time.
const KEPT_STATES: u32 = 4;
/// The longest time for which a process lives before it is killed.
const LONGEST_LIFE: Duration = Duration::from_secs(4);
/// The longest time for which a transaction of another program is open.
const LONGEST_TRANSACTION: Duration = Duration::from_secs(2);
/// The longest time for which a lock keeps writers out on SQLite, less than they wait.
const LONGEST_LOCK: Duration = Duration::from_millis(100);
/// The longest time for which a server is away.
const LONGEST_ABSENCE: Duration = Duration::from_millis(500);
/// Readers have this long to catch up; more than a server needs that was killed.
const PATIENCE: Duration = Duration::from_secs(60);
/// The states that mark the end of a phase have the numbers from this one times the phase.
const MARKS: u32 = 1_000_000;

fn run(run: &Run) -> anyhow::Result<()> {
    for number in 1.. {
        if run.is_over() {
            break;
        }
        Round::new(run, number)?.go_on()?;
    }
    Ok(())
}

/// A database, and all that is done to it.
struct Round<'a> {
    run: &'a Run,
    name: String,
    chronicle: Chronicle,
    place: Place,
    /// The server; the field is after `place`, so that the place is gone before its server.
    server: Option<Mutex<Server>>,
    config: PathBuf,
    kept: Vec<u32>,
    /// The number of the last reader.
    readers: AtomicU64,
    /// The number of calls of the driver itself.
    calls: AtomicU64,
    phase: u32,
    writing: AtomicBool,
    reading: AtomicBool,
}

/// A reader, from one process to the next.
struct Slot {
    reading: Reading,
    /// The number of the reader in the process before.
    before: Option<u64>,
    /// The range that its mark belongs to.
    range: u16,
    /// The last phase whose mark it was shown.
    marked: u32,
}

impl<'a> Round<'a> {
    fn new(run: &'a Run, number: u32) -> anyhow::Result<Self> {
        let mut rng = run.rng();
        // In turns: pages of several partitions, and writers that meet in the counter of one.
        let partitions = match number % 2 {
            0 => 1,
            _ => 8 << rng.u16(..4),
        };
        let is_killed = run.backend().server().is_some() && rng.bool();
        let (place, server) = match is_killed {
            // It shows no reader what it may lose.
            true => {
                let server = run.server_with_log()?;
                (Place::on(run.backend(), &server)?, Some(Mutex::new(server)))
            }
            false => (run.place()?, None),
        };
        let lines = match place.backend() {
            Backend::Postgres => "statement-timeout = \"4s\"\n".to_owned(),
            Backend::Mysql => {
                format!("statement-timeout = \"4s\"\ncounter-partitions = {partitions}\n")
            }
            Backend::Sqlite | Backend::Memory => "busy-timeout = \"2s\"\n".to_owned(),
        };
        let mut config = place.config_of(&["state"], &lines);
        config += "[persistence.back-off]\nmin = \"5ms\"\nmax = \"100ms\"\n\
                   [persistence.state-plugin-fallback.circuit-breaker]\nreset-timeout = \"500ms\"\n";
        place.make_tables(&config)?;
        block_on(place.execute("CREATE TABLE foreign_work (n BIGINT NOT NULL)"))?;
        let name = format!("round-{number}");
        let file = run.folder().join(format!("{name}.toml"));
        fs::write(&file, config)?;
        Ok(Self {
            run,
            chronicle: run.chronicle(&name)?,
            name,
            place,
            server,
            config: file,
            kept: (0..KEPT_STATES).collect(),
            readers: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            phase: 0,
            writing: AtomicBool::new(false),
            reading: AtomicBool::new(false),
        })
    }

    fn go_on(mut self) -> anyhow::Result<()> {
        let mut rng = self.run.rng();
        let mut slots = self.slots(&mut rng);
        for phase in 1..=PHASES {
            // A round that has begun has one phase, so that there is something to judge.
            if phase > 1 && self.run.is_over() {
                break;
            }
            self.phase = phase;
            slots = self.phase(slots, &mut rng)?;
            if is_interrupted() {
                return Ok(());
            }
            self.run.cycle();
        }
        dump_states(&self.place, &self.chronicle)?;
        judge(self.run, &self.name, self.chronicle);
        Ok(())
    }

    /// The readers of each process: of all slices and of a range, of new states and of those that change, in every way.
    fn slots(&self, rng: &mut Rng) -> Vec<Vec<Slot>> {
        let mut ways = [How::Pages, How::Current, How::Live].into_iter().cycle();
        let mut slot = |entity_type: &str, range: Option<u16>| {
            let how = ways.next().unwrap_or(How::Pages);
            let width = 1024 / RANGES;
            let slices = range.map_or((0, 1023), |range| (range * width, (range + 1) * width - 1));
            Slot {
                reading: Reading {
                    number: 0,
                    how,
                    entity_type: entity_type.to_owned(),
                    slices,
                    page: rng.usize(1..=60),
                    offset: String::new(),
                    mark: String::new(),
                },
                before: None,
                // The last one that is stored: on PostgreSQL whatever else the server does may hold back the others.
                range: range.unwrap_or(RANGES - 1),
                marked: 0,
            }
        };
        (0..READERS as u16)
            .map(|process| {
                vec![
                    slot(NEW, None),
                    slot(NEW, Some(process % RANGES)),
                    slot(KEPT, None),
                    slot(KEPT, Some((process + 2) % RANGES)),
                ]
            })
            .collect()
    }

    /// Writers and readers, until the readers have seen all that was written.
    fn phase(&self, slots: Vec<Vec<Slot>>, rng: &mut Rng) -> anyhow::Result<Vec<Vec<Slot>>> {
        self.writing.store(true, Ordering::Release);
        self.reading.store(true, Ordering::Release);
        let ends = Instant::now() + LONGEST_PHASE.min(self.run.length() / PHASES);
        std::thread::scope(|scope| {
            let readers: Vec<_> = slots
                .into_iter()
                .enumerate()
                .map(|(number, slots)| {
                    let rng = rng.fork();
                    scope.spawn(move || self.read(number, slots, rng))
                })
                .collect();
            let mut writers: Vec<_> = (0..WRITERS)
                .map(|number| {
                    let rng = rng.fork();
                    scope.spawn(move || self.write(number, rng))
                })
                .collect();
            let others = rng.fork();
            writers.push(scope.spawn(move || self.stay_open(others)));
            let written = self.disturb(ends, rng);
            self.writing.store(false, Ordering::Release);
            let written = writers.into_iter().fold(written, |written, writer| {
                written.and(writer.join().unwrap_or_else(|_| panicked()))
            });
            // Readers hear of it in any case, or they would go on for ever.
            let written = written.and_then(|()| self.mark());
            self.reading.store(false, Ordering::Release);
            let read: Vec<_> = readers
                .into_iter()
                .map(|reader| reader.join().unwrap_or_else(|_| panicked()))
                .collect();
            written?;
            read.into_iter().collect()
        })
    }

    /// Kills the server now and then, until the phase ends.
    fn disturb(&self, ends: Instant, rng: &mut Rng) -> anyhow::Result<()> {
        while Instant::now() < ends && !self.run.has_failed() && !is_interrupted() {
            std::thread::sleep(Duration::from_millis(rng.u64(20..1500)).min(ends - Instant::now()));
            if let Some(server) = &self.server
                && Instant::now() < ends
            {
                let mut server = server.lock().unwrap_or_else(PoisonError::into_inner);
                server.kill()?;
                self.chronicle
                    .server_event("database", ProcessEvent::Killed);
                std::thread::sleep(LONGEST_ABSENCE.mul_f64(rng.f64()));
                server.restart()?;
                self.chronicle
                    .server_event("database", ProcessEvent::Started);
                self.run.add("servers killed", 1);
            }
        }
        Ok(())
    }

    /// Someone else has transactions open on the server all the time.
    fn stay_open(&self, mut rng: Rng) -> anyhow::Result<()> {
        while self.writing.load(Ordering::Acquire) {
            let is_file = self.place.backend() == Backend::Sqlite;
            let (begin, longest) = match rng.bool() {
                true if is_file => (
                    "BEGIN; SELECT COUNT(*) FROM durable_state",
                    LONGEST_TRANSACTION,
                ),
                false if is_file => (
                    "BEGIN IMMEDIATE; INSERT INTO foreign_work VALUES (1)",
                    LONGEST_LOCK,
                ),
                _ => (
                    "BEGIN; INSERT INTO foreign_work VALUES (1)",
                    LONGEST_TRANSACTION,
                ),
            };
            let end = if rng.bool() { "COMMIT" } else { "ROLLBACK" };
            let held = block_on(self.place.hold(begin, longest.mul_f64(rng.f64()), end));
            match held {
                Ok(()) => self.run.add("transactions of others", 1),
                // The server was killed, or the file is busy.
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        Ok(())
    }

    /// Runs one process after the other that writes.
    fn write(&self, number: usize, mut rng: Rng) -> anyhow::Result<()> {
        while self.writing.load(Ordering::Acquire) {
            let task = Task::Write {
                inserters: rng.u32(2..=6),
                kept: self.kept.clone(),
            };
            let log = format!("writer-{number}");
            let (process, mut worker) = self.start(&log, task, &mut rng)?;
            let dies = Instant::now() + LONGEST_LIFE.mul_f64(rng.f64());
            let mut killed = false;
            while let Some(line) = worker.next_line()? {
                self.hear(line, &mut [])?;
                if !self.writing.load(Ordering::Acquire) {
                    break;
                }
                if Instant::now() > dies {
                    killed = true;
                    break;
                }
            }
            self.end(process, worker, killed, &mut [])?;
        }
        Ok(())
    }

    /// Runs one process after the other that reads, each from where the one before was.
    fn read(&self, number: usize, mut slots: Vec<Slot>, mut rng: Rng) -> anyhow::Result<Vec<Slot>> {
        loop {
            self.open_readers(&mut slots);
            let readings = slots.iter().map(|slot| slot.reading.clone()).collect();
            let task = Task::Read { readings };
            let log = format!("reader-{number}");
            let (process, mut worker) = self.start(&log, task, &mut rng)?;
            let dies = Instant::now() + LONGEST_LIFE.mul_f64(rng.f64());
            let mut killed = false;
            while self.reading.load(Ordering::Acquire) {
                let Some(line) = worker.next_line()? else {
                    break;
                };
                self.hear(line, &mut slots)?;
                if Instant::now() > dies {
                    killed = self.reading.load(Ordering::Acquire);
                    break;
                }
            }
            if !killed {
                // It has heard that no more is written, and reads on until it has seen the mark.
                self.end(process, worker, false, &mut slots)?;
                self.check_marks(&slots);
                return Ok(slots);
            }
            self.end(process, worker, true, &mut slots)?;
        }
    }

    /// Reports a violation for each reader that has ended without the last change of its phase.
    fn check_marks(&self, slots: &[Slot]) {
        for Slot {
            reading, marked, ..
        } in slots
        {
            if *marked != self.phase && !self.run.has_failed() && !is_interrupted() {
                self.run.violation(format!(
                    "{}: a reader of the slices {:?} has ended without the last change, {:?}",
                    self.name, reading.slices, reading.mark
                ));
            }
        }
    }

    /// Says that readers begin, or go on under new numbers.
    fn open_readers(&self, slots: &mut [Slot]) {
        for Slot {
            reading,
            before,
            range,
            marked,
        } in slots
        {
            reading.number = self.readers.fetch_add(1, Ordering::Relaxed) + 1;
            reading.mark = match *marked == self.phase {
                true => String::new(),
                false => self.mark_of(&reading.entity_type, *range).to_string(),
            };
            let (ids, prefix) = match &*reading.entity_type {
                NEW if reading.slices == (0, 1023) => (None, format!("{NEW}|")),
                NEW => (None, format!("{NEW}|r{range}.")),
                _ => {
                    let phases = 1..=PHASES;
                    let marks = phases
                        .flat_map(|phase| (0..RANGES).map(move |range| (phase, range)))
                        .map(|(phase, range)| self.mark_of_kept(phase, range));
                    let kept = self.kept.iter().map(|number| kept_id(*number));
                    let slices = reading.slices();
                    let selected = kept.chain(marks).filter(|id| slices.contains(&id.slice()));
                    let ids = selected.map(|id| id.to_string()).collect();
                    (Some(ids), format!("{KEPT}|"))
                }
            };
            self.chronicle.say(What::ReaderOpened {
                reader: reading.number,
                query: format!(
                    "{:?} of {} in {:?}",
                    reading.how, reading.entity_type, reading.slices
                ),
                every: false,
                ids,
                prefix,
                continues: before.replace(reading.number),
            });
        }
    }

    fn start(&self, log: &str, task: Task, rng: &mut Rng) -> anyhow::Result<(u32, Worker)> {
        let process = self.chronicle.process();
        let assignment = Assignment {
            config: self.config.clone(),
            process,
            seed: rng.u64(..),
            task,
        };
        let worker = self.run.worker(&format!("{}-{log}", self.name));
        let assignment = serde_json::to_string(&assignment)?;
        Ok((process, worker.arg(assignment).start()?))
    }

    /// Kills a process, or asks it to end, and hears what it still has to say.
    fn end(
        &self,
        process: u32,
        mut worker: Worker,
        killed: bool,
        slots: &mut [Slot],
    ) -> anyhow::Result<()> {
        if killed {
            worker.kill()?;
            self.chronicle.process_event(process, ProcessEvent::Killed);
            self.run.add("processes killed", 1);
        } else {
            self.chronicle
                .process_event(process, ProcessEvent::AskedToStop);
            worker.end();
        }
        let since = Instant::now();
        while let Some(line) = worker.next_line()? {
            self.hear(line, slots)?;
            anyhow::ensure!(
                since.elapsed() < PATIENCE,
                "a reader is not shown the last change {PATIENCE:?} after it was stored"
            );
        }
        worker.ended(!killed)?;
        if !killed {
            self.chronicle.process_event(process, ProcessEvent::Ended);
        }
        Ok(())
    }

    fn hear(&self, line: Line, slots: &mut [Slot]) -> anyhow::Result<()> {
        match line {
            Line::Record(record) => {
                if acknowledges(&record) {
                    self.run.acknowledged(1);
                }
                self.chronicle.hear(record);
            }
            Line::Count { count } => self.run.add(&count, 1),
            Line::Fault { fault } => self.run.violation(format!("{}: {fault}", self.name)),
            Line::Other { other } => {
                let told: Told = serde_json::from_value(other)?;
                if let What::Shown { page, .. } = &told.record.what {
                    let mut slots = slots.iter_mut();
                    if let Some(slot) = slots.find(|slot| slot.reading.number == told.reader) {
                        let mark = &slot.reading.mark;
                        if page.entries.iter().any(|entry| entry.id == *mark) {
                            slot.marked = self.phase;
                        }
                        slot.reading.offset = told.offset;
                    }
                    self.run.add("changes shown", page.entries.len() as u64);
                }
                self.run.add("pages", told.pages);
                self.chronicle.hear(told.record);
            }
        }
        Ok(())
    }

    /// Stores a last state for each reader to find: a reader that was shown it, and that there is no more, has seen
    /// all.
    fn mark(&self) -> anyhow::Result<()> {
        let config = fs::read_to_string(&self.config)?;
        block_on(async {
            let persistence = open(&config).await?;
            let store = persistence.states(None)?;
            for range in 0..RANGES {
                for entity_type in [NEW, KEPT] {
                    let id = self.mark_of(entity_type, range);
                    let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
                    let uid = Uid::of(0, call as u32);
                    self.chronicle.say(What::Invoke {
                        call,
                        operation: Operation::Upsert {
                            id: id.to_string(),
                            incarnation: Incarnation::of(0, call as u32),
                            revision: Some(1),
                            uid,
                        },
                    });
                    store_once(&*store, id, uid).await?;
                    let answer = Answer::Ok(Done::Changed { revision: 1 });
                    self.chronicle.say(What::Answer { call, answer });
                }
            }
            Ok(())
        })
    }

    fn mark_of(&self, entity_type: &str, range: u16) -> PersistenceId {
        match entity_type {
            NEW => new_id(range, &format!("mark.{}", self.phase)),
            _ => self.mark_of_kept(self.phase, range),
        }
    }

    fn mark_of_kept(&self, phase: u32, range: u16) -> PersistenceId {
        let mut ids = (MARKS * phase..).map(kept_id);
        ids.find(|id| is_of_range(id, range))
            .expect("there is always another one")
    }
}

/// Stores a new state, however busy the database is.
async fn store_once(store: &dyn StateStore, id: PersistenceId, uid: Uid) -> anyhow::Result<()> {
    let (since, mut is_perhaps_stored) = (Instant::now(), false);
    let state = update(id, 1, uid.0)?;
    loop {
        match store.upsert(state.clone()).await {
            Ok(()) => return Ok(()),
            // No one else writes it: an attempt of unknown outcome has stored it.
            Err(error)
                if is_perhaps_stored && error.kind() == StorageErrorKind::RevisionConflict =>
            {
                return Ok(());
            }
            Err(error) if error.kind().is_transient() && since.elapsed() < LONGEST_BUSY => {
                is_perhaps_stored |= !error.is_not_stored();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn panicked<T>() -> anyhow::Result<T> {
    anyhow::bail!("a thread panicked")
}
