//! A load balancer that knows nothing of ids sends every request to the next process.

use std::time::{Duration, Instant};

use actix_persistence::PersistError;
use actix_persistence_torture::Place;
use futures_util::future::join_all;

use crate::balancer::Process;
use crate::ledger::{Enter, Ledger, Look};
use crate::scale::scaled;
use crate::tables::tables;

const IDS: usize = 100;
const CLIENTS: u32 = 32;
/// The largest number of entries of each client: 1,600 of all clients meet some hundreds of conflicts.
const ENTRIES: [usize; 2] = [50, usize::MAX];
/// The time in seconds after which no client sends a further entry.
const SECONDS: [u64; 2] = [3, 30];
/// The rate of a debug build on a machine that is busy with much else, and that of a release build on a quiet one with two
/// cores, the database beside it.
const ACKNOWLEDGED_PER_SECOND: [f64; 2] = [100.0, 1_500.0];
/// At first as long as one back-off, of which a conflict needs none.
const P99: [Duration; 2] = [Duration::from_secs(3), Duration::from_millis(200)];
/// An entry that loses so often never gets through.
const TRIES: u32 = 100;

/// Chooses the process that gets the first try of an entry; the next ones go to the other in turn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Balancer {
    RoundRobin,
    /// Each id has a process of its own.
    Sticky,
}

/// The fate of the entries of one client.
#[derive(Default)]
struct Outcome {
    /// The number of entries of each id.
    entered: Vec<u64>,
    latencies: Vec<Duration>,
    conflicts: usize,
    most_tries: u32,
    failed: Vec<String>,
}

/// Sends entries to one process after the other, and what is refused as a conflict to the other one.
async fn send_and_send_again(
    balancer: Balancer,
    client: u32,
    processes: &[Process; 2],
    ends: Instant,
) -> Outcome {
    let mut outcome = Outcome {
        entered: vec![0; IDS],
        ..Outcome::default()
    };
    let mut turn = client as usize;
    let [normal, full] = ENTRIES;
    while outcome.latencies.len() < scaled(normal, full) && Instant::now() < ends {
        let id = fastrand::usize(..IDS);
        let number = outcome.entered[id] + 1;
        let begun = Instant::now();
        if balancer == Balancer::Sticky {
            turn = id;
        }
        for try_nr in 1.. {
            turn += 1;
            let ledger = &processes[turn % 2].ledgers[id];
            match ledger.send(Enter { client, number }).await {
                Ok(Ok(_)) => {
                    outcome.entered[id] = number;
                    outcome.latencies.push(begun.elapsed());
                    outcome.most_tries = outcome.most_tries.max(try_nr);
                    break;
                }
                Ok(Err(PersistError::Conflict(_))) if try_nr < TRIES => outcome.conflicts += 1,
                other => {
                    outcome.failed.push(format!("{other:?}"));
                    return outcome;
                }
            }
        }
    }
    outcome
}

async fn thirty_two_clients(place: Place, balancer: Balancer) {
    let processes = [
        Process::start(&place, IDS).await,
        Process::start(&place, IDS).await,
    ];
    let [normal, full] = SECONDS;
    let begun = Instant::now();
    let ends = begun + Duration::from_secs(scaled(normal, full));
    let clients =
        (1..=CLIENTS).map(|client| send_and_send_again(balancer, client, &processes, ends));
    let outcomes = join_all(clients).await;
    let length = begun.elapsed();

    let failed: Vec<_> = outcomes
        .iter()
        .flat_map(|outcome| &outcome.failed)
        .collect();
    let mut latencies: Vec<_> = outcomes
        .iter()
        .flat_map(|outcome| &outcome.latencies)
        .collect();
    latencies.sort();
    let at = |percent: usize| *latencies[latencies.len() * percent / 100];
    let rate = latencies.len() as f64 / length.as_secs_f64();
    let conflicts: usize = outcomes.iter().map(|outcome| outcome.conflicts).sum();
    let most_tries = outcomes
        .iter()
        .map(|outcome| outcome.most_tries)
        .max()
        .unwrap();
    eprintln!(
        "{balancer:?}: {rate:.0} acknowledged/s, {conflicts} conflicts, {} failed, \
         p50 {:?}, p90 {:?}, p99 {:?}, longest {:?}, at most {most_tries} tries",
        failed.len(),
        at(50),
        at(90),
        at(99),
        latencies.last().unwrap()
    );
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(
        conflicts > 0,
        balancer == Balancer::RoundRobin,
        "{conflicts} conflicts"
    );
    for id in 0..IDS {
        let book = processes[0]
            .persistence
            .replay(ledger_of(id))
            .await
            .unwrap();
        book.actor.book.check(book.sequence_nr).unwrap();
        for (client, outcome) in (1..).zip(&outcomes) {
            let stored = book
                .actor
                .book
                .clients
                .get(&client)
                .cloned()
                .unwrap_or_default();
            assert_eq!(
                (stored.last, stored.holes.len()),
                (outcome.entered[id], 0),
                "{client} {id}"
            );
        }
    }
    let [normal, full] = ACKNOWLEDGED_PER_SECOND;
    assert!(rate > scaled(normal, full), "{rate} acknowledged a second");
    let [normal, full] = P99;
    assert!(at(99) < scaled(normal, full), "p99 is {:?}", at(99));
}

