//! A journal of very many events beside one of few: neither inserts, nor the highest number of an id, nor its recovery should
//! become slower.

use std::time::{Duration, Instant};

use actix::prelude::*;
use actix_persistence::Persistence;
use actix_persistence::prelude::*;

use crate::database::Database;
use crate::notebook::{Notebook, persisted_each};
use crate::replay::{Count, fill};
use crate::series::{END, Series, from_environment, rate};

/// The events of the small journal.
const FEW: usize = 10_000;
/// The events of the large one. On SQLite, which is a file of its own, the variable `EVENTS` may name another number.
const MANY: usize = 1_000_000;
/// The ids that share the events of a journal, but for those of the short logs.
const LOGS: usize = 1_000;
/// The step between two of these ids whose actors insert.
const STEP: usize = 10;
/// The events that each of these actors inserts in a measurement, and before it.
const EACH: usize = 100;
const BEFORE: usize = 10;
/// The ids that are recovered, and the events of each, which are the same in both journals.
const SHORT_LOGS: usize = 50;
const SHORT: usize = 100;
/// The events of an atomic write that fills a journal.
const BATCH: usize = 100;
/// The time that recoveries take: each takes well below a millisecond.
const RECOVERING: Duration = Duration::from_millis(300);

pub(crate) async fn run<D: Database>(series: &Series) {
    let many = match &*series.backend {
        "sqlite" => from_environment("EVENTS", MANY),
        _ => MANY,
    };
    let large = filled::<D>(many).await;
    series
        .measure(async |side| {
            if let Some(work) = side.strip_prefix("large-") {
                return measured(series, &large, work).await;
            }
            let work = side.strip_prefix("small-");
            let work = work.unwrap_or_else(|| series.has_no(side));
            // The one of the round before has become larger.
            let small = filled::<D>(FEW).await;
            let rate = measured(series, &small, work).await;
            small.close().await;
            rate
        })
        .await;
    large.close().await;
}

/// Makes a journal of this many events.
async fn filled<D: Database>(events: usize) -> D {
    let database = D::make().await;
    let logs: Vec<_> = (0..LOGS).map(|log| log.to_string()).collect();
    let share = (events - SHORT_LOGS * SHORT) / LOGS;
    fill(&database, &short_logs(), SHORT, BATCH).await;
    fill(&database, &logs, share, BATCH).await;
    database
}

fn short_logs() -> Vec<String> {
    let logs = 0..SHORT_LOGS;
    logs.map(|log| format!("short-{log}")).collect()
}

async fn measured<D: Database>(series: &Series, database: &D, work: &str) -> f64 {
    let persistence = database.open(&["journal"], Persistence::builder()).await;
    let rate = match work {
        "insert" => inserted(&persistence).await,
        "highest" => {
            let recovery = Recovery::none();
            started(&persistence, recovery, |notebook| notebook.send(Highest)).await
        }
        "recovery" => {
            let recovery = Recovery::default();
            let recovered = started(&persistence, recovery, |notebook| notebook.send(Count));
            recovered.await * SHORT as f64
        }
        other => series.has_no(other),
    };
    persistence.stop(END).await;
    rate
}

/// A hundred actors that persist event after event: events per second.
async fn inserted(persistence: &Persistence) -> f64 {
    let logs = (0..LOGS).step_by(STEP);
    let notebooks: Vec<_> = logs
        .map(|log| persistence.start(move || Notebook::named(log.to_string())))
        .map(|started| started.expect("no actor has this id"))
        .collect();
    // Every actor has recovered before the clock starts.
    persisted_each(&notebooks, BEFORE).await;
    persisted_each(&notebooks, EACH).await
}

/// Starts one actor of a short log after the other, and asks it for its number of events: actors per second.
async fn started<M>(
    persistence: &Persistence,
    recovery: Recovery,
    ask: impl Fn(&Addr<Notebook>) -> Request<Notebook, M>,
) -> f64
where
    Notebook: Handler<M>,
    M: Message<Result = u64> + Send + 'static,
{
    let logs = short_logs();
    let (mut count, mut took) = (0, Duration::ZERO);
    let begin = Instant::now();
    while count < logs.len() || begin.elapsed() < RECOVERING {
        let name = logs[count % logs.len()].clone();
        let id = PersistenceId::of("Notebook", &name);
        let start = Instant::now();
        let notebook =
            persistence.start(move || Notebook::named(name.clone()).recovering(recovery));
        let notebook = notebook.expect("the actor before has stopped");
        assert_eq!(ask(&notebook).await.expect("an answer"), SHORT as u64);
        took += start.elapsed();
        drop(notebook);
        persistence.stopped(&id).await;
        count += 1;
    }
    rate(count, took)
}

/// Asks for the highest number.
#[derive(Message)]
#[rtype(result = "u64")]
struct Highest;

impl Handler<Highest> for Notebook {
    type Result = u64;

    fn handle(&mut self, _: Highest, ctx: &mut Self::Context) -> u64 {
        ctx.last_sequence_nr()
    }
}
