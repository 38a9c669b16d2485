//! A process that is killed while it writes.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use actix_persistence_sqlite::{SqliteJournal, SqliteOptions};
use actix_persistence_storage_api::{Journal, WriterId};

use crate::place::{Place, id, replay_all, write};

const CHILD: &str = "ACTIX_PERSISTENCE_TEST_CRASH";
const IDS: u64 = 8;
const ROUNDS: usize = 8;

/// Writes for ever, in groups of two events for each of some ids, and says what was confirmed.
async fn write_until_killed(path: String) {
    let journal = SqliteJournal::new(SqliteOptions::new(path)).unwrap();
    journal.initialize().await.unwrap();
    let writer = WriterId::random();
    let mut next = HashMap::new();
    let ids: Vec<_> = (0..IDS).map(|n| id(&n.to_string())).collect();
    for id in &ids {
        let recovered = journal.recover(id, writer).await.unwrap();
        next.insert(
            id.clone(),
            (recovered.epoch, recovered.highest_sequence_nr + 1),
        );
    }
    let mut out = std::io::stdout().lock();
    loop {
        let writes = ids.iter().map(|id| {
            let (epoch, number) = next[id];
            write(id, epoch, writer, number..=number + 1)
        });
        let outcomes = journal.write_messages(writes.collect()).await.unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.is_stored()));
        for (_, number) in next.values_mut() {
            *number += 2;
        }
        let (_, number) = next[&ids[0]];
        writeln!(out, "stored {}", number - 1).unwrap();
        out.flush().unwrap();
    }
}

/// Runs itself as the process to be killed.
#[tokio::test]
async fn after_a_kill_every_confirmed_write_is_there_and_none_is_half() {
    if let Ok(path) = std::env::var(CHILD) {
        return write_until_killed(path).await;
    }
    let place = Place::new();
    let program = std::env::current_exe().unwrap();
    let name = "crash::after_a_kill_every_confirmed_write_is_there_and_none_is_half";
    let mut highest = 0;
    for round in 0..ROUNDS {
        let mut child = Command::new(&program)
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, &place.path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut confirmed = 0;
        let mut lines = 0;
        for line in output.lines() {
            let line = line.unwrap();
            let Some((_, number)) = line.split_once("stored ") else {
                continue;
            };
            confirmed = number.parse().unwrap();
            lines += 1;
            // Killed in the middle of its next writes, a different one in each round; the rest of its lines counts too.
            if lines == 3 + 2 * round {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(confirmed > highest, "round {round} confirmed nothing");

        let journal = place.journal().await;
        for n in 0..IDS {
            let page = replay_all(&journal, &id(&n.to_string())).await;
            let count = page.events.len() as u64;
            assert!(
                count >= confirmed,
                "{count} events, but {confirmed} were confirmed"
            );
            assert_eq!(count % 2, 0, "half of an atomic write");
            for (event, number) in page.events.iter().zip(1..) {
                assert_eq!(event.sequence_nr, number);
                assert_eq!(&*event.payload.bytes, number.to_string().as_bytes());
            }
        }
        highest = confirmed;
    }
}
