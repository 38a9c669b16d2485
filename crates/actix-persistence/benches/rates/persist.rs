//! Some number of actors that persist event after event.

use std::rc::Rc;
use std::time::Duration;

use actix::Addr;
use actix_persistence::Persistence;

use crate::bare::Bare;
use crate::database::Database;
use crate::group_commit::GroupCommit;
use crate::notebook::{Notebook, persisted};
use crate::plain_actors::{self, PlainActor};
use crate::row::Table;
use crate::series::{END, Series};

/// The rows of a bare batch.
const BATCH: usize = 100;
/// The actors of ours that many more are compared with.
const FEW: usize = 100;

/// Actors that have recovered, on a database of their own.
struct Population<D> {
    database: D,
    persistence: Persistence,
    notebooks: Vec<Addr<Notebook>>,
}

impl<D: Database> Population<D> {
    async fn of(actors: usize) -> Self {
        let database = D::make().await;
        let persistence = database.open(&["journal"], Persistence::builder()).await;
        let notebooks = Notebook::start_many(&persistence, actors);
        persisted(&notebooks, Duration::ZERO).await;
        Self {
            database,
            persistence,
            notebooks,
        }
    }

    async fn end(self) {
        drop(self.notebooks);
        self.persistence.stop(END).await;
        self.database.close().await;
    }
}

pub(crate) async fn run<D: Database>(series: &Series) {
    let actors = series.number("persist-");
    let all = Population::<D>::of(actors).await;
    let few = match series.has_side_of("few-actors") {
        true => Some(Population::<D>::of(FEW).await),
        false => None,
    };
    let database = &all.database;
    let group_commit =
        |writers| GroupCommit::start::<D::Connection>(&database.url(), Table::Events, writers);
    let (one_writer, two_writers) = (group_commit(1), group_commit(2));
    for writers in [&one_writer, &two_writers] {
        writers.rate(actors, Duration::ZERO).await;
    }
    let one_writer = Rc::new(one_writer);
    let plain_actors = PlainActor::start_many(&one_writer, actors);
    let mut bare = Bare::open(database).await;
    series
        .measure(async |side| match side {
            "actors" => persisted(&all.notebooks, series.time).await,
            "few-actors" => {
                let few = few.as_ref().expect("they were started for this side");
                persisted(&few.notebooks, series.time).await
            }
            "plain-actors" => plain_actors::stored(&plain_actors, series.time).await,
            "group-commit" => one_writer.rate(actors, series.time).await,
            "group-commit-2" => two_writers.rate(actors, series.time).await,
            "singles" => bare.on_one(Table::Events, 1, series.time).await,
            "batches" => bare.on_all(Table::Events, BATCH, series.time).await,
            other => series.has_no(other),
        })
        .await;
    for population in [Some(all), few].into_iter().flatten() {
        population.end().await;
    }
}
