//! A process that projects is killed at each step, one by one, and another one goes on.
//!
//! The steps are each call of the offset store and each statement of the handler, before and after; or whatever passes
//! between the process and a server, where a kill before a request is one before a statement, and a kill before a reply one
//! after it. All of them at full scale (`ACTIX_PERSISTENCE_TEST_SCALE=full`); otherwise some, others each time.

#![cfg_attr(
    not(any(feature = "postgres", feature = "mysql")),
    allow(dead_code, reason = "only a server has a connection")
)]

mod crash;
mod relay;

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_persistence::prelude::*;
use actix_persistence::projection::{
    ExactlyOnceHandler, ExtensionError, OnFailure, Projection, Session,
};
use actix_persistence::query::{EventEnvelope, EventOffset, EventSelection};
use actix_persistence::sql::{SessionWork, Sql};
use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};

use crate::projections::{Added, LONG, Place, add, newest};
use crate::revived_projections::plugin;

/// Says to a process where and at which step it is to be killed.
const DOOM: &str = "ACTIX_PERSISTENCE_KILLED_AT_STEP";
const IDS: usize = 2;
const AMOUNTS: u64 = 3;
/// The number of processes at the same time.
const AT_ONCE: u64 = 6;
/// The time after which another process goes on. The longer it is, the fewer steps are renewals, which a slow process makes
/// ever more of.
const LEASE: Duration = Duration::from_millis(1_500);
/// The steps between two kills, unless at full scale: at calls, and on the way to a server.
const STRIDES: [u64; 2] = [17, 61];

/// The kind of steps at which a process is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Steps {
    OfCalls,
    OfConnections,
}

/// Logs each event; refuses one of them at first, and another one always.
struct Log {
    table: String,
    version: u32,
    has_refused: AtomicBool,
}

#[async_trait]
impl ExactlyOnceHandler<EventEnvelope<Added>> for Log {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &EventEnvelope<Added>,
    ) -> Result<(), ExtensionError> {
        let (id, number) = (item.persistence_id.as_str(), item.sequence_nr as i64);
        let table = &self.table;
        let log = format!("INSERT INTO {table} (version, id, seq) VALUES ($1, $2, $3)");
        let values = [i64::from(self.version).into(), id.into(), number.into()];
        session.execute(Sql::assert_safe(log), values).await?;
        match (id, number) {
            ("Sum|0", 1) if !self.has_refused.swap(true, Ordering::SeqCst) => Err("not yet".into()),
            ("Sum|1", 2) => Err("never".into()),
            _ => Ok(()),
        }
    }
}

/// Starts the projection of this version, which has a progress and a log of its own.
fn start(persistence: &Persistence, place: &Place, version: u32) -> Projection {
    let new = persistence.projection("steps");
    let new = new.of_events::<Added>(None, EventSelection::all().of_entity_type("Sum"));
    let new = new.unwrap().version(version).with(|settings| {
        settings.group_size = 3;
        settings.lease = LEASE;
        settings.min_back_off = Duration::from_millis(1);
        settings.max_back_off = Duration::from_millis(10);
        // Each of two processes has two attempts at what is refused at first.
        settings.max_attempts = 5;
        settings.on_failure = OnFailure::Skip;
    });
    let log = Log {
        table: place.table("steps"),
        version,
        has_refused: AtomicBool::new(false),
    };
    new.exactly_once(log).unwrap()
}

