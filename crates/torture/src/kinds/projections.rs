//! Projections make something of each event and of changes of states, while those who project, those who write, and the
//! server are killed: nothing is missing, nothing is there twice, and each id keeps its order.

mod judge;
mod readers;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_persistence::Config;
use actix_persistence_test_servers::Server;
use fastrand::Rng;
use readers::Readers;

use super::Kind;
use crate::workers::projections::read_models::{ONCE, tables};
use crate::workers::projections::{Assignment, PAUSING, TALLIED, Task, open};
use crate::{Backend, Line, Place, Run, Worker, block_on, is_interrupted, workers};

pub(super) const KIND: Kind = Kind {
    name: "projections",
    sentence: "Projections, exactly once and at least once, run in processes that come and go, are killed and stopped for \
               longer than their lease, while their shares are divided and paused, writers are killed, and the server, too.",
    backends: Backend::DATABASES,
    run,
    worker: Some(workers::projections::work),
};

/// The least length of a run whose rounds are long: such a round alone takes some minutes.
const LONG: Duration = Duration::from_secs(180);
/// The number of processes that project at the same time, at most.
const RUNNERS: usize = 4;
/// The number of processes that write at the same time.
const WRITERS: u32 = 2;
/// The time for which others leave the shares of a process alone that is not heard of.
const LEASE: Duration = Duration::from_millis(400);
/// The longest time without a process in a place for one.
const LONGEST_ABSENCE: Duration = Duration::from_millis(500);
/// The longest time of a process that writes; one in so many is killed.
const LONGEST_WRITING: Duration = Duration::from_millis(800);
const KILLED_WRITERS: u8 = 3;
/// The longest time for which a server is away.
const SERVER_AWAY: Duration = Duration::from_millis(800);
/// The time within which processes that project are killed as often as a phase wants it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time between two looks at what is projected.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// The size of a round.
struct Size {
    ids: u32,
    /// The number of events that each id gets in a phase.
    events: u64,
    phases: u64,
    /// The number of kills of processes that project, in each phase at least.
    kills: u64,
    /// The longest time for which a process projects before something happens to it.
    longest_life: Duration,
    /// One item in so many is refused again and again, where ids are parked.
    bad: u64,
}

/// 100,000 events of 1,000 ids, 50 kills, and 10 of the server.
const FULL: Size = Size {
    ids: 1_000,
    events: 10,
    phases: 10,
    kills: 5,
    longest_life: Duration::from_secs(8),
    bad: 400,
};
const SHORT: Size = Size {
    ids: 24,
    events: 5,
    phases: 3,
    kills: 1,
    longest_life: Duration::from_millis(2_500),
    bad: 25,
};

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
    size: Size,
    /// True if ids are parked.
    parks: bool,
    place: Place,
    /// The server; the field is after `place`, so that the place is gone before its server.
    server: Option<Server>,
    config: PathBuf,
    /// The number of kills of processes that project.
    kills: AtomicU64,
    projecting: AtomicBool,
    readers: Readers,
}

impl<'a> Round<'a> {
    fn new(run: &'a Run, number: u32) -> anyhow::Result<Self> {
        let mut rng = run.rng();
        let is_long = run.length() >= LONG;
        let is_killed = run.backend().server().is_some() && (is_long || rng.bool());
        let has_log = rng.bool();
        let (place, server) = match is_killed {
            true => {
                let server = match has_log {
                    true => run.server_with_log()?,
                    false => run.server()?,
                };
                (Place::on(run.backend(), &server)?, Some(server))
            }
            false => (run.place()?, None),
        };
        // A MariaDB without a log shows commits that its end takes back: docs/upstream/mariadb-shown-and-lost.md.
        let takes_back = is_killed && !has_log && run.backend() == Backend::Mysql;
        let lines = match place.backend() {
            Backend::Postgres | Backend::Mysql => "statement-timeout = \"4s\"\n",
            Backend::Sqlite | Backend::Memory => "busy-timeout = \"2s\"\n",
        };
        let handler = format!(
            "{lines}change-event-journal = \"here\"\nchange-handler.{TALLIED} = \"{PAUSING}\"\n"
        );
        let mut config = place.config_of(&["journal", "offset-store"], lines)
            + &place.config_of(&["state"], &handler);
        config += "[persistence.back-off]\nmin = \"5ms\"\nmax = \"100ms\"\n";
        for kind in ["journal", "state", "offset-store"] {
            let fallback = "plugin-fallback.circuit-breaker]\nreset-timeout = \"500ms\"\n";
            config += &format!("[persistence.{kind}-{fallback}");
        }
        make_tables(&config)?;
        block_on(place.execute(&tables(place.backend())))?;
        let name = format!("round-{number}");
        let file = run.folder().join(format!("{name}.toml"));
        fs::write(&file, config)?;
        Ok(Self {
            run,
            name,
            size: if is_long { FULL } else { SHORT },
            parks: rng.bool(),
            place,
            server,
            config: file,
            kills: AtomicU64::new(0),
            projecting: AtomicBool::new(true),
            readers: if takes_back {
                Readers::none()
            } else {
                Readers::new()
            },
        })
    }

