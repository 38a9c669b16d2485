//! Two to five processes want the same few ids, and each deletes what its snapshots cover; they come and go, are stopped
//! for a while, and are killed: nothing acknowledged is lost, nothing is there twice, and no look shows what never was.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_persistence_torture::{Ledger, Look, Retaining};

use crate::database::{Place, block_on};
use crate::fighter::Fighter;
use crate::scale::scaled;

const IDS: usize = 3;
/// So many at once at most; some of them are away at any time.
const PROCESSES: u32 = 5;
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

/// What all processes have heard.
#[derive(Default)]
struct Score {
    /// Client and number of each acknowledged entry, by id.
    acknowledged: [BTreeSet<(u32, u64)>; IDS],
    /// The number of each acknowledged event, by id.
    events: [BTreeSet<u64>; IDS],
    conflicts: u64,
    not_stored: u64,
    unsure: u64,
    looks: u64,
    clean_ups: u64,
    /// Recoveries and looks that have to start over.
    again: u64,
    kills: u64,
    stops: u64,
    lives: u64,
    faults: Vec<String>,
}

impl Score {
    fn hear(&mut self, client: u32, line: &str, next: &mut [u64; IDS]) {
        let words: Vec<_> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        match words[0] {
            "acknowledged" => {
                let (id, entry, event) = (number(1) as usize, number(2), number(3));
                next[id] = entry + 1;
                let new = self.acknowledged[id].insert((client, entry));
                if !new || !self.events[id].insert(event) {
                    let fault =
                        format!("event {event} of {id}, or its entry, was acknowledged twice");
                    self.faults.push(fault);
                }
            }
            "unsure" => {
                next[number(1) as usize] = number(2) + 1;
                self.unsure += 1;
            }
            "conflict" => self.conflicts += 1,
            "not-stored" => self.not_stored += 1,
            "look" => self.looks += 1,
            "cleaned-up" => self.clean_ups += 1,
            "again" => self.again += 1,
            _ => self.faults.push(line.to_owned()),
        }
    }
}

struct Fight {
    config: PathBuf,
    folder: tempfile::TempDir,
    retaining: Retaining,
    ends: Instant,
    /// How many answers there were, of all processes.
    answers: AtomicU64,
    score: Mutex<Score>,
}

impl Fight {
    fn is_over(&self) -> bool {
        Instant::now() >= self.ends || !self.score.lock().unwrap().faults.is_empty()
    }

    /// One process after the other, with the numbers of one client.
    fn fight(&self, client: u32) {
        let mut next = [1; IDS];
        while !self.is_over() {
            self.live(client, &mut next);
            // It may have died with an entry under way, of which nobody knows what became of it.
            next.iter_mut().for_each(|next| *next += 1);
            if fastrand::bool() {
                self.let_others_work();
            }
        }
    }

    fn live(&self, client: u32, next: &mut [u64; IDS]) {
        let life = {
            let mut score = self.score.lock().unwrap();
            score.lives += 1;
            score.lives
        };
        let log = self.folder.path().join(format!("life-{life}.log"));
        let mut fighter = Fighter::start(
            &self.config,
            client,
            self.retaining,
            next.iter().copied(),
            log.clone(),
        );
        let mut answers_left = fastrand::u64(1..=LONGEST_LIFE);
        while let Some(line) = fighter.next_line() {
            self.score.lock().unwrap().hear(client, &line, next);
            self.answers.fetch_add(1, Ordering::Relaxed);
            answers_left -= 1;
            if answers_left == 0 || self.is_over() {
                break;
            }
            if fastrand::u64(..LONGEST_LIFE) == 0 {
                fighter.signal("STOP");
                self.score.lock().unwrap().stops += 1;
                self.let_others_work();
                fighter.signal("CONT");
            }
        }
        let killed = fastrand::bool();
        if killed {
            fighter.kill();
            self.score.lock().unwrap().kills += 1;
        } else {
            fighter.end();
        }
        while let Some(line) = fighter.next_line() {
            self.score.lock().unwrap().hear(client, &line, next);
            self.answers.fetch_add(1, Ordering::Relaxed);
        }
        fighter.ended(!killed);
        std::fs::remove_file(log).unwrap();
    }

