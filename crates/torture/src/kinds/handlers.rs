//! Code of the application does in the transactions of the stores whatever it likes, beside events, snapshots and states
//! that have nothing to do with it: no answer is untrue, and no call waits for long.

mod judge;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use actix_persistence_history::{Invariant, ProcessEvent, check};

use super::Kind;
use crate::run::hold;
use crate::workers::handlers::{Assignment, Outcome, Record};
use crate::writers::{acknowledges, dump_streams};
use crate::{Backend, Chronicle, Line, Place, Run, block_on, workers};
use judge::Judge;

pub(super) const KIND: Kind = Kind {
    name: "handlers",
    sentence: "Change handlers, columns and transactions of the application end, hang, panic, fail, deadlock, define tables, \
               change the session and drop futures, beside events, snapshots and states on the same connections.",
    backends: Backend::DATABASES,
    run,
    worker: Some(workers::handlers::work),
};

/// A round has a database of its own, and is judged in its end.
const LONGEST_ROUND: Duration = Duration::from_secs(60);

/// The end of the last section of the config, that of the state store, and the sections after it. Handlers have little
/// time, so that many are over it.
const SECTIONS: &str = r#"
handler-timeout = "300ms"
change-event-journal = "here"
change-handler.Shelf = "hand"
change-handler.ToldShelf = "hand"
additional-columns.Shelf = ["op"]
additional-columns.ToldShelf = ["op"]
[persistence.back-off]
min = "5ms"
max = "100ms"
[persistence.journal-plugin-fallback.circuit-breaker]
max-failures = 5
[persistence.snapshot-store-plugin-fallback.circuit-breaker]
max-failures = 5
[persistence.state-plugin-fallback.circuit-breaker]
max-failures = 5
"#;

const TABLES: &[&str] = &[
    "CREATE TABLE handled (persistence_id VARCHAR(255) NOT NULL, revision BIGINT NOT NULL, op BIGINT NOT NULL)",
    "CREATE TABLE worked (op BIGINT NOT NULL, part BIGINT NOT NULL)",
    "CREATE TABLE counters (name VARCHAR(10) NOT NULL PRIMARY KEY, n BIGINT NOT NULL)",
    "INSERT INTO counters (name, n) VALUES ('left', 0)",
    "INSERT INTO counters (name, n) VALUES ('right', 0)",
];
const PROCEDURES: &[&str] = &[
    "CREATE PROCEDURE commits_it() COMMIT",
    "CREATE PROCEDURE rolls_it_back() ROLLBACK",
    "CREATE PROCEDURE sets_it() BEGIN
     SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET SESSION lock_wait_timeout = 77; END",
];

/// Returns the number of programs that work on the database, each with its own connections. On SQLite another process
/// would wait for the file as long as handlers find it free before.
fn processes(backend: Backend) -> u32 {
    match backend {
        Backend::Sqlite | Backend::Memory => 1,
        Backend::Postgres | Backend::Mysql => 2,
    }
}

fn run(run: &Run) -> anyhow::Result<()> {
    for number in 1.. {
        if run.is_over() {
            break;
        }
        let name = format!("round-{number}");
        let round = Round {
            run,
            chronicle: run.chronicle(&name)?,
            place: run.place()?,
            config: run.folder().join(format!("{name}.toml")),
            ends: Instant::now() + LONGEST_ROUND,
            records: Mutex::default(),
        };
        round.make_tables()?;
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let processes: Vec<_> = (0..processes(run.backend()))
                .map(|number| {
                    let (round, seed) = (&round, run.rng().u64(..));
                    let log = format!("{name}-{number}");
                    scope.spawn(move || round.live(&log, seed))
                })
                .collect();
            let ended = processes
                .into_iter()
                .map(std::thread::ScopedJoinHandle::join);
            ended.collect()
        });
        for outcome in outcomes {
            outcome.unwrap_or_else(|_| anyhow::bail!("a thread panicked"))?;
        }
        round.judge()?;
    }
    Ok(())
}

/// A database, and all that is done to it.
struct Round<'a> {
    run: &'a Run,
    chronicle: Chronicle,
    place: Place,
    config: PathBuf,
    ends: Instant,
    records: Mutex<Vec<Record>>,
}

impl Round<'_> {
    /// Makes the tables of the stores, and then those of the application and its column.
    fn make_tables(&self) -> anyhow::Result<()> {
        let Self { place, config, .. } = self;
        let stores = place.config_of(&["journal", "snapshot-store", "state"], "");
        place.make_tables(&stores)?;
        fs::write(config, stores + SECTIONS)?;
        let column = match place.backend() {
            Backend::Sqlite | Backend::Memory => "INTEGER",
            Backend::Postgres | Backend::Mysql => "BIGINT",
        };
        let column = format!("ALTER TABLE durable_state ADD COLUMN op {column}");
        block_on(place.execute(&column))?;
        for sql in TABLES {
            block_on(place.execute(sql))?;
        }
        if place.backend() == Backend::Mysql {
            for sql in PROCEDURES {
                block_on(place.execute(sql))?;
            }
        }
        Ok(())
    }

    fn live(&self, log: &str, seed: u64) -> anyhow::Result<()> {
        let process = self.chronicle.process();
        let assignment = Assignment {
            config: Path::to_owned(&self.config),
            process,
            seed,
            backend: self.place.backend(),
        };
        let assignment = serde_json::to_string(&assignment)?;
        let mut worker = self.run.worker(log).arg(assignment).start()?;
        while !self.run.is_over() && Instant::now() < self.ends {
            match worker.next_line()? {
                Some(line) => self.hear(line)?,
                None => break,
            }
        }
        self.chronicle
            .process_event(process, ProcessEvent::AskedToStop);
        worker.end();
        while let Some(line) = worker.next_line()? {
            self.hear(line)?;
        }
        worker.ended(true)?;
        self.chronicle.process_event(process, ProcessEvent::Ended);
        Ok(())
    }

    fn hear(&self, line: Line) -> anyhow::Result<()> {
        match line {
            Line::Record(record) => {
                if acknowledges(&record) {
                    self.run.acknowledged(1);
                }
                self.chronicle.hear(record);
            }
            Line::Count { count } if count == "rounds" => self.run.cycle(),
            Line::Count { count } => self.run.add(&count, 1),
            Line::Fault { fault } => self.run.violation(fault),
            Line::Other { other } => {
                let record: Record = serde_json::from_value(other)?;
                if matches!(record.outcome, Outcome::Stored(_)) {
                    self.run.acknowledged(1);
                }
                hold(&self.records).push(record);
            }
        }
        Ok(())
    }

    fn judge(self) -> anyhow::Result<()> {
        if crate::is_interrupted() {
            return Ok(());
        }
        dump_streams(&self.place, &self.chronicle)?;
        for violation in check(&self.chronicle.end()) {
            match violation.invariant {
                Invariant::NothingLost => self.run.lost(1, violation.to_string()),
                _ => self.run.violation(violation.to_string()),
            }
        }
        let records = hold(&self.records);
        for fault in Judge::of(&self.place, &records)?.faults() {
            self.run.violation(fault);
        }
        Ok(())
    }
}