    fn go_on(mut self) -> anyhow::Result<()> {
        let mut rng = self.run.rng();
        let mut server = self.server.take();
        let gone_on: anyhow::Result<()> = std::thread::scope(|scope| {
            let round = &self;
            let readers = rng.fork();
            let has_readers = !round.readers.readings().is_empty();
            let readers = has_readers.then(|| scope.spawn(move || round.read(readers)));
            let mut runners: Vec<_> = (0..RUNNERS)
                .map(|number| {
                    let rng = rng.fork();
                    scope.spawn(move || round.project(number, rng))
                })
                .collect();
            runners.extend(readers);
            let written = round.write_all(server.as_mut(), &mut rng);
            round.projecting.store(false, Ordering::Release);
            let runners = runners.into_iter();
            runners.fold(written, |written, runner| {
                written.and(runner.join().unwrap_or_else(|_| panicked()))
            })
        });
        self.server = server;
        gone_on?;
        if self.run.has_failed() || is_interrupted() {
            return Ok(());
        }
        let task = Task::Finish { lease: LEASE };
        let mut last = self.start("finish", task, &mut rng)?;
        self.hear_out(&mut last)?;
        last.ended(true)?;
        if !is_interrupted() {
            if self.parks {
                self.run.add("rounds with parked ids", 1);
            }
            judge::judge(self.run, &self.name, &self.place, self.parks, &self.readers)?;
        }
        Ok(())
    }

    /// Lets everything be written in phases, in each of which those who project are killed, and the server once.
    fn write_all(&self, mut server: Option<&mut Server>, rng: &mut Rng) -> anyhow::Result<()> {
        for phase in 1..=self.size.phases {
            std::thread::scope(|scope| {
                let width = self.size.ids / WRITERS;
                let writers: Vec<_> = (0..WRITERS)
                    .map(|number| {
                        let rng = rng.fork();
                        let ids = (number * width, (number + 1) * width);
                        let upto = phase * self.size.events;
                        scope.spawn(move || self.write(number, ids, upto, rng))
                    })
                    .collect();
                let killed = match server.as_deref_mut() {
                    Some(server) => self.kill(server, rng),
                    None => Ok(()),
                };
                writers.into_iter().fold(killed, |killed, writer| {
                    killed.and(writer.join().unwrap_or_else(|_| panicked()))
                })
            })?;
            let (since, wanted) = (Instant::now(), phase * self.size.kills);
            while self.kills.load(Ordering::Acquire) < wanted && self.goes_on() {
                anyhow::ensure!(since.elapsed() < PATIENCE, "no process was killed");
                std::thread::sleep(Duration::from_millis(5));
            }
            self.wait_for_projected((phase - 1) * self.size.events * u64::from(self.size.ids));
            if !self.goes_on() {
                break;
            }
            self.run.cycle();
        }
        Ok(())
    }

    /// Waits until so many events are projected, for a while: those who project are to be killed while there is work, and one
    /// that nobody kills does the rest. Events that wait for their parked id, or were dropped, count: no waiting brings them.
    fn wait_for_projected(&self, events: u64) {
        let done = format!(
            "SELECT (SELECT COUNT(*) FROM once_log) + (SELECT COUNT(*) FROM projection_waiting WHERE name = '{ONCE}') \
             + (SELECT COUNT(*) FROM projection_skipped WHERE name = '{ONCE}')"
        );
        let since = Instant::now();
        while since.elapsed() < PATIENCE && self.goes_on() {
            // The database may be busy.
            let done = block_on(self.place.number(&done));
            if done.is_ok_and(|done| done as u64 >= events) {
                break;
            }
            self.sleep(BETWEEN_LOOKS);
        }
    }

    fn goes_on(&self) -> bool {
        !self.run.has_failed() && !is_interrupted()
    }

    fn kill(&self, server: &mut Server, rng: &mut Rng) -> anyhow::Result<()> {
        std::thread::sleep(LONGEST_WRITING.mul_f64(rng.f64()));
        server.kill()?;
        std::thread::sleep(SERVER_AWAY.mul_f64(rng.f64()));
        server.restart()?;
        self.run.add("servers killed", 1);
        Ok(())
    }