    /// For as long as a stop or an absence lasts; no check depends on how much they do.
    fn let_others_work(&self) {
        let (answers, since) = (self.answers.load(Ordering::Relaxed), Instant::now());
        let enough = answers + fastrand::u64(1..=OTHERS);
        while self.answers.load(Ordering::Relaxed) < enough
            && since.elapsed() < LONGEST_ABSENCE
            && Instant::now() < self.ends
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// What is stored in the end, against what was acknowledged.
async fn check(place: &Place, retaining: Retaining, score: &mut Score) {
    let persistence = place.open().await;
    for id in 0..IDS {
        let ledger = Ledger::named(id.to_string()).retaining(retaining);
        let replayed = persistence.replay(ledger.clone()).await.unwrap();
        let (book, at) = (replayed.actor.book, replayed.sequence_nr);
        if let Err(fault) = book.check(at) {
            score
                .faults
                .push(format!("of {id} there are in the end {fault}"));
        }
        let lost: Vec<_> = score.acknowledged[id]
            .iter()
            .filter(|&&(client, number)| !book.has(client, number))
            .collect();
        if !lost.is_empty() {
            let fault = format!("of {id} these were acknowledged and are lost: {lost:?}");
            score.faults.push(fault);
        }
        // Nobody was told of these: at most one for each death and each unknown outcome.
        let untold = at - score.acknowledged[id].len() as u64;
        if untold > score.unsure + score.kills {
            score
                .faults
                .push(format!("{untold} entries of {id} were never acknowledged"));
        }
        let started = persistence.start(move || ledger.clone()).unwrap();
        assert_eq!(started.send(Look).await.unwrap(), book);
    }
    assert!(
        persistence
            .stop(Duration::from_secs(60))
            .await
            .is_complete()
    );
}

fn fight(place: &Place, keep: usize) {
    let every = fastrand::u64(1..=6);
    let retaining = Retaining { every, keep };
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("fight.toml");
    std::fs::write(&config, place.config() + IMPATIENT).unwrap();
    let length = Duration::from_secs(scaled(6, 600));
    // They make the tables before anybody fights.
    actix::System::new().block_on(async { drop(place.open().await) });
    let fight = Fight {
        config: Path::to_owned(&config),
        folder,
        retaining,
        ends: Instant::now() + length,
        answers: AtomicU64::new(0),
        score: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for client in 1..=PROCESSES {
            let fight = &fight;
            scope.spawn(move || fight.fight(client));
        }
    });
    let mut score = fight.score.into_inner().unwrap();
    actix::System::new().block_on(check(place, retaining, &mut score));
    let acknowledged: usize = score.acknowledged.iter().map(BTreeSet::len).sum();
    let left = block_on(place.number("SELECT COUNT(*) FROM event_journal"));
    let Score {
        conflicts,
        not_stored,
        unsure,
        looks,
        clean_ups,
        again,
        kills,
        stops,
        lives,
        ..
    } = &score;
    eprintln!(
        "keep {keep}, every {every}, {length:?}: {lives} lives ({kills} killed, {stops} stopped for a while), \
         {acknowledged} acknowledged, {conflicts} conflicts, {not_stored} not stored, {unsure} unknown, {looks} looks, \
         {clean_ups} clean-ups, {again} recoveries and looks begun again, {left} events left, {} faults",
        score.faults.len()
    );
    assert!(
        score.faults.is_empty(),
        "{retaining:?}: {:#?}",
        score.faults
    );
    assert!(
        acknowledged > 50 && *conflicts > 0 && *looks > 0,
        "no fight"
    );
    assert!(left < acknowledged as i64 / 2, "retention deletes nothing");
}

mod sqlite {
    use super::*;

    #[test]
    fn nothing_is_lost_where_processes_keep_one_snapshot_and_fight() {
        fight(&block_on(Place::sqlite()), 1);
    }

    #[test]
    fn nothing_is_lost_where_processes_keep_two_snapshots_and_fight() {
        fight(&block_on(Place::sqlite()), 2);
    }
}

mod postgres {
    use super::*;

    #[test]
    fn nothing_is_lost_where_processes_keep_one_snapshot_and_fight() {
        fight(&block_on(Place::postgres()), 1);
    }

    #[test]
    fn nothing_is_lost_where_processes_keep_two_snapshots_and_fight() {
        fight(&block_on(Place::postgres()), 2);
    }
}

mod mysql {
    use super::*;

    #[test]
    fn nothing_is_lost_where_processes_keep_one_snapshot_and_fight() {
        fight(&block_on(Place::mysql()), 1);
    }

    #[test]
    fn nothing_is_lost_where_processes_keep_two_snapshots_and_fight() {
        fight(&block_on(Place::mysql()), 2);
    }
}
