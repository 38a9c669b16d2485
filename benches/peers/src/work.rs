//! The kinds of work: ask after ask, and recoveries.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::datum::Datum;
use crate::evento::Evento;
use crate::eventsourced::EventSourced;
use crate::library::{FILLED_AT_ONCE, Library};
use crate::ours::Ours;
use crate::series::Series;
use crate::tellus::Tellus;

/// Measures the libraries of a series in turn, round by round.
pub(crate) fn measure(series: &Series) {
    for library in &series.libraries {
        series.databases.make_anew(library);
    }
    let mut first = true;
    for round in 1..=series.rounds {
        for library in &series.libraries {
            let measured = match library.as_str() {
                Ours::NAME => once::<Ours>(series, first),
                Tellus::NAME => once::<Tellus>(series, first),
                Datum::NAME => once::<Datum>(series, first),
                EventSourced::NAME => once::<EventSourced>(series, first),
                Evento::NAME => once::<Evento>(series, first),
                other => panic!("no library {other}"),
            };
            match measured {
                Ok(rate) => series.report(round, library, rate),
                Err(why) if library == Ours::NAME => panic!("{why}"),
                // The run goes on without this round of theirs.
                Err(why) => println!(
                    "round {round} of {} does not count: {library}: {why}",
                    series.work
                ),
            }
        }
        first = false;
    }
    for library in &series.libraries {
        series.databases.remove(library);
    }
}

/// Does the work once; the first time, it stores what is recovered. Fails if events are missing.
fn once<L: Library>(series: &Series, first: bool) -> Result<f64, String> {
    L::run(async {
        let library = L::open(&series.databases).await;
        let rate = if let Some(entities) = series.number("ask-") {
            Ok(asked(&library, entities, series.time).await)
        } else {
            let (entities, events) = match series.work.as_str() {
                "recover-one" => (1, 100_000),
                "recover-10000" => (1, 10_000),
                "recover-many" => (1_000, 100),
                other => panic!("no work {other}"),
            };
            recovered(&library, entities, events, first).await
        };
        library.close().await;
        rate
    })
}

/// Asks every entity again as soon as it has answered, for this time: answers per second.
async fn asked<L: Library>(library: &L, entities: usize, time: Duration) -> f64 {
    let entities = started(library, entities).await;
    let before: usize = join_all(entities.iter().map(|entity| L::note(entity, 0)))
        .await
        .iter()
        .sum();
    let start = Instant::now();
    let counts = entities.iter().map(async |entity| {
        let (mut answers, mut count) = (0_usize, 0);
        while start.elapsed() < time {
            count = L::note(entity, 1).await;
            answers += 1;
        }
        (answers, count)
    });
    let counts = join_all(counts).await;
    let took = start.elapsed();
    let answers: usize = counts.iter().map(|(answers, _)| answers).sum();
    let stored: usize = counts.iter().map(|(_, count)| count).sum();
    assert_eq!(stored, before + answers, "each answer is for one event");
    join_all(entities.into_iter().map(L::stop)).await;
    answers as f64 / took.as_secs_f64()
}

/// Starts entities with so many events each, and waits until all are recovered: events per second.
///
/// They recover once before the clock starts: until then no library has all its connections.
async fn recovered<L: Library>(
    library: &L,
    entities: usize,
    events: usize,
    first: bool,
) -> Result<f64, String> {
    if first {
        fill(library, entities, events).await;
    }
    recovery(library, entities, events).await?;
    let took = recovery(library, entities, events).await?;
    Ok((entities * events) as f64 / took.as_secs_f64())
}

async fn recovery<L: Library>(
    library: &L,
    entities: usize,
    events: usize,
) -> Result<Duration, String> {
    library.before_recovery().await;
    let start = Instant::now();
    let started = started(library, entities).await;
    let counts = join_all(started.iter().map(|entity| L::note(entity, 0))).await;
    let took = start.elapsed();
    join_all(started.into_iter().map(L::stop)).await;
    let wrong = counts.iter().filter(|count| **count != events).count();
    if wrong > 0 {
        let recovered: usize = counts.iter().sum();
        let stored = entities * events;
        return Err(format!(
            "{recovered} of {stored} events were recovered; {wrong} of {entities} entities have other events than were noted"
        ));
    }
    Ok(took)
}

async fn fill<L: Library>(library: &L, entities: usize, events: usize) {
    let at_once = if L::TAKES_SEVERAL { FILLED_AT_ONCE } else { 1 };
    let entities = started(library, entities).await;
    join_all(entities.iter().map(async |entity| {
        for _ in 0..events / at_once {
            L::note(entity, at_once).await;
        }
    }))
    .await;
    join_all(entities.into_iter().map(L::stop)).await;
}

async fn started<L: Library>(library: &L, entities: usize) -> Vec<L::Entity> {
    let names: Vec<_> = (0..entities).map(|number| number.to_string()).collect();
    join_all(names.iter().map(|name| library.start(name))).await
}
