//! The database server is killed, or stops answering, while applications write: they go on by themselves afterwards, and
//! nothing acknowledged is lost.

use std::time::{Duration, Instant};

use actix_persistence_history::ProcessEvent;
use actix_persistence_test_servers::Server;
use anyhow::Context;
use fastrand::Rng;

use super::Kind;
use crate::workers::stream::Retaining;
use crate::writers::{Scene, Writers};
use crate::{Backend, Line, Place, Run, Worker, clock, is_interrupted, workers};

pub(super) const KILL: Kind = Kind {
    name: "kill-server",
    sentence: "The database server is killed with SIGKILL, all its processes at once, and started again while \
               applications start, write and end.",
    backends: Backend::SERVERS,
    run: |run| disturb(run, kill),
    worker: Some(workers::writers::work),
};

pub(super) const HANG: Kind = Kind {
    name: "hang-server",
    sentence: "The database server is stopped for a while with SIGSTOP while applications start, write and end: \
               their connections stay, and nothing answers.",
    backends: Backend::SERVERS,
    run: |run| disturb(run, hang),
    worker: Some(workers::writers::work),
};

/// The number of faults after which their history is judged, and a new server is started.
const FAULTS: u32 = 20;
/// The largest number of writes that are acknowledged between two faults.
const MOST_WRITES: u32 = 200;
/// The longest time from the last acknowledged write to the fault: in the middle of the next ones.
const LONGEST_WAIT: Duration = Duration::from_millis(5);
/// The longest time for which a server is away; longer than a statement, a call and a breaker have.
const LONGEST_FAULT: Duration = Duration::from_secs(3);
/// Within this time something is acknowledged again.
const PATIENCE: Duration = Duration::from_secs(60);
/// The share of faults that take the application with them: one in this many.
const BOTH: u8 = 3;
/// One fault in so many comes while an application starts, and as many while one ends.
const STARTS: u8 = 4;
/// A fault comes so long after the start of an application at most: while it connects, makes tables, and recovers.
const LONGEST_START: Duration = Duration::from_millis(300);

