//! One connection of a client, and the one to the server that belongs to it.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::flow::{Flow, Flows};
use super::{Cut, Direction};

pub(super) struct Connection {
    client: TcpStream,
    server: TcpStream,
    flows: Arc<Flows>,
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
            let requests = one_way(
                &mut from_client,
                &mut to_server,
                &flows,
                Direction::Requests,
            );
            let replies = one_way(&mut from_server, &mut to_client, &flows, Direction::Replies);
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

/// Carries bytes one way, and then the end; gives how to cut both ways if it comes to that.
///
/// Reads at once whatever the flow is: what a client sent before it was reset would be lost with its socket.
async fn one_way(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    flows: &Flows,
    direction: Direction,
) -> Option<Cut> {
    let (sender, mut chunks) = mpsc::unbounded_channel();
    let reading = read(from, sender, flows, direction);
    let writing = async {
        let mut cut = None;
        while let Some(chunk) = chunks.recv().await {
            let bytes = chunk.bytes.len();
            let written = write(to, chunk, flows, direction).await;
            flows.release(direction, bytes);
            if let Err(how) = written {
                cut = how;
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

async fn read(
    from: &mut OwnedReadHalf,
    chunks: mpsc::UnboundedSender<Chunk>,
    flows: &Flows,
    direction: Direction,
) {
    let mut buffer = vec![0; 64 * 1024];
    // An error ends it as the end does.
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        flows.hold(direction, length);
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
async fn write(
    to: &mut OwnedWriteHalf,
    chunk: Chunk,
    flows: &Flows,
    direction: Direction,
) -> Result<(), Option<Cut>> {
    let mut flow = flows.of(direction).subscribe();
    loop {
        let now = *flow.borrow_and_update();
        match now {
            Flow::Pass => return written(to.write_all(&chunk.bytes).await),
            Flow::Swallow => return Ok(()),
            Flow::Hold => {}
            Flow::Delay(delay) => tokio::select! {
                () = sleep_until(chunk.arrived + delay) => {
                    return written(to.write_all(&chunk.bytes).await);
                }
                _ = flow.changed() => continue,
            },
            Flow::CutAfter(..) => {
                let length = chunk.bytes.len();
                let Some((allowed, cut)) = flows.before_cut(direction, length) else {
                    return written(to.write_all(&chunk.bytes).await);
                };
                written(to.write_all(&chunk.bytes[..allowed]).await)?;
                return Err(Some(cut));
            }
        }
        // The sender lives as long as the flows.
        let _ = flow.changed().await;
    }
}

fn written(result: io::Result<()>) -> Result<(), Option<Cut>> {
    result.map_err(|_| None)
}