    /// Runs one process after the other that writes, until these ids have everything.
    fn write(&self, number: u32, ids: (u32, u32), upto: u64, mut rng: Rng) -> anyhow::Result<()> {
        while self.goes_on() {
            let log = format!("writer-{number}");
            let mut worker = self.start(&log, Task::Write { ids, upto }, &mut rng)?;
            let dies = (rng.u8(..KILLED_WRITERS) == 0)
                .then(|| Instant::now() + LONGEST_WRITING.mul_f64(rng.f64()));
            let mut was_killed = false;
            while let Some(line) = worker.next_line()? {
                self.hear(line);
                if !was_killed && dies.is_some_and(|dies| Instant::now() > dies) {
                    worker.kill()?;
                    was_killed = true;
                }
            }
            if !was_killed {
                return worker.ended(true);
            }
            // It may have ended by itself before; then the next one finds nothing to do.
            worker.ended_or_killed()?;
            self.run.add("writers killed", 1);
        }
        Ok(())
    }

    /// Runs one process after the other that projects.
    fn project(&self, number: usize, mut rng: Rng) -> anyhow::Result<()> {
        while self.projecting.load(Ordering::Acquire) && self.goes_on() {
            let task = Task::Project { lease: LEASE };
            let mut worker = self.start(&format!("runner-{number}"), task, &mut rng)?;
            self.wait(self.size.longest_life.mul_f64(rng.f64()), &mut worker)?;
            let end = rng.u8(..8);
            if end < 2 {
                worker.pause()?;
                self.run.add("processes stopped for a while", 1);
                self.sleep(LEASE.mul_f64(1.2 + 2.0 * rng.f64()));
                worker.resume()?;
                self.wait(LONGEST_ABSENCE.mul_f64(rng.f64()), &mut worker)?;
            }
            // The last ones end as they should.
            let is_killed = end > 1 && self.projecting.load(Ordering::Acquire);
            match is_killed {
                true => {
                    worker.kill()?;
                    self.kills.fetch_add(1, Ordering::AcqRel);
                    self.run.add("processes killed", 1);
                }
                false => worker.end(),
            }
            self.hear_out(&mut worker)?;
            worker.ended(!is_killed)?;
            self.sleep(LONGEST_ABSENCE.mul_f64(rng.f64()));
        }
        Ok(())
    }

    /// Runs one process after the other that follows events, each from where the one before was.
    fn read(&self, mut rng: Rng) -> anyhow::Result<()> {
        loop {
            let readings = self.readers.readings();
            let mut worker = self.start("reader", Task::Read { readings }, &mut rng)?;
            self.wait(self.size.longest_life.mul_f64(rng.f64()), &mut worker)?;
            let is_last = !self.projecting.load(Ordering::Acquire);
            match is_last {
                true => worker.end(),
                false => {
                    worker.kill()?;
                    self.run.add("readers killed", 1);
                }
            }
            self.hear_out(&mut worker)?;
            worker.ended(is_last)?;
            if is_last || !self.goes_on() {
                return Ok(());
            }
        }
    }

    /// Hears a process for a while; no longer than everything is written.
    fn wait(&self, time: Duration, worker: &mut Worker) -> anyhow::Result<()> {
        let since = Instant::now();
        while since.elapsed() < time && self.projecting.load(Ordering::Acquire) {
            while let Some(line) = worker.line_now()? {
                self.hear(line);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn sleep(&self, time: Duration) {
        let since = Instant::now();
        while since.elapsed() < time && self.projecting.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn start(&self, log: &str, task: Task, rng: &mut Rng) -> anyhow::Result<Worker> {
        let assignment = Assignment {
            config: self.config.clone(),
            seed: rng.u64(..),
            bad: self.parks.then_some(self.size.bad),
            task,
        };
        let assignment = serde_json::to_string(&assignment)?;
        let worker = self.run.worker(&format!("{}-{log}", self.name));
        worker.arg(assignment).start()
    }

    fn hear_out(&self, worker: &mut Worker) -> anyhow::Result<()> {
        while let Some(line) = worker.next_line()? {
            self.hear(line);
        }
        Ok(())
    }

    fn hear(&self, line: Line) {
        match line {
            Line::Count { count } => self.run.add(&count, 1),
            Line::Fault { fault } => self.run.violation(format!("{}: {fault}", self.name)),
            Line::Other { other } => match serde_json::from_value(other.clone()) {
                Ok(shown) => self.readers.hear(shown),
                Err(_) => self.run.acknowledged(other.as_u64().unwrap_or(0)),
            },
            Line::Record(_) => {}
        }
    }
}

fn make_tables(config: &str) -> anyhow::Result<()> {
    let config = Config::from_toml(config, "torture")?;
    actix::System::new().block_on(async {
        let persistence = open(config).await?;
        persistence.ready().await?;
        anyhow::Ok(())
    })
}

fn panicked<T>() -> anyhow::Result<T> {
    anyhow::bail!("a thread panicked")
}
