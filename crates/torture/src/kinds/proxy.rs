//! A network between application and server that delays, loses, tears and cuts, after every byte: nothing acknowledged is
//! lost, what arrives late does no harm, and the application goes on by itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_persistence_test_servers::{Cut, Direction, FaultProxy, Flow};
use anyhow::Context;
use fastrand::Rng;

use super::Kind;
use super::servers::Application;
use crate::workers::stream::Retaining;
use crate::writers::{Scene, Writers};
use crate::{Backend, Run, clock, workers};

pub(super) const KIND: Kind = Kind {
    name: "proxy",
    sentence: "The network delays, resets, half-closes, swallows replies, brings requests late and cuts after every byte \
               offset, while applications open their stores, make tables, recover, write, save snapshots, delete and \
               stop.",
    backends: Backend::SERVERS,
    run,
    worker: Some(workers::writers::work),
};

/// The number of applications at once, each with a database and a network of its own.
const LANES: usize = 3;
/// The number of faults of a network, or starts in a network that is cut, after which their history is judged.
const FAULTS: u32 = 60;
const STARTS: u32 = 10;
/// The largest number of writes that are acknowledged between two faults.
const MOST_WRITES: u32 = 6;
/// The longest time from the last acknowledged write to the fault: in the middle of the next ones.
const LONGEST_WAIT: Duration = Duration::from_millis(5);
/// The longest time of a fault that is no cut; longer than a statement, a call and a breaker have.
const LONGEST_FAULT: Duration = Duration::from_millis(2000);
/// The share of faults that are no cut at an offset: one in this many.
const OTHERS: u8 = 12;
/// An application that writes is cut after each number of bytes up to this one, from some moment on.
const OFFSETS: usize = 2_000;
/// The largest number of bytes after which a start is cut; a first one, which makes the tables, has more.
const OFFSETS_OF_A_START: usize = 24_000;
/// The step between two such numbers, which goes through all of them, each once, far from the one before.
const STEP: usize = 7_919;
/// The share of starts that meet a network that falls silent instead of being cut, which costs a time limit: one in
/// this many.
const SILENT: u8 = 12;

const DIRECTIONS: [Direction; 2] = [Direction::Requests, Direction::Replies];
const CUTS: [Cut; 3] = [Cut::Reset, Cut::Closed, Cut::HalfClosed];

/// The cuts of all lanes so far; each one is at the next offset.
struct Sweep {
    /// The number of cuts in the life of an application.
    lives: AtomicUsize,
    /// The number of cuts in the start of an application.
    starts: AtomicUsize,
}

impl Sweep {
    /// The next cut of an application that writes.
    fn next_of_a_life(&self) -> (Direction, usize, Cut) {
        let number = self.lives.fetch_add(1, Ordering::Relaxed);
        let (direction, rest) = (DIRECTIONS[number % 2], number / 2);
        (direction, rest / 3 % OFFSETS, CUTS[rest % 3])
    }

    /// The next cut of a start.
    fn next_of_a_start(&self) -> (Direction, usize, Cut) {
        let number = self.starts.fetch_add(1, Ordering::Relaxed);
        let (direction, rest) = (DIRECTIONS[number % 2], number / 2);
        let offset = (rest / 3).wrapping_mul(STEP) % OFFSETS_OF_A_START;
        (direction, offset, CUTS[rest % 3])
    }
}

fn run(run: &Run) -> anyhow::Result<()> {
    // Another seed begins elsewhere, and all of them go through everything.
    let mut rng = run.rng();
    let sweep = Sweep {
        lives: AtomicUsize::new(rng.usize(..OFFSETS)),
        starts: AtomicUsize::new(rng.usize(..OFFSETS_OF_A_START)),
    };
    let ended: Vec<_> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (1..=LANES)
            .map(|lane| {
                let (sweep, rng) = (&sweep, run.rng());
                scope.spawn(move || disturb(run, lane, sweep, rng))
            })
            .collect();
        let lanes = lanes.into_iter().map(std::thread::ScopedJoinHandle::join);
        lanes.collect()
    });
    for outcome in ended {
        outcome.unwrap_or_else(|_| anyhow::bail!("a lane panicked"))?;
    }
    Ok(())
}

/// Runs the faults on one database after the other.
fn disturb(run: &Run, lane: usize, sweep: &Sweep, mut rng: Rng) -> anyhow::Result<()> {
    for round in 1.. {
        if run.is_over() {
            break;
        }
        let scene = Scene {
            streams: 4,
            driven: 1,
            states: 2,
            retaining: Some(Retaining {
                every: rng.u64(2..=20),
                keep: rng.usize(1..=2),
            }),
            longest_burst: 10,
            longest_pause: Duration::from_millis(1),
        };
        let place = run.place()?;
        let proxy = FaultProxy::start(port_of(place.url())?)?;
        let way = proxy.url(place.url());
        let name = format!("lane-{lane}-round-{round}");
        let writers = Writers::at(place.reached_by(way), run, &name, scene)?;
        // Each lane does both, and not both the same at once.
        if (round + lane).is_multiple_of(2) {
            cut_lives(run, &writers, &proxy, sweep, &mut rng)?;
        } else {
            cut_starts(run, &writers, &proxy, sweep, &mut rng)?;
        }
        proxy.pass();
        proxy.refuse(false);
        writers.judge()?;
    }
    Ok(())
}

