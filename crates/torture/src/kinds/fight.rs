//! Processes want the same few ids, and each deletes what its snapshots cover; they come and go, are stopped for a
//! while, and are killed: nothing acknowledged is lost, nothing is there twice, and no look shows what never was.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_persistence_history::{Answer, Done, ProcessEvent, What};
use fastrand::Rng;

use super::Kind;
use crate::{Backend, Chronicle, Ledger, Line, Look, Place, Retaining, Run, block_on, workers};

pub(super) const KIND: Kind = Kind {
    name: "fight",
    sentence: "Processes fight over a few ids while each deletes what its snapshots cover, cleans up and looks; they \
               come and go, are stopped for a while, and are killed.",
    backends: Backend::DATABASES,
    run,
    worker: Some(workers::fight::work),
};

/// So many at once at most; some of them are away at any time.
const PROCESSES: u32 = 5;
/// How many ids they want.
pub(crate) const IDS: u32 = 3;
/// A round has a database and settings of its own, and is judged in its end.
const LONGEST_ROUND: Duration = Duration::from_secs(60);
/// A process lives for so many answers at most.
const LONGEST_LIFE: u64 = 400;
/// Others get so many answers while one is stopped or away, or as many as they get in this time.
const OTHERS: u64 = 150;
const LONGEST_ABSENCE: Duration = Duration::from_secs(1);

/// How processes wait for their database: less patient than by default, so that nothing lasts.
const IMPATIENT: &str = "
[persistence.back-off]
min = \"5ms\"
max = \"100ms\"
[persistence.journal-plugin-fallback.circuit-breaker]
reset-timeout = \"500ms\"
[persistence.snapshot-store-plugin-fallback.circuit-breaker]
reset-timeout = \"500ms\"
";

struct Fight<'a> {
    run: &'a Run,
    chronicle: Chronicle,
    config: String,
    retaining: Retaining,
    ends: Instant,
    /// How many answers there were, of all processes.
    answers: AtomicU64,
    /// How many entries were acknowledged.
    answered: AtomicU64,
}

fn run(run: &Run) -> anyhow::Result<()> {
    for round in 1.. {
        if run.is_over() {
            break;
        }
        let mut rng = run.rng();
        let place = run.place()?;
        let config = place.config() + IMPATIENT;
        // They are there before anybody fights.
        place.make_tables(&config)?;
        let file = run.folder().join(format!("round-{round}.toml"));
        std::fs::write(&file, config)?;
        let fight = Fight {
            run,
            chronicle: run.chronicle(&format!("round-{round}"))?,
            config: file.display().to_string(),
            retaining: Retaining {
                every: rng.u64(1..=6),
                keep: rng.usize(1..=2),
            },
            ends: Instant::now() + LONGEST_ROUND,
            answers: AtomicU64::new(0),
            answered: AtomicU64::new(0),
        };
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let fighters: Vec<_> = (0..PROCESSES)
                .map(|fighter| {
                    let (fight, rng) = (&fight, rng.fork());
                    scope.spawn(move || fight.fight(fighter, rng))
                })
                .collect();
            fighters
                .into_iter()
                .map(std::thread::ScopedJoinHandle::join)
                .collect()
        });
        for outcome in outcomes {
            outcome.unwrap_or_else(|_| anyhow::bail!("a fighter panicked"))?;
        }
        fight.judge(&place)?;
    }
    Ok(())
}

impl Fight<'_> {
    fn is_over(&self) -> bool {
        self.run.is_over() || Instant::now() >= self.ends
    }

    /// One process after the other.
    fn fight(&self, fighter: u32, mut rng: Rng) -> anyhow::Result<()> {
        while !self.is_over() {
            self.live(fighter, &mut rng)?;
            if rng.bool() {
                self.let_others_work(&mut rng);
            }
        }
        Ok(())
    }

    fn live(&self, fighter: u32, rng: &mut Rng) -> anyhow::Result<()> {
        let process = self.chronicle.process();
        self.run.cycle();
        let worker = self.run.worker(&format!("fighter-{fighter}"));
        let Retaining { every, keep } = self.retaining;
        let mut worker = worker
            .arg(&self.config)
            .arg(process)
            .arg(rng.u64(..))
            .arg(every)
            .arg(keep)
            .start()?;
        let mut answers_left = rng.u64(1..=LONGEST_LIFE);
        while let Some(line) = worker.next_line()? {
            self.hear(line);
            answers_left -= 1;
            if answers_left == 0 || self.is_over() {
                break;
            }
            if rng.u64(..LONGEST_LIFE) == 0 {
                self.chronicle.process_event(process, ProcessEvent::Paused);
                worker.pause()?;
                self.run.add("stopped for a while", 1);
                self.let_others_work(rng);
                self.chronicle
                    .process_event(process, ProcessEvent::Continued);
                worker.resume()?;
            }
        }
        let killed = rng.bool();
        if killed {
            worker.kill()?;
            self.chronicle.process_event(process, ProcessEvent::Killed);
            self.run.add("killed", 1);
        } else {
            self.chronicle
                .process_event(process, ProcessEvent::AskedToStop);
            worker.end();
        }
        while let Some(line) = worker.next_line()? {
            self.hear(line);
        }
        worker.ended(!killed)?;
        if !killed {
            self.chronicle.process_event(process, ProcessEvent::Ended);
        }
        Ok(())
    }

    fn hear(&self, line: Line) {
        self.answers.fetch_add(1, Ordering::Relaxed);
        match line {
            Line::Record(record) => {
                if let What::Answer {
                    answer: Answer::Ok(Done::Persisted { .. }),
                    ..
                } = record.what
                {
                    self.run.acknowledged(1);
                    self.answered.fetch_add(1, Ordering::Relaxed);
                }
                self.chronicle.hear(record);
            }
            Line::Count { count } => self.run.add(&count, 1),
            Line::Fault { fault } => self.run.violation(fault),
            Line::Other { other } => self.run.violation(format!("a worker said {other}")),
        }
    }

    /// For as long as a stop or an absence lasts; no check depends on how much they do.
    fn let_others_work(&self, rng: &mut Rng) {
        let (answers, since) = (self.answers.load(Ordering::Relaxed), Instant::now());
        let enough = answers + rng.u64(1..=OTHERS);
        while self.answers.load(Ordering::Relaxed) < enough
            && since.elapsed() < LONGEST_ABSENCE
            && !self.is_over()
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// What is stored in the end, as the product shows it, against what its own state says.
    fn judge(self, place: &Place) -> anyhow::Result<()> {
        let acknowledged = self.answered.load(Ordering::Relaxed);
        actix::System::new().block_on(async {
            let persistence = place.open().await?;
            for id in 0..IDS {
                let ledger = Ledger::named(id.to_string()).retaining(self.retaining);
                let replayed = persistence.replay(ledger.clone()).await?;
                let (book, at) = (replayed.actor.book, replayed.sequence_nr);
                if let Err(what) = book.check(at) {
                    self.run
                        .violation(format!("of {id} there are in the end {what}"));
                }
                let started = persistence.start(move || ledger.clone())?;
                if started.send(Look).await? != book {
                    self.run
                        .violation(format!("a start of {id} shows another state than a look"));
                }
            }
            anyhow::Ok(())
        })?;
        let left = block_on(place.number("SELECT COUNT(*) FROM event_journal"))?;
        if acknowledged > 500 && left > acknowledged as i64 / 2 {
            let sentence =
                format!("{left} of {acknowledged} events are left: retention deletes nothing");
            self.run.violation(sentence);
        }
        Ok(())
    }
}
