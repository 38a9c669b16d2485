//! Actors with a fixed number of events in memory, for a program that counts instructions.

use actix_persistence::Persistence;

use crate::notebook::{Notebook, persisted_each};
use crate::series::{END, Series};

/// Measures `each-20` with the sides `1` and `100`: 20 events of each of one actor, and of each of a hundred.
pub(crate) async fn run(series: &Series) {
    let events = series.number("each-");
    let persistence = Persistence::memory().await.unwrap();
    series
        .measure(async |actors| {
            let actors = actors.parse().expect("a number of actors");
            let notebooks = Notebook::start_many(&persistence, actors);
            persisted_each(&notebooks, events).await
        })
        .await;
    persistence.stop(END).await;
}
