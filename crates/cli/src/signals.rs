//! Listening for Ctrl-C.

/// Listens for Ctrl-C from its making on, not from when it is polled first.
#[cfg(unix)]
pub(crate) struct Signals(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Signals {
    pub(crate) fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self(signal(SignalKind::interrupt())?))
    }

    pub(crate) async fn next(&mut self) {
        self.0.recv().await;
    }
}

/// Listens for Ctrl-C from its making on.
#[cfg(windows)]
pub(crate) struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?))
    }

    pub(crate) async fn next(&mut self) {
        self.0.recv().await;
    }
}
