//! Several programs write events and states about people with metadata and tags, compressed and encrypted, while they and
//! their server are killed and keys are destroyed: everything keeps its value, its metadata and its tags, or is shredded.

mod rows;

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use actix_persistence_history::ProcessEvent;
use actix_persistence_test_servers::Server;
use fastrand::Rng;

use super::Kind;
use crate::run::hold;
use crate::workers::sealed::keys::destroy_any;
use crate::workers::sealed::last::Shown;
use crate::workers::sealed::{Assignment, Program};
use crate::workers::stream::Retaining;
use crate::writers::{HURRY, IMPATIENT, acknowledges, judge};
use crate::{Backend, Chronicle, Line, Place, Run, Worker, workers};

pub(super) const KIND: Kind = Kind {
    name: "sealed",
    sentence: "Programs of two versions write events, snapshots and states about people, with metadata and tags, compressed \
               and encrypted, while keys appear, fail and are destroyed, and processes and servers are killed.",
    backends: Backend::DATABASES,
    run,
    worker: Some(workers::sealed::work),
};

/// The largest number of processes at once.
const PROCESSES: u32 = 3;
/// The number of ids with events, one for each policy of snapshots.
const VAULTS: u32 = 3;
/// The number of ids with states.
const HELD: u32 = 2;
/// The programs that run at the same time: each reads what the others write.
const PHASES: [[Program; 2]; 2] = [
    [Program::Older, Program::Ready],
    [Program::Ready, Program::Newer],
];
const LONGEST_PHASE: Duration = Duration::from_secs(6);
/// The largest number of lines for which a process lives.
const LONGEST_LIFE: u64 = 2_500;
/// The longest time between two keys that are destroyed.
const LONGEST_KEY: Duration = Duration::from_millis(500);
/// One round in this many has a server of its own, which is killed.
const WITH_SERVER: u64 = 3;
/// The longest time between two kills of the server.
const LONGEST_SERVER: Duration = Duration::from_secs(3);

struct Round<'a> {
    run: &'a Run,
    name: String,
    place: Place,
    chronicle: Chronicle,
    config: PathBuf,
    /// The folder of the keys.
    folder: PathBuf,
    retaining: Retaining,
    ends: Instant,
    shown: Mutex<Vec<Shown>>,
}

fn run(run: &Run) -> anyhow::Result<()> {
    for number in 1.. {
        if run.is_over() {
            break;
        }
        let mut rng = run.rng();
        let has_server = run.backend().server().is_some() && number % WITH_SERVER == 0;
        let mut server = match has_server {
            true => Some(run.server()?),
            false => None,
        };
        let place = match &server {
            Some(server) => Place::on(run.backend(), server)?,
            None => run.place()?,
        };
        let mut round = Round::begin(run, place, format!("round-{number}"), &mut rng)?;
        for programs in PHASES {
            if run.is_over() {
                break;
            }
            round.ends = Instant::now() + LONGEST_PHASE.min(run.length() / 4);
            round.phase(programs, server.as_mut(), &mut rng)?;
        }
        round.judge(&mut rng)?;
    }
    Ok(())
}

impl<'a> Round<'a> {
    fn begin(run: &'a Run, place: Place, name: String, rng: &mut Rng) -> anyhow::Result<Self> {
        let hurry = match place.backend() {
            Backend::Postgres | Backend::Mysql => HURRY,
            Backend::Sqlite | Backend::Memory => "busy-timeout = \"500ms\"\n",
        };
        let limits = format!(
            "compression = \"zstd\"\ncompression-min-bytes = \"{}\"\nmax-group-events = {}\n\
             max-page-events = {}\nmax-page-bytes = \"{}KiB\"\n{hurry}",
            rng.u32(100..1_500),
            rng.u32(1..=12),
            rng.u32(1..=20),
            rng.u32(1..=64),
        );
        let stores = ["journal", "snapshot-store", "state"];
        let config = place.config_of(&stores, &limits);
        let config =
            config + "change-event-journal = \"here\"\nquery.refresh-interval = \"50ms\"\n";
        let file = run.folder().join(format!("{name}.toml"));
        fs::write(&file, config.clone() + IMPATIENT)?;
        let folder = run.folder().join(format!("{name}-keys"));
        fs::create_dir_all(&folder)?;
        // They are there before anybody writes.
        place.make_tables(&config)?;
        Ok(Self {
            run,
            place,
            chronicle: run.chronicle(&name)?,
            config: file,
            folder,
            name,
            retaining: Retaining {
                every: rng.u64(2..=8),
                keep: rng.usize(1..=2),
            },
            ends: Instant::now(),
            shown: Mutex::default(),
        })
    }

    fn is_over(&self) -> bool {
        self.run.is_over() || Instant::now() >= self.ends
    }

