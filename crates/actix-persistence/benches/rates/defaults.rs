//! The same work with a setting at one value and at others: each side is a setting, such as `writers=4`, or `far-writers=4`
//! where a round trip takes a millisecond more.

use std::collections::BTreeMap;

use actix::dev::ToEnvelope;
use actix::{Addr, Handler};
use actix_persistence::Persistence;
use futures_util::future::join_all;

use crate::burst::bursts;
use crate::database::{Database, SqlConnection};
use crate::live::newest;
use crate::notebook::{Notebook, Noted, PersistRow, persisted};
use crate::paper::{Counting, Paper};
use crate::place::{FAR, ONE_WAY, Place};
use crate::replay::{EACH, LONG, PAGE, fill, names_of_many, recover};
use crate::series::Series;

/// The beginning of the names of these works; the rest is that of the work.
pub(crate) const PREFIX: &str = "defaults-";
/// The readers of `readers-100`: more than one, so that there always is one.
const READERS: usize = 4;

pub(crate) async fn run<D: Database<Connection: SqlConnection>>(series: &Series) {
    let work = &series.work[PREFIX.len()..];
    let (kind, number) = work.rsplit_once('-').unwrap_or((work, "1"));
    let number = || number.parse().expect("a number of actors");
    let notebooks = |note| {
        let actors = number();
        move |persistence: &Persistence| Notebook::start_noting(persistence, actors, note)
    };
    let journal = &["journal"];
    let row = async |place: &Place<D, Notebook>| persisted(&place.actors, series.time).await;
    match (kind, work) {
        (_, "replay-one") => recoveries::<D>(series, &["long".to_owned()], LONG).await,
        (_, "replay-many") => recoveries::<D>(series, &names_of_many(), EACH).await,
        ("burst", _) => {
            let burst =
                async |place: &Place<D, Notebook>| bursts(&place.actors[0], series.time).await;
            writes(series, journal, notebooks(Noted::new), burst).await;
        }
        ("persist", _) => writes(series, journal, notebooks(Noted::new), row).await,
        ("large", _) => writes(series, journal, notebooks(Noted::large), row).await,
        ("readers", _) => {
            let beside = async |place: &Place<D, Notebook>| beside_readers(place, series).await;
            writes(series, journal, notebooks(Noted::new), beside).await;
        }
        ("states", _) => {
            let states = number();
            let papers =
                move |persistence: &Persistence| Paper::start_many(persistence, "Plain", states);
            let row = async |place: &Place<D, Paper>| persisted(&place.actors, series.time).await;
            writes(series, &["state"], papers, row).await;
        }
        _ => series.has_no("setting"),
    }
}

/// Measures actors that write, those of each side on a database of their own.
async fn writes<D, A>(
    series: &Series,
    kinds: &[&str],
    start: impl Fn(&Persistence) -> Vec<Addr<A>>,
    work: impl AsyncFn(&Place<D, A>) -> f64,
) where
    D: Database<Connection: SqlConnection>,
    A: Handler<PersistRow>,
    A::Context: ToEnvelope<A, PersistRow>,
{
    let mut places = BTreeMap::new();
    series
        .measure(async |side| {
            if !places.contains_key(side) {
                let builder = Persistence::builder().change_handler("counting", Counting);
                let place = Place::make(database(side).await, kinds, builder, &start);
                places.insert(side.to_owned(), place.await);
            }
            work(&places[side]).await
        })
        .await;
    for place in places.into_values() {
        place.close().await;
    }
}

/// Makes a database with the settings of a side, at its distance.
async fn database<D: Database>(side: &str) -> D {
    let mut database = D::make().await;
    let settings = side.strip_prefix(FAR);
    if settings.is_some() {
        database.move_away(ONE_WAY);
    }
    database.set(settings.unwrap_or(side));
    database
}

/// Measures recoveries of the same logs.
async fn recoveries<D: Database>(series: &Series, names: &[String], events: usize) {
    let filled = async || {
        let database = D::make().await;
        fill(&database, names, events, PAGE).await;
        database
    };
    let mut near = filled().await;
    let mut far = None;
    if series.has_side_of(FAR) {
        let database = far.insert(filled().await);
        database.move_away(ONE_WAY);
    }
    series
        .measure(async |side| {
            let (database, settings) = match (side.strip_prefix(FAR), &mut far) {
                (Some(settings), Some(far)) => (far, settings),
                _ => (&mut near, side),
            };
            database.set(settings);
            recover(database, names, events).await
        })
        .await;
    near.close().await;
    if let Some(far) = far {
        far.close().await;
    }
}

/// Actors that persist event after event, while others read all events again and again: events per second.
async fn beside_readers<D: Database>(place: &Place<D, Notebook>, series: &Series) -> f64 {
    let readers = (0..READERS).map(|_| {
        let persistence = place.persistence.clone();
        actix::spawn(async move {
            loop {
                newest(&persistence).await;
            }
        })
    });
    let readers: Vec<_> = readers.collect();
    let rate = persisted(&place.actors, series.time).await;
    for reader in &readers {
        reader.abort();
    }
    join_all(readers).await;
    rate
}
