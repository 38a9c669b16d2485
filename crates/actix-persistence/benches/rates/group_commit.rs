//! A minimal group commit, without actors, codecs or fences: the limit that ours is measured against.
//!
//! Callers send their rows over a channel to a writer, and each waits for its reply. The writer stores all that wait by
//! one statement with many rows, which is one transaction.

use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};

use crate::database::Connection;
use crate::row::{Row, Table};
use crate::series::rate;

/// The largest number of rows in one statement.
const MOST: usize = 1_000;

/// A row, and the caller that waits for it.
struct Waiting {
    row: Row,
    stored: oneshot::Sender<()>,
}

/// The channels to the writers; a caller always uses the same.
pub(crate) struct GroupCommit(Vec<mpsc::UnboundedSender<Waiting>>);

impl GroupCommit {
    /// Starts this many writers, each with a connection and a thread of its own.
    pub(crate) fn start<C: Connection>(url: &str, table: Table, writers: usize) -> Self {
        let channels = (0..writers).map(|_| {
            let (sender, receiver) = mpsc::unbounded_channel();
            let url = url.to_owned();
            thread::spawn(move || {
                let runtime = Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(write::<C>(url, table, receiver));
            });
            sender
        });
        Self(channels.collect())
    }

    /// Lets each of so many callers store its next row when the one before is stored: rows per second.
    pub(crate) async fn rate(&self, callers: usize, time: Duration) -> f64 {
        let start = Instant::now();
        let counts = (0..callers).map(|caller| {
            let writer = self.writer(caller).clone();
            actix::spawn(call(caller, writer, start + time))
        });
        let counts = join_all(counts.collect::<Vec<_>>()).await;
        let count = counts.into_iter().map(Result::unwrap).sum();
        rate(count, start.elapsed())
    }

    /// Sends the next row of a caller; the answer comes when it is stored.
    pub(crate) fn store(&self, caller: usize) -> oneshot::Receiver<()> {
        send(caller, self.writer(caller))
    }

    fn writer(&self, caller: usize) -> &mpsc::UnboundedSender<Waiting> {
        &self.0[caller % self.0.len()]
    }
}

fn send(caller: usize, writer: &mpsc::UnboundedSender<Waiting>) -> oneshot::Receiver<()> {
    let (stored, reply) = oneshot::channel();
    let row = Row::next(caller);
    assert!(writer.send(Waiting { row, stored }).is_ok());
    reply
}

async fn call(caller: usize, writer: mpsc::UnboundedSender<Waiting>, until: Instant) -> usize {
    let mut count = 0;
    while count == 0 || Instant::now() < until {
        send(caller, &writer).await.unwrap();
        count += 1;
    }
    count
}

/// Ends when there are no callers any more.
async fn write<C: Connection>(
    url: String,
    table: Table,
    mut waiting: mpsc::UnboundedReceiver<Waiting>,
) {
    let mut connection = C::connect(url).await;
    let mut group = Vec::new();
    while !group.is_empty() || waiting.recv_many(&mut group, MOST).await > 0 {
        while group.len() < MOST
            && let Ok(next) = waiting.try_recv()
        {
            group.push(next);
        }
        let later = group.split_off(C::at_once(group.len()));
        let group_now = group.into_iter().map(|one| (one.row, one.stored));
        let (rows, callers): (Vec<_>, Vec<_>) = group_now.unzip();
        connection.write(table, rows).await;
        for stored in callers {
            let _ = stored.send(());
        }
        group = later;
    }
}
