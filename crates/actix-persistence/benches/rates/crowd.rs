//! Very many live actors, which persist in turn: an event should cost the same however many actors there are.

use std::time::Instant;

use actix::Addr;
use actix_persistence::Persistence;
use futures_util::future::join_all;

use crate::database::Database;
use crate::notebook::{Notebook, persisted_each};
use crate::replay::Note;
use crate::series::{END, Series, rate};

/// The actors that live all the time.
const LIVE: usize = 100_000;
/// The number of them that are asked at the same time.
const AT_ONCE: usize = 100;
/// The distance between the first turns of those.
const APART: usize = 37;

/// The sides are numbers of actors that are asked.
pub(crate) async fn run<D: Database>(series: &Series) {
    let database = D::make().await;
    let persistence = database.open(&["journal"], Persistence::builder()).await;
    let notebooks = Notebook::start_many(&persistence, LIVE);
    // Every actor has recovered and owns its id before the clock starts.
    persisted_each(&notebooks, 1).await;
    // Not all at neighbours, whose rows a database keeps beside each other.
    let mut turns: Vec<_> = (0..AT_ONCE).map(|first| first * APART).collect();
    series
        .measure(async |side| {
            let asked = side.parse().ok().filter(|asked| *asked <= LIVE);
            let asked: usize = asked.unwrap_or_else(|| series.has_no(side));
            in_turn(series, &notebooks[..asked], &mut turns).await
        })
        .await;
    drop(notebooks);
    persistence.stop(END).await;
    database.close().await;
}

/// Asks one actor after the other for an event, a hundred at the same time, and goes on where it stopped before: events per
/// second.
async fn in_turn(series: &Series, notebooks: &[Addr<Notebook>], turns: &mut [usize]) -> f64 {
    let start = Instant::now();
    let asked = turns.iter_mut().enumerate().map(async |(first, turn)| {
        let own = notebooks.iter().skip(first).step_by(AT_ONCE);
        let own: Vec<_> = own.collect();
        let mut count = 0;
        while count == 0 || start.elapsed() < series.time {
            let notebook = own[*turn % own.len()];
            notebook.send(Note(1)).await.unwrap().unwrap();
            *turn += 1;
            count += 1;
        }
        count
    });
    let count = join_all(asked).await.into_iter().sum();
    rate(count, start.elapsed())
}
