//! Several processes fight over a few ids while each deletes what its snapshots cover: nothing acknowledged is lost.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use actix::Addr;
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{PersistError, replay_actor};

use crate::lagging_stores::lagging_stores;
use crate::tally::{Add, Get, Log, Retaining, Tally};
use crate::world::{World, run};

/// The number of fights unless this variable says otherwise; `cargo xtask soak` does.
const FIGHTS: u64 = 6;
const FIGHTS_VARIABLE: &str = "ACTIX_PERSISTENCE_TEST_FIGHTS";
/// The length of each fight, on the clock of the test.
const FIGHT: Duration = Duration::from_secs(20);
const IDS: [&str; 2] = ["1", "2"];

/// The results of all commands.
#[derive(Default)]
struct Score {
    acknowledged: [i64; IDS.len()],
    conflicts: u64,
    overtaken: u64,
    faults: Vec<String>,
}

/// A process that comes, works for a while, and goes; it begins no command after the fight has ended.
///
/// It waits for the answer to each command, so that no outcome is unknown.
async fn process(
    storage: MemoryStorage,
    seed: u64,
    retaining: Retaining,
    score: Rc<RefCell<Score>>,
    goes_on: &Cell<bool>,
) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (journal, snapshots) = lagging_stores(&storage, random.u64(..));
    let world = World::tuned(storage, journal, snapshots, |_, _| {}, |_| {});
    let log = Log::default();
    let tallies = IDS.map(|id| {
        let log = log.clone();
        let make = move || Tally {
            retaining: Some(retaining),
            ..Tally::new(id, &log)
        };
        world.start(make).unwrap()
    });
    for _ in 0..random.usize(1..200) {
        if !goes_on.get() {
            break;
        }
        let which = random.usize(..IDS.len());
        if random.u8(..) < 10 {
            look(&world, IDS[which], retaining, &score).await;
        }
        command(&tallies[which], which, &score).await;
        tokio::time::sleep(Duration::from_micros(random.u64(..20_000))).await;
    }
    drop(tallies);
    while !world.environment.live_ids.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut score = score.borrow_mut();
    for entry in log.take() {
        if entry.contains("deleted while they were replayed") {
            score.overtaken += 1;
        } else if entry.starts_with("recovery failed") {
            score.faults.push(entry);
        }
    }
}

async fn command(tally: &Addr<Tally>, which: usize, score: &Rc<RefCell<Score>>) {
    let answer = tally.send(Add(1)).await;
    let mut score = score.borrow_mut();
    match answer {
        Ok(Ok(_)) => score.acknowledged[which] += 1,
        Ok(Err(PersistError::Conflict(_))) => score.conflicts += 1,
        other => score.faults.push(format!("{other:?}")),
    }
}

/// Whatever a look shows, it is a state that there was: as many events as its number says.
async fn look(world: &World, id: &str, retaining: Retaining, score: &Rc<RefCell<Score>>) {
    let tally = Tally {
        retaining: Some(retaining),
        ..Tally::new(id, &Log::default())
    };
    if let Ok((tally, at)) = replay_actor(tally, world.environment.clone()).await
        && tally.sum != at as i64
    {
        let fault = format!("a look shows {} at {at}", tally.sum);
        score.borrow_mut().faults.push(fault);
    }
}

async fn fight(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let retaining = Retaining {
        every: random.u64(1..6),
        keep: random.usize(1..3),
        delete_events: true,
        batches: 0,
    };
    let storage = MemoryStorage::new();
    let score = Rc::new(RefCell::new(Score::default()));
    let goes_on = Cell::new(true);
    let places: Vec<_> = (0..random.usize(2..6))
        .map(|_| {
            let (storage, score, goes_on) = (&storage, &score, &goes_on);
            let mut random = random.fork();
            async move {
                while goes_on.get() {
                    let (storage, score) = (storage.clone(), Rc::clone(score));
                    process(storage, random.u64(..), retaining, score, goes_on).await;
                }
            }
        })
        .collect();
    let end = async {
        tokio::time::sleep(FIGHT).await;
        goes_on.set(false);
    };
    tokio::join!(end, futures_util::future::join_all(places));
    let survivor = World::on(
        storage.clone(),
        std::sync::Arc::new(storage.journal()),
        |_| {},
    );
    for (which, id) in IDS.into_iter().enumerate() {
        let log = Log::default();
        let make = move || Tally {
            retaining: Some(retaining),
            ..Tally::new(id, &log)
        };
        let tally = survivor.start(make).unwrap();
        let stored = tally.send(Get).await.unwrap();
        let acknowledged = score.borrow().acknowledged[which];
        if stored != acknowledged {
            let fault = format!("{acknowledged} of {id} were acknowledged, {stored} are stored");
            score.borrow_mut().faults.push(fault);
        }
    }
    let score = score.borrow();
    assert!(
        score.faults.is_empty(),
        "seed {seed}, {retaining:?}: {:#?}",
        score.faults
    );
    assert!(score.acknowledged.iter().sum::<i64>() > 100, "seed {seed}");
    eprintln!(
        "seed {seed}: {:?} acknowledged, {} conflicts, {} recoveries overtaken, 0 lost",
        score.acknowledged, score.conflicts, score.overtaken
    );
}

#[test]
fn nothing_is_lost_when_several_processes_retain_and_fight() {
    let number = std::env::var(FIGHTS_VARIABLE);
    let fights = number.map_or(FIGHTS, |number| number.parse().unwrap());
    for seed in 0..fights {
        run(move || fight(seed));
    }
}