    /// Runs these programs until the phase ends, and destroys keys and kills the server meanwhile.
    fn phase(
        &self,
        programs: [Program; 2],
        server: Option<&mut Server>,
        rng: &mut Rng,
    ) -> anyhow::Result<()> {
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let disturbers: Vec<_> = {
                let (is_done, of_keys, of_server) = (&is_done, rng.fork(), rng.fork());
                let keys = scope.spawn(move || self.destroy_keys(is_done, of_keys));
                let server = server.map(|server| {
                    scope.spawn(move || self.kill_server(server, is_done, of_server))
                });
                [keys].into_iter().chain(server).collect()
            };
            let lives: Vec<_> = (0..PROCESSES)
                .map(|number| {
                    let rng = rng.fork();
                    scope.spawn(move || self.live_again_and_again(number, programs, rng))
                })
                .collect();
            let mut outcomes: Vec<_> = lives.into_iter().map(|life| life.join()).collect();
            is_done.store(true, Ordering::Relaxed);
            outcomes.extend(disturbers.into_iter().map(|one| one.join()));
            for outcome in outcomes {
                outcome.unwrap_or_else(|_| anyhow::bail!("a thread panicked"))?;
            }
            Ok(())
        })
    }

    fn destroy_keys(&self, is_done: &AtomicBool, mut rng: Rng) -> anyhow::Result<()> {
        while !is_done.load(Ordering::Relaxed) {
            std::thread::sleep(LONGEST_KEY.mul_f64(rng.f64()));
            if destroy_any(&self.folder, &mut rng)? {
                self.run.add("keys destroyed", 1);
            }
        }
        Ok(())
    }

    fn kill_server(
        &self,
        server: &mut Server,
        is_done: &AtomicBool,
        mut rng: Rng,
    ) -> anyhow::Result<()> {
        loop {
            let until = Instant::now() + LONGEST_SERVER.mul_f64(rng.f64());
            while Instant::now() < until {
                if is_done.load(Ordering::Relaxed) {
                    return Ok(());
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            server.kill()?;
            let event = ProcessEvent::Killed;
            self.chronicle.server_event("database", event);
            server.restart()?;
            let event = ProcessEvent::Started;
            self.chronicle.server_event("database", event);
            self.run.add("servers killed", 1);
        }
    }

    /// Runs one process after the other.
    fn live_again_and_again(
        &self,
        number: u32,
        programs: [Program; 2],
        mut rng: Rng,
    ) -> anyhow::Result<()> {
        while !self.is_over() {
            self.run.cycle();
            let program = programs[rng.usize(..programs.len())];
            let (process, mut worker) =
                self.start(&format!("{number}"), program, false, &mut rng)?;
            let mut lines_left = rng.u64(1..=LONGEST_LIFE);
            while let Some(line) = worker.next_line()? {
                self.hear(line)?;
                lines_left -= 1;
                if lines_left == 0 || self.is_over() {
                    break;
                }
            }
            let killed = rng.u8(..3) > 0;
            if killed {
                worker.kill()?;
                self.run.add("killed", 1);
                let event = ProcessEvent::Killed;
                self.chronicle.process_event(process, event);
            } else {
                let event = ProcessEvent::AskedToStop;
                self.chronicle.process_event(process, event);
                worker.end();
            }
            while let Some(line) = worker.next_line()? {
                self.hear(line)?;
            }
            worker.ended(!killed)?;
            if !killed {
                let event = ProcessEvent::Ended;
                self.chronicle.process_event(process, event);
            }
        }
        Ok(())
    }

    fn start(
        &self,
        log: &str,
        program: Program,
        is_last: bool,
        rng: &mut Rng,
    ) -> anyhow::Result<(u32, Worker)> {
        let process = self.chronicle.process();
        let assignment = Assignment {
            config: self.config.clone(),
            folder: self.folder.clone(),
            process,
            seed: rng.u64(..),
            program,
            vaults: VAULTS,
            held: HELD,
            retaining: self.retaining,
            is_last,
        };
        let worker = self.run.worker(&format!("{}-{log}", self.name));
        let assignment = serde_json::to_string(&assignment)?;
        Ok((process, worker.arg(assignment).start()?))
    }

    fn hear(&self, line: Line) -> anyhow::Result<()> {
        match line {
            Line::Record(record) => {
                self.run.acknowledged(u64::from(acknowledges(&record)));
                self.chronicle.hear(record);
            }
            Line::Count { count } => self.run.add(&count, 1),
            Line::Fault { fault } => self.run.violation(format!("{}: {fault}", self.name)),
            Line::Other { other } => hold(&self.shown).push(serde_json::from_value(other)?),
        }
        Ok(())
    }

    /// Once all have ended: what one more process sees, and plain SQL, against the history and the keys.
    fn judge(self, rng: &mut Rng) -> anyhow::Result<()> {
        if crate::is_interrupted() {
            return Ok(());
        }
        // A busy machine may take longer.
        let config = fs::read_to_string(&self.config)?.replace(HURRY, "");
        fs::write(&self.config, config)?;
        let (process, mut last) = self.start("last", Program::Newer, true, rng)?;
        // Nothing else ends it; its standard input would.
        last.end();
        while let Some(line) = last.next_line()? {
            self.hear(line)?;
        }
        last.ended(true)?;
        let event = ProcessEvent::Ended;
        self.chronicle.process_event(process, event);
        rows::look(&self)?;
        judge(self.run, &self.name, self.chronicle);
        if !self.run.has_failed() {
            fs::remove_dir_all(&self.folder)?;
        }
        Ok(())
    }
}
