//! Code of the application does in the transactions of the stores whatever it likes, beside events, snapshots and states
//! that have nothing to do with it: no answer is untrue, and nobody waits for long.

mod judge;

use std::time::{Duration, Instant};

use actix_persistence::Config;
use actix_persistence_test_servers::Database;
use actix_persistence_torture::handlers::{
    Kind, Limits, Outcome, Program, Record, Round, SECTIONS, What, Writers,
};

use crate::database::Place;
use crate::scale::scaled;
use judge::Judge;

/// How many programs, each with its own connections, work on a database.
const PROGRAMS: u32 = 2;
/// A cycle has a database of its own, so that what is to be judged stays small.
const LONGEST_CYCLE: Duration = Duration::from_secs(30);

/// Who does nothing wrong gets each answer within this time, whatever code of the application does: a handler takes
/// 300 ms at most, and one at a time comes before them; the rest is for a busy machine.
const LONGEST_ANSWER: Duration = Duration::from_secs(5);

/// Of a run; another one begins with the same plans if this names it.
const SEED: &str = "ACTIX_PERSISTENCE_TEST_SEED";

fn seed() -> u64 {
    match std::env::var(SEED) {
        Ok(text) => text.parse().unwrap(),
        Err(_) => fastrand::u64(..),
    }
}

impl Place {
    fn kind(&self) -> Kind {
        match self {
            Self::File(_) => Kind::Sqlite,
            Self::Server {
                database: Database::MariaDb,
                ..
            } => Kind::MariaDb,
            Self::Server { .. } => Kind::Postgres,
        }
    }

    fn handlers_config(&self, sections: &str) -> Config {
        let base = self.config();
        // The section of the journal is that of the states, too.
        let (_, section) = base.split_once("[persistence.journal.here]\n").unwrap();
        let (section, _) = section.split_once("[persistence.snapshot-store]").unwrap();
        let states =
            format!("[persistence.state]\nplugin = \"here\"\n[persistence.state.here]\n{section}");
        Config::from_toml(&format!("{base}{states}{sections}"), "test").unwrap()
    }

    /// The tables of the stores and of the application.
    async fn make_tables(&self) {
        let plain = actix_persistence::Persistence::open(self.handlers_config("")).await;
        let plain = plain.unwrap();
        plain.ready().await.unwrap();
        plain.stop(Duration::from_secs(10)).await;
        let column = match self.kind() {
            Kind::Sqlite => "op INTEGER",
            Kind::Postgres | Kind::MariaDb => "op BIGINT",
        };
        let column = format!("ALTER TABLE durable_state ADD COLUMN {column}");
        let of_every_database = [
            &*column,
            "CREATE TABLE handled (persistence_id VARCHAR(255) NOT NULL, revision BIGINT NOT NULL, op BIGINT NOT NULL)",
            "CREATE TABLE worked (op BIGINT NOT NULL, part BIGINT NOT NULL)",
            "CREATE TABLE counters (name VARCHAR(10) NOT NULL PRIMARY KEY, n BIGINT NOT NULL)",
            "INSERT INTO counters (name, n) VALUES ('left', 0)",
            "INSERT INTO counters (name, n) VALUES ('right', 0)",
        ];
        let of_mariadb = [
            "CREATE PROCEDURE commits_it() COMMIT",
            "CREATE PROCEDURE rolls_it_back() ROLLBACK",
            "CREATE PROCEDURE sets_it() BEGIN
             SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET SESSION lock_wait_timeout = 77; END",
        ];
        for sql in of_every_database {
            self.execute(sql).await;
        }
        if self.kind() == Kind::MariaDb {
            for sql in of_mariadb {
                self.execute(sql).await;
            }
        }
    }
}

/// Sums of what was asked and answered.
#[derive(Default)]
struct Sums {
    rounds: u64,
    stored: u64,
    not_stored: u64,
    unknown: u64,
    entries: u64,
    longest: Duration,
    of: std::collections::BTreeMap<
        String,
        ([u64; 3], Duration, std::collections::BTreeSet<String>),
    >,
}