/// Runs this test program again, as a process that projects; returns true if it was killed at the step, and false if it has
/// done everything before.
fn is_killed(place: &Place, steps: Steps, step: u64) -> bool {
    let test = "projections_killed_at_each_step::projects_until_it_is_killed";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(DOOM, format!("{steps:?} {step} {place}"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let is_killed = output.status.code().is_none();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(is_killed || output.status.success(), "step {step}: {log}");
    is_killed
}

/// Does nothing unless it is told what to do.
#[actix::test]
async fn projects_until_it_is_killed() {
    let Ok(doom) = std::env::var(DOOM) else {
        return;
    };
    let parts: Vec<_> = doom.splitn(3, ' ').collect();
    let (step, mut place) = (
        parts[1].parse().unwrap(),
        parts[2].parse::<Place>().unwrap(),
    );
    let persistence = match parts[0] {
        "OfCalls" => place.open_with(crash::at_calls(plugin(place.kind()))).await,
        _ => {
            place.reach_by(relay::before);
            place.open().await
        }
    };
    crash::count_to(step);
    let projection = start(&persistence, &place, step.try_into().unwrap());
    until_all_is_done(&projection).await;
    projection.stop().await;
    assert!(persistence.stop(LONG).await.is_complete());
    crash::count_no_more();
}

/// Waits until each event was handled or skipped, without a look at the store: such looks would be steps, the more the slower
/// the machine, and not one of them the projection's.
async fn until_all_is_done(projection: &Projection) {
    let all = IDS as u64 * AMOUNTS;
    let is_done = || {
        let status = projection.status();
        let shares = status.shares.values();
        shares
            .map(|share| share.handled + share.skipped)
            .sum::<u64>()
            == all
    };
    let waiting = async {
        while !is_done() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(LONG * 3, waiting).await.unwrap();
}

/// Kills a process at the step, and lets another one go on; returns whether it was killed.
async fn goes_on_after_a_kill_at(
    step: u64,
    steps: Steps,
    place: &Place,
    persistence: &Persistence,
    end: &EventOffset,
) -> bool {
    let doomed: Place = place.to_string().parse().unwrap();
    let killing = tokio::task::spawn_blocking(move || is_killed(&doomed, steps, step));
    let is_killed = killing.await.unwrap();
    let version = u32::try_from(step).unwrap();
    let projection = start(persistence, place, version);
    if let Err(error) = projection.applied(end, LONG * 3).await {
        let (status, record) = (projection.status(), projection.record().await);
        panic!("step {step} of {steps:?}: {error}: {status:?} {record:?}");
    }
    let skipped = projection.skipped(10).await.unwrap();
    let items: Vec<_> = skipped.iter().map(|skipped| &*skipped.item).collect();
    assert_eq!(items.len(), 1, "step {step} of {steps:?}: {skipped:?}");
    assert!(items[0].contains("event 2 of"), "step {step}: {items:?}");
    projection.stop().await;
    let found = logged(persistence, place, version).await;
    for id in 0..IDS {
        let of_id = found.iter().filter(|(of, _)| *of == format!("Sum|{id}"));
        let of_id: Vec<_> = of_id.map(|(_, number)| *number).collect();
        let right: &[i64] = if id == 1 { &[1, 3] } else { &[1, 2, 3] };
        assert_eq!(of_id, right, "id {id}, step {step} of {steps:?}");
    }
    is_killed
}

/// Returns the ids and numbers in the log of a version, in the order in which they were stored.
async fn logged(persistence: &Persistence, place: &Place, version: u32) -> Vec<(String, i64)> {
    let table = place.table("steps");
    let select = format!("SELECT id, seq FROM {table} WHERE version = $1 ORDER BY row_nr");
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            let values = [i64::from(version).into()];
            let rows = session.select(Sql::assert_safe(select), values).await?;
            let row = |row: &actix_persistence::storage_api::SqlRow| {
                Ok((row.get("id")?, row.get("seq")?))
            };
            rows.iter().map(row).collect()
        })
    });
    persistence.transact(None, work).await.unwrap()
}

async fn kill_at_each(steps: Steps, kind: &'static str) {
    let place = Place::new(kind, &format!("{steps:?}").to_lowercase());
    let persistence = place.open().await;
    make_table(&place, &persistence).await;
    add(&persistence, IDS, 1..=AMOUNTS).await;
    let end = newest(&persistence).await;
    let is_full = std::env::var("ACTIX_PERSISTENCE_TEST_SCALE").is_ok();
    let stride = match steps {
        _ if is_full => 1,
        Steps::OfCalls => STRIDES[0],
        Steps::OfConnections => STRIDES[1],
    };
    let (first, mut killed) = (1 + std::process::id() as u64 % stride, 0);
    for batch in 0.. {
        let all = (0..AT_ONCE).map(|nr| first + (batch * AT_ONCE + nr) * stride);
        let all = stream::iter(all)
            .map(|step| goes_on_after_a_kill_at(step, steps, &place, &persistence, &end));
        let ends: Vec<_> = all.buffered(AT_ONCE as usize).collect().await;
        killed += ends.iter().filter(|killed| **killed).count();
        // One of them had no such step: there are no more.
        if ends.contains(&false) {
            break;
        }
    }
    eprintln!("{kind}: killed at {killed} steps {steps:?}");
    assert!(killed > 3, "{killed}");
    assert!(persistence.stop(LONG).await.is_complete());
}

async fn make_table(place: &Place, persistence: &Persistence) {
    let row = match place.kind() {
        "sqlite" => "INTEGER PRIMARY KEY AUTOINCREMENT",
        "postgres" => "BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY",
        _ => "BIGINT PRIMARY KEY AUTO_INCREMENT",
    };
    let table = place.table("steps");
    // No key keeps an event from being there twice.
    let table =
        format!("CREATE TABLE {table} (row_nr {row}, version BIGINT, id VARCHAR(200), seq BIGINT)");
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            session.execute(Sql::assert_safe(table), []).await?;
            Ok(())
        })
    });
    persistence.transact(None, work).await.unwrap();
}

/// Whatever call or statement was the last one of a process, each event is projected once, or skipped.
pub(crate) async fn each_event_is_projected_once_over_a_kill_at_each_call(kind: &'static str) {
    kill_at_each(Steps::OfCalls, kind).await;
}

/// Whatever request or reply of a server was the last one of a process, each event is projected once, or skipped.
pub(crate) async fn each_event_is_projected_once_over_a_kill_on_the_way(kind: &'static str) {
    kill_at_each(Steps::OfConnections, kind).await;
}
