//! The time of a persist beside the snapshots of others.

use std::cell::{Cell, RefCell};
use std::future::Future;

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
    series
        .measure(async |side| match side {
            "alone" => persists(&clerks, tokio::time::sleep(series.time)).await,
            "beside" => persists(&clerks, save_for(&albums, series.time)).await,
            other => series.has_no(other),
        })
        .await;
    drop((clerks, albums));
    persistence.stop(END).await;
    thread.stop();
    database.close().await;
}

/// Lets each clerk persist event after event beside something else: the persists of one clerk in a second, if each took
/// as long as the slowest but one of a hundred.
async fn persists(clerks: &[Addr<Notebook>], beside: impl Future<Output = ()>) -> f64 {
    let is_over = Cell::new(false);
    let rates = RefCell::new(Vec::new());
    let each = join_all(clerks.chunks(1).map(async |clerk| {
        while !is_over.get() {
            let rate = persisted_each(clerk, 1).await;
            rates.borrow_mut().push(rate);
        }
    }));
    let beside = async {
        beside.await;
        is_over.set(true);
    };
    futures_util::join!(each, beside);
    let mut rates = rates.into_inner();
    rates.sort_unstable_by(f64::total_cmp);
    rates[rates.len() / ONE_OF]
}