impl Sums {
    fn add(&mut self, records: &[Record]) {
        for record in records {
            match record.outcome {
                Outcome::Stored(_) => self.stored += 1,
                Outcome::NotStored(_) => self.not_stored += 1,
                Outcome::Unknown(_) => self.unknown += 1,
            }
            if let What::Put { plan, .. } | What::Transaction { plan } = &record.what {
                let where_ = if matches!(record.what, What::Put { .. }) {
                    "put"
                } else {
                    "work"
                };
                let of = self
                    .of
                    .entry(format!("{where_} {:?} {:?}", plan.mischief, plan.expected))
                    .or_default();
                let at = match record.outcome {
                    Outcome::Stored(_) => 0,
                    Outcome::NotStored(_) => 1,
                    Outcome::Unknown(_) => 2,
                };
                of.0[at] += 1;
                of.1 = of.1.max(record.took);
                match &record.outcome {
                    Outcome::NotStored(t) | Outcome::Unknown(t) => {
                        of.2.insert(t.chars().take(300).collect());
                    }
                    _ => {}
                }
            }
            if matches!(record.what, What::Entry { .. }) {
                self.entries += 1;
                self.longest = self.longest.max(record.took);
            }
        }
    }
}

async fn cycle(place: &Place, seed: u64, ends: Instant, sums: &mut Sums) -> Vec<String> {
    place.make_tables().await;
    let mut programs = Vec::new();
    let number = match place.kind() {
        // Another process would wait for the file as long as handlers find it free before.
        Kind::Sqlite => 1,
        Kind::Postgres | Kind::MariaDb => PROGRAMS,
    };
    for number in 0..number {
        let program = Program::open(place.handlers_config(SECTIONS), number).await;
        programs.push(program.unwrap());
    }
    let limits = Limits {
        most_ops: 10,
        answer: LONGEST_ANSWER,
    };
    let writers = Writers::new(&programs, place.kind(), seed, limits).unwrap();
    let mut faults = Vec::new();
    let mut records = Vec::new();
    while faults.is_empty() && Instant::now() < ends {
        writers.work(Round::Wild).await;
        writers.work(Round::Calm).await;
        sums.rounds += 1;
        faults.extend(writers.take_faults());
        records.extend(writers.take_records());
    }
    drop(writers);
    for program in programs {
        faults.extend(program.stop().await.err());
    }
    sums.add(&records);
    faults.extend(Judge::of(place, &records).await.faults());
    faults
}

async fn whatever_code_of_the_application_does_no_promise_is_broken(first: Place) {
    let seed = seed();
    let database = format!("{:?}", first.kind());
    let begun = Instant::now();
    let ends = begun + scaled(Duration::from_secs(5), Duration::from_secs(600));
    let mut sums = Sums::default();
    let mut next = Some(first);
    let mut cycles = 0;
    while Instant::now() < ends {
        let place = match next.take() {
            Some(place) => place,
            None => match &*database {
                "Sqlite" => Place::sqlite().await,
                "Postgres" => Place::postgres().await,
                _ => Place::mysql().await,
            },
        };
        let seed = seed.wrapping_add(cycles);
        eprintln!("{database}: {SEED}={seed}");
        let faults = cycle(
            &place,
            seed,
            ends.min(Instant::now() + LONGEST_CYCLE),
            &mut sums,
        )
        .await;
        cycles += 1;
        assert!(
            faults.is_empty(),
            "{database}, {SEED}={seed}: {} faults\n{}",
            faults.len(),
            faults.join("\n")
        );
    }
    let Sums {
        rounds,
        stored,
        not_stored,
        unknown,
        entries,
        longest,
        of,
    } = sums;
    for (what, (counts, longest, texts)) in of {
        eprintln!("{counts:?} {longest:?} {what}");
        for t in texts {
            eprintln!("        {t}");
        }
    }
    eprintln!(
        "{database}: {cycles} cycles, {rounds} rounds in {:?}: {stored} stored, {not_stored} certainly not, {unknown} unknown; \
         {entries} events, the slowest answered after {longest:?}",
        begun.elapsed()
    );
    assert!(
        stored > 0 && not_stored > 0 && entries > 0,
        "there was nothing to judge"
    );
}

on_every_database! {
    whatever_code_of_the_application_does_no_promise_is_broken,
}
