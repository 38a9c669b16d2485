//! A TCP proxy with faults.
//!
//! `noxious` would do for some of them, but has had no release since 2021.

mod connection;
mod flow;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};

use crate::error::ServerError;

use connection::Connection;
use flow::Flows;

pub use flow::Flow;

/// The longest time of connecting to the server.
const PATIENCE: Duration = Duration::from_secs(5);

/// Stands between clients and a server, and can be made to misbehave at any time; dropped, it cuts everything.
///
/// Its work is done by a thread of its own, so that a test with a paused clock or a busy runtime sees a network that
/// goes on. What is switched holds for connections that are open, and for those that come later.
pub struct FaultProxy {
    port: u16,
    flows: Arc<Flows>,
    /// Dropped, the thread ends.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The direction of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The way from clients to the server.
    Requests,
    /// The way from the server to clients.
    Replies,
}

/// The way in which a connection is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The connection ends in order (FIN): a reader finds the end.
    Closed,
    /// The connection ends with a reset (RST): a reader or a writer gets an error.
    Reset,
    /// The connection ends one way only (FIN), and bytes go on the other way; where no way is named, as `Closed`.
    HalfClosed,
}

impl FaultProxy {
    /// Listens on a port of 127.0.0.1 and passes everything on to another.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn start(server_port: u16) -> Result<Self, ServerError> {
        let start = || -> io::Result<Self> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            // Made without the runtime, because the caller may be in another.
            let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            listener.set_nonblocking(true)?;
            let port = listener.local_addr()?.port();
            let listener = {
                let _entered = runtime.enter();
                TcpListener::from_std(listener)?
            };
            let flows = Arc::new(Flows::default());
            let (stop, stopped) = oneshot::channel();
            let thread = thread::Builder::new()
                .name("fault-proxy".to_owned())
                .spawn({
                    let flows = Arc::clone(&flows);
                    move || serve(&runtime, listener, server_port, &flows, stopped)
                })?;
            Ok(Self {
                port,
                flows,
                stop: Some(stop),
                thread: Some(thread),
            })
        };
        start().map_err(ServerError::io("start a proxy"))
    }

    /// Returns the port for clients, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the URL of a server on 127.0.0.1 with the way through the proxy in it.
    pub fn url(&self, server_url: &str) -> String {
        let (before, rest) = server_url
            .split_once("@127.0.0.1:")
            .unwrap_or((server_url, ""));
        let path = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
        format!("{before}@127.0.0.1:{}{path}", self.port)
    }

    /// Says what becomes of the bytes that go one way, also of those that are held now.
    pub fn set(&self, direction: Direction, flow: Flow) {
        self.flows.of(direction).flow.send_replace(flow);
    }

    /// Returns what becomes of the bytes that go one way: [`Flow::Pass`] again after a [`Flow::CutAfter`] has cut.
    pub fn flow(&self, direction: Direction) -> Flow {
        *self.flows.of(direction).flow.borrow()
    }

    /// Passes everything on, what is held first.
    pub fn pass(&self) {
        self.set(Direction::Requests, Flow::Pass);
        self.set(Direction::Replies, Flow::Pass);
    }

    /// Resets every new connection at once, or no longer does.
    pub fn refuse(&self, refuses: bool) {
        self.flows.refuses.send_replace(refuses);
    }

    /// Ends every connection that is open now.
    pub fn cut(&self, cut: Cut) {
        self.flows.cuts.send_modify(|(number, how)| {
            *number += 1;
            *how = cut;
        });
    }

    /// Returns the number of bytes that are held, of all connections together.
    pub fn held(&self, direction: Direction) -> usize {
        self.flows.of(direction).held.load(Ordering::Acquire)
    }

    /// Returns the number of bytes that have gone on, of all connections together.
    pub fn passed(&self, direction: Direction) -> usize {
        self.flows.of(direction).passed.load(Ordering::Acquire)
    }

    /// Returns the number of connections that the server, or a cut, has not ended, whether or not their clients are
    /// gone.
    pub fn connections(&self) -> usize {
        self.flows.connections.load(Ordering::Acquire)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.cut(Cut::Reset);
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

fn serve(
    runtime: &Runtime,
    listener: TcpListener,
    server_port: u16,
    flows: &Arc<Flows>,
    mut stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = &mut stopped => return,
            };
            // One that is gone again is no concern of ours.
            let Ok((client, _)) = accepted else { continue };
            let cuts = flows.cuts.subscribe();
            tokio::spawn(carry(client, server_port, Arc::clone(flows), cuts));
        }
    });
}

async fn carry(
    client: TcpStream,
    server_port: u16,
    flows: Arc<Flows>,
    cuts: watch::Receiver<(u64, Cut)>,
) {
    let server = SocketAddr::from((Ipv4Addr::LOCALHOST, server_port));
    let connected = if *flows.refuses.borrow() {
        None
    } else {
        let connect = tokio::time::timeout(PATIENCE, TcpStream::connect(server));
        connect.await.ok().and_then(Result::ok)
    };
    match connected {
        Some(server) => {
            // Small pieces do not wait for one another; at worst they do.
            let _ = client.set_nodelay(true).and(server.set_nodelay(true));
            flows.connections.fetch_add(1, Ordering::AcqRel);
            Connection::new(client, server, Arc::clone(&flows))
                .carry(cuts)
                .await;
            flows.connections.fetch_sub(1, Ordering::AcqRel);
        }
        // A server that is not there is seen as a reset: the connection to the proxy was made already.
        None => drop(client.set_zero_linger()),
    }
}