fn port_of(url: &str) -> anyhow::Result<u16> {
    let (_, rest) = url.split_once("@127.0.0.1:").context("no port in a URL")?;
    let digits = rest.split('/').next().unwrap_or_default();
    Ok(digits.parse()?)
}

/// Runs one application that lives through many faults.
fn cut_lives(
    run: &Run,
    writers: &Writers<'_>,
    proxy: &FaultProxy,
    sweep: &Sweep,
    rng: &mut Rng,
) -> anyhow::Result<()> {
    let mut application = Application::start(writers, rng)?;
    for _ in 0..FAULTS {
        if run.is_over() {
            break;
        }
        application.writes(rng.u32(1..=MOST_WRITES), 0)?;
        std::thread::sleep(LONGEST_WAIT.mul_f64(rng.f64()));
        if rng.u8(..OTHERS) == 0 {
            run.add(disturb_once(proxy, rng), 1);
        } else {
            let (direction, offset, cut) = sweep.next_of_a_life();
            proxy.set(direction, Flow::CutAfter(offset, cut));
            application.goes_on_until(|_| proxy.flow(direction) == Flow::Pass)?;
            run.add("cuts at offsets", 1);
        }
        application.writes(1, clock::now())?;
        run.cycle();
    }
    application.end()
}

/// Disturbs the network for a while, then lets it be as before; returns the name of the disturbance.
fn disturb_once(proxy: &FaultProxy, rng: &mut Rng) -> &'static str {
    let length = LONGEST_FAULT.mul_f64(rng.f64());
    let last = || std::thread::sleep(length);
    let direction = DIRECTIONS[usize::from(rng.bool())];
    let what = match rng.u8(..7) {
        0 => {
            proxy.set(direction, Flow::Delay(length / 4));
            last();
            "delays"
        }
        1 => {
            proxy.set(Direction::Replies, Flow::Swallow);
            last();
            "swallowed replies"
        }
        2 => {
            // The asker has stopped waiting by the time that the server hears of it.
            proxy.set(Direction::Requests, Flow::Hold);
            last();
            "late requests"
        }
        3 => {
            proxy.set(Direction::Requests, Flow::HoldAfter(rng.usize(..OFFSETS)));
            last();
            "requests torn in two"
        }
        4 => {
            proxy.set(Direction::Replies, Flow::Hold);
            last();
            "late replies"
        }
        5 => {
            proxy.refuse(true);
            proxy.cut(CUTS[rng.usize(..CUTS.len())]);
            last();
            "refused connections"
        }
        _ => {
            proxy.cut(CUTS[rng.usize(..CUTS.len())]);
            "all connections cut"
        }
    };
    proxy.refuse(false);
    proxy.pass();
    what
}

/// Runs many applications, one after the other, each of which is cut off in its start: while it connects, makes tables
/// and recovers; and some in their end.
fn cut_starts(
    run: &Run,
    writers: &Writers<'_>,
    proxy: &FaultProxy,
    sweep: &Sweep,
    rng: &mut Rng,
) -> anyhow::Result<()> {
    for _ in 0..STARTS {
        if run.is_over() {
            break;
        }
        let (direction, offset, cut) = sweep.next_of_a_start();
        let is_silent = rng.u8(..SILENT) == 0;
        proxy.set(
            direction,
            match is_silent {
                true => Flow::HoldAfter(offset),
                false => Flow::CutAfter(offset, cut),
            },
        );
        let mut application = Application::start(writers, rng)?;
        if is_silent {
            std::thread::sleep(LONGEST_FAULT);
            proxy.pass();
            run.add("silent starts", 1);
        } else {
            application.goes_on_until(|_| proxy.flow(direction) == Flow::Pass)?;
            run.add("cuts at offsets of a start", 1);
        }
        application.writes(1, clock::now())?;
        if rng.bool() {
            let (direction, offset, cut) = sweep.next_of_a_life();
            proxy.set(direction, Flow::CutAfter(offset, cut));
            application.end()?;
            // It may have needed fewer bytes.
            if proxy.flow(direction) == Flow::Pass {
                run.add("ends cut off", 1);
            }
        } else {
            application.kill()?;
        }
        proxy.pass();
        run.cycle();
    }
    Ok(())
}
