//! The time of a persist beside the snapshots of others.

use std::time::{Duration, Instant};

use actix::{Addr, Arbiter};
use actix_persistence::Persistence;
use futures_util::future::join_all;

use crate::album::{Album, save_all, save_for};
use crate::database::Database;
use crate::notebook::{Notebook, persisted_each};
use crate::series::{END, Series};

/// The actors whose persists are timed.
const CLERKS: usize = 10;
/// The actors that save snapshots all the time.
const ALBUMS: usize = 100;
/// A measurement takes so many times as long as others, so that there are many snapshots at their pace.
const TIMES: u32 = 5;
/// Of so many persists one may take longer than the time that counts.
const ONE_OF: usize = 100;

pub(crate) async fn run<D: Database>(series: &Series) {
    let database = D::make().await;
    let kinds = &["journal", "snapshot-store"];
    let persistence = database.open(kinds, Persistence::builder()).await;
    let clerks = Notebook::start_many(&persistence, CLERKS);
    let thread = Arbiter::new();
    let albums = Album::start_many(&persistence, &thread, ALBUMS).await;
    // Every actor has recovered, and every row is there, before the clock starts.
    save_all(&albums).await;
    let time = series.time * TIMES;
    series
        .measure(async |side| match side {
            "alone" => persists(&clerks, time).await,
            "beside" => {
                let (rate, ()) =
                    futures_util::join!(persists(&clerks, time), save_for(&albums, time));
                rate
            }
            other => series.has_no(other),
        })
        .await;
    drop((clerks, albums));
    persistence.stop(END).await;
    thread.stop();
    database.close().await;
}

/// Lets each clerk persist event after event for a time: the persists of one clerk in a second, if each took as long as the
/// slowest but one of a hundred.
async fn persists(clerks: &[Addr<Notebook>], time: Duration) -> f64 {
    let end = Instant::now() + time;
    let rates = join_all(clerks.chunks(1).map(async |clerk| {
        let mut rates = Vec::new();
        while Instant::now() < end {
            rates.push(persisted_each(clerk, 1).await);
        }
        rates
    }));
    let mut rates = rates.await.concat();
    rates.sort_unstable_by(f64::total_cmp);
    rates[rates.len() / ONE_OF]
}