/// A fault, which does something to a server, and leaves it as it was.
type Fault = fn(&mut Server, &Writers<'_>, &mut Rng) -> anyhow::Result<()>;

fn kill(server: &mut Server, writers: &Writers<'_>, rng: &mut Rng) -> anyhow::Result<()> {
    server.kill()?;
    writers
        .chronicle
        .server_event("database", ProcessEvent::Killed);
    // At once, or when the application has noticed that nothing is there.
    if rng.bool() {
        std::thread::sleep(LONGEST_FAULT.mul_f64(rng.f64() / 4.0));
    }
    server.restart()?;
    writers
        .chronicle
        .server_event("database", ProcessEvent::Started);
    Ok(())
}

fn hang(server: &mut Server, writers: &Writers<'_>, rng: &mut Rng) -> anyhow::Result<()> {
    writers
        .chronicle
        .server_event("database", ProcessEvent::Paused);
    server.suspend()?;
    std::thread::sleep(LONGEST_FAULT.mul_f64(rng.f64()));
    writers
        .chronicle
        .server_event("database", ProcessEvent::Continued);
    server.resume()?;
    Ok(())
}

fn disturb(run: &Run, fault: Fault) -> anyhow::Result<()> {
    for round in 1.. {
        if run.is_over() {
            break;
        }
        let mut rng = run.rng();
        let scene = Scene {
            streams: 6,
            driven: 2,
            states: 3,
            retaining: Some(Retaining {
                every: rng.u64(5..=20),
                keep: rng.usize(1..=2),
            }),
            longest_burst: 20,
            longest_pause: Duration::from_millis(2),
        };
        let mut server = run.server()?;
        let place = Place::on(run.backend(), &server)?;
        let writers = Writers::at(place, run, &format!("round-{round}"), scene)?;
        // The first one makes the tables.
        let mut application = start_amid(fault, &mut server, &writers, &mut rng)?;
        run.add("faults of starts", 1);
        for _ in 0..FAULTS {
            if run.is_over() {
                break;
            }
            application.writes(rng.u32(1..=MOST_WRITES), 0)?;
            std::thread::sleep(LONGEST_WAIT.mul_f64(rng.f64()));
            match rng.u8(..STARTS) {
                0 => {
                    application.kill()?;
                    application = start_amid(fault, &mut server, &writers, &mut rng)?;
                    run.add("faults of starts", 1);
                }
                1 => {
                    application.ask_to_end();
                    std::thread::sleep(LONGEST_WAIT.mul_f64(rng.f64()));
                    fault(&mut server, &writers, &mut rng)?;
                    application.hear_its_end()?;
                    application = Application::start(&writers, &mut rng)?;
                    run.add("faults of ends", 1);
                }
                _ => {
                    let dies = rng.u8(..BOTH) == 0;
                    if dies {
                        application.kill()?;
                    }
                    fault(&mut server, &writers, &mut rng)?;
                    if dies {
                        application = Application::start(&writers, &mut rng)?;
                    }
                }
            }
            application.writes(1, clock::now())?;
            run.cycle();
        }
        application.end()?;
        writers.judge()?;
    }
    Ok(())
}

/// Starts an application, and does something to the server meanwhile.
fn start_amid<'a, 'r>(
    fault: Fault,
    server: &mut Server,
    writers: &'a Writers<'r>,
    rng: &mut Rng,
) -> anyhow::Result<Application<'a, 'r>> {
    let mut application = Application::start(writers, rng)?;
    std::thread::sleep(LONGEST_START.mul_f64(rng.f64()));
    fault(server, writers, rng)?;
    application.writes(1, clock::now())?;
    Ok(application)
}

/// A process that writes.
pub(super) struct Application<'a, 'r> {
    writers: &'a Writers<'r>,
    process: u32,
    worker: Worker,
}

impl<'a, 'r> Application<'a, 'r> {
    pub(super) fn start(writers: &'a Writers<'r>, rng: &mut Rng) -> anyhow::Result<Self> {
        let (process, worker) = writers.start("app", rng)?;
        Ok(Self {
            writers,
            process,
            worker,
        })
    }

    /// Listens until this number of writes was acknowledged after this time.
    pub(super) fn writes(&mut self, writes_left: u32, after: u64) -> anyhow::Result<()> {
        let mut writes_left = writes_left;
        self.goes_on_until(|acknowledged_at| {
            writes_left -= u32::from(acknowledged_at.is_some_and(|at| at > after));
            writes_left == 0
        })
    }

    /// Listens until this is true; it gets the time of each line that acknowledges something.
    pub(super) fn goes_on_until(
        &mut self,
        mut is_enough: impl FnMut(Option<u64>) -> bool,
    ) -> anyhow::Result<()> {
        let since = Instant::now();
        while !is_interrupted() {
            let line = self.worker.next_line()?;
            let line = line.context("the application has ended by itself, see its log")?;
            let at = match &line {
                Line::Record(record) => Some(record.at),
                _ => None,
            };
            let acknowledges = self.writers.hear(line);
            if is_enough(at.filter(|_| acknowledges)) {
                break;
            }
            anyhow::ensure!(
                since.elapsed() < PATIENCE,
                "nothing is acknowledged {PATIENCE:?} after the server is back"
            );
        }
        Ok(())
    }

    pub(super) fn kill(&mut self) -> anyhow::Result<()> {
        self.worker.kill()?;
        let chronicle = &self.writers.chronicle;
        chronicle.process_event(self.process, ProcessEvent::Killed);
        self.hear_out()?;
        self.worker.ended(false)
    }

    pub(super) fn end(mut self) -> anyhow::Result<()> {
        self.ask_to_end();
        self.hear_its_end()
    }

    fn ask_to_end(&mut self) {
        let chronicle = &self.writers.chronicle;
        chronicle.process_event(self.process, ProcessEvent::AskedToStop);
        self.worker.end();
    }

    /// Listens until it is gone, having done everything.
    fn hear_its_end(&mut self) -> anyhow::Result<()> {
        let chronicle = &self.writers.chronicle;
        self.hear_out()?;
        self.worker.ended(true)?;
        chronicle.process_event(self.process, ProcessEvent::Ended);
        Ok(())
    }

    fn hear_out(&mut self) -> anyhow::Result<()> {
        while let Some(line) = self.worker.next_line()? {
            self.writers.hear(line);
        }
        Ok(())
    }
}
