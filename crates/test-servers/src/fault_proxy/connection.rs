//! A connection of a client, and the one to the server that belongs to it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::flow::{Flow, Flows, Way};
use super::{Cut, Direction};

pub(super) struct Connection {
    client: TcpStream,
    server: TcpStream,
    flows: Arc<Flows>,
}

/// The fate of a direction whose end is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenGone {
    /// The direction ends.
    Ends,
    /// Bytes are thrown away until there are no more: a server that cannot answer might leave its work undone.
    HearsOut,
}

/// Bytes on their way.
struct Chunk {
    bytes: Vec<u8>,
    arrived: Instant,
}

impl Connection {
    pub(super) fn new(client: TcpStream, server: TcpStream, flows: Arc<Flows>) -> Self {
        Self {
            client,
            server,
            flows,
        }
    }

    /// Carries bytes both ways until both have ended, or something cuts it.
    pub(super) async fn carry(self, mut cuts: watch::Receiver<(u64, Cut)>) {
        let flows = self.flows;
        let (mut from_client, mut to_client) = self.client.into_split();
        let (mut from_server, mut to_server) = self.server.into_split();
        let cut = {
            let (requests, replies) = (flows.of(Direction::Requests), flows.of(Direction::Replies));
            let requests = one_way(&mut from_client, &mut to_server, requests, WhenGone::Ends);
            let replies = one_way(
                &mut from_server,
                &mut to_client,
                replies,
                WhenGone::HearsOut,
            );
            tokio::select! {
                cut = both(requests, replies) => cut,
                _ = cuts.changed() => Some(cuts.borrow().1),
            }
        };
        if cut == Some(Cut::Reset) {
            // One that is gone already cannot be reset.
            let _ = from_client.as_ref().set_zero_linger();
            let _ = from_server.as_ref().set_zero_linger();
            // Dropped, they would send the end first.
            to_client.forget();
            to_server.forget();
        }
    }
}

/// Ends when both have ended, or one of them is to be cut.
async fn both(
    one: impl Future<Output = Option<Cut>>,
    other: impl Future<Output = Option<Cut>>,
) -> Option<Cut> {
    tokio::pin!(one, other);
    tokio::select! {
        Some(cut) = &mut one => Some(cut),
        Some(cut) = &mut other => Some(cut),
        else => None,
    }
}

/// Carries bytes one way, and then the end; returns how to cut both ways if it comes to that.
///
/// Reads at once whatever the flow is: what a client sent before it was reset would be lost with its socket.
async fn one_way(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    way: &Way,
    when_gone: WhenGone,
) -> Option<Cut> {
    let (sender, mut chunks) = mpsc::unbounded_channel();
    let reading = read(from, sender, way);
    let writing = async {
        let mut is_gone = false;
        let mut cut = None;
        while let Some(chunk) = chunks.recv().await {
            let bytes = chunk.bytes.len();
            if !is_gone && let Err(how) = write(to, chunk, way).await {
                cut = how;
                is_gone = true;
            }
            way.left(bytes);
            if is_gone && (cut.is_some() || when_gone == WhenGone::Ends) {
                break;
            }
        }
        // The end goes on as well.
        let _ = to.shutdown().await;
        cut
    };
    tokio::pin!(reading);
    tokio::pin!(writing);
    tokio::select! {
        cut = &mut writing => cut,
        () = &mut reading => writing.await,
    }
}

async fn read(from: &mut OwnedReadHalf, chunks: mpsc::UnboundedSender<Chunk>, way: &Way) {
    let mut buffer = vec![0; 64 * 1024];
    // An error ends it as the end does.
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        way.arrived(length);
        let chunk = Chunk {
            bytes: buffer[..length].to_vec(),
            arrived: Instant::now(),
        };
        if chunks.send(chunk).is_err() {
            return;
        }
    }
}

/// Writes a chunk when the flow allows it; an error ends the connection, and says how if it is to be cut.
async fn write(to: &mut OwnedWriteHalf, chunk: Chunk, way: &Way) -> Result<(), Option<Cut>> {
    let mut flow = way.flow.subscribe();
    let mut rest = chunk.bytes.as_slice();
    while !rest.is_empty() {
        let now = *flow.borrow_and_update();
        let (allowed, cut) = match now {
            Flow::Pass => (rest.len(), None),
            Flow::Swallow => return Ok(()),
            Flow::Hold => (0, None),
            Flow::HoldAfter(_) => (way.before_hold(rest.len()), None),
            Flow::Delay(delay) => tokio::select! {
                () = sleep_until(chunk.arrived + delay) => (rest.len(), None),
                _ = flow.changed() => continue,
            },
            Flow::CutAfter(..) => match way.before_cut(rest.len()) {
                None => (rest.len(), None),
                Some((allowed, cut)) => (allowed, Some(cut)),
            },
        };
        let (due, later) = rest.split_at(allowed);
        // Before whoever gets them may ask how many there were.
        way.passed.fetch_add(due.len(), Ordering::AcqRel);
        to.write_all(due).await.map_err(|_| None)?;
        rest = later;
        if cut == Some(Cut::HalfClosed) {
            // A side that is heard out goes on, and what it sends is thrown away.
            let _ = to.shutdown().await;
            return Err(None);
        }
        if cut.is_some() {
            return Err(cut);
        }
        if !rest.is_empty() {
            // The sender lives as long as the flows.
            let _ = flow.changed().await;
        }
    }
    Ok(())
}