fn ledger_of(id: usize) -> Ledger {
    Ledger::named(id.to_string())
}

async fn a_retry_at_the_other_process_gets_through(place: Place) {
    let processes = [
        Process::start(&place, 1).await,
        Process::start(&place, 1).await,
    ];
    // Both have recovered before anybody writes.
    for process in &processes {
        process.ledgers[0].send(Look).await.unwrap();
    }
    let (mut turn, mut conflicts) = (0, 0);
    for number in 1..=64 {
        let enter = Enter { client: 1, number };
        let mut tries = 0;
        loop {
            (turn, tries) = (turn + 1, tries + 1);
            match processes[turn % 2].ledgers[0].send(enter).await.unwrap() {
                Ok(event) => break assert_eq!(event, number),
                Err(PersistError::Conflict(_)) => conflicts += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(tries <= 2, "entry {number} got through at try {tries}");
    }
    assert!(conflicts > 0, "no fight");
}

async fn a_reader_in_one_process_never_disturbs_a_writer_in_the_other(place: Place) {
    let writer = Process::start(&place, 1).await;
    let reader = Process::start(&place, 0).await;
    for number in 1..=scaled(50, 2_000) {
        let enter = Enter { client: 1, number };
        // A question of an actor that starts for it, and one without an actor, while the other process writes.
        let asked = async {
            let ledger = reader.ledger("0").await;
            let shown = ledger.send(Look).await.unwrap();
            drop(ledger);
            let replayed = reader.persistence.replay(ledger_of(0)).await.unwrap();
            (shown, replayed.actor.book)
        };
        let (answer, (shown, replayed)) = tokio::join!(writer.ledgers[0].send(enter), asked);
        assert_eq!(answer.unwrap().unwrap(), number);
        for book in [shown, replayed] {
            assert!(
                [number - 1, number].contains(&book.entries),
                "{book:?} at {number}"
            );
            book.check(book.entries).unwrap();
        }
    }
}

async fn questions_and_starts_write_nothing(place: Place) {
    let writer = Process::start(&place, IDS).await;
    for (id, ledger) in writer.ledgers.iter().enumerate() {
        let number = id as u64 + 1;
        ledger
            .send(Enter { client: 1, number })
            .await
            .unwrap()
            .unwrap();
    }
    let before = tables(&place).await;
    let reader = Process::start(&place, 0).await;
    // The first hundred are there, and work in the other process; nobody has ever heard of the others.
    let questions = (0..IDS + 200).map(async |id| {
        let entries = reader
            .ledger(&id.to_string())
            .await
            .send(Look)
            .await
            .unwrap()
            .entries;
        assert_eq!(entries, u64::from(id < IDS));
    });
    join_all(questions).await;
    assert_eq!(tables(&place).await, before);
    let rows = place
        .number("SELECT COUNT(*) FROM journal_metadata")
        .await
        .unwrap();
    assert_eq!(rows, IDS as i64);

    let actors = scaled(1_000, 10_000);
    let begun = Instant::now();
    let mut started = Vec::new();
    for id in 0..actors {
        started.push(reader.ledger(&format!("of {id}")).await);
    }
    for recovered in join_all(started.iter().map(|ledger| ledger.send(Look))).await {
        assert_eq!(recovered.unwrap().entries, 0);
    }
    eprintln!("{actors} actors have started in {:?}", begun.elapsed());
    assert_eq!(tables(&place).await, before);
    for ledger in &writer.ledgers {
        let enter = Enter {
            client: 1,
            number: 1_000,
        };
        assert_eq!(ledger.send(enter).await.unwrap().unwrap(), 2);
    }
    assert_ne!(tables(&place).await, before, "a write is seen");
}

async fn thirty_two_clients_that_send_again_on_a_conflict_all_get_through(place: Place) {
    thirty_two_clients(place, Balancer::RoundRobin).await;
}

async fn clients_that_are_routed_by_id_meet_no_conflict(place: Place) {
    thirty_two_clients(place, Balancer::Sticky).await;
}

on_every_database! {
    thirty_two_clients_that_send_again_on_a_conflict_all_get_through,
    clients_that_are_routed_by_id_meet_no_conflict,
    a_retry_at_the_other_process_gets_through,
    a_reader_in_one_process_never_disturbs_a_writer_in_the_other,
    questions_and_starts_write_nothing,
}
