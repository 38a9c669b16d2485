//! The thread on which store actors live.

use std::io;
use std::sync::{Arc, mpsc};
use std::thread;

use actix_rt::{Arbiter, ArbiterHandle, System};

/// A thread with an actix `System` of its own, so that store actors neither wait for busy application actors nor end
/// with the application's `System`.
///
/// Clones share the thread. When the last one is dropped it ends in the background; dropping never blocks.
#[derive(Clone, Debug)]
pub struct StoreThread {
    arbiter: ArbiterHandle,
    /// Stops the thread with the last clone; `None` for an arbiter that belongs to other code.
    _owned: Option<Arc<OwnSystem>>,
}

#[derive(Debug)]
struct OwnSystem(System);

impl StoreThread {
    /// Starts a thread of this name.
    ///
    /// # Errors
    /// If the system cannot start a thread, or an event loop for it.
    pub fn start(name: impl Into<String>) -> io::Result<Self> {
        let (sender, receiver) = mpsc::sync_channel(1);
        thread::Builder::new()
            .name(name.into())
            .spawn(move || run(&sender))?;
        let system = receiver.recv().map_err(|_| {
            io::Error::other("the thread of the store actors ended as it started")
        })??;
        Ok(Self {
            arbiter: system.arbiter().clone(),
            _owned: Some(Arc::new(OwnSystem(system))),
        })
    }

    /// Lets store actors live on the arbiter of the current thread, and end with it: for tests on a paused clock.
    ///
    /// # Panics
    /// Outside an actix `System`.
    pub fn on_current_arbiter() -> Self {
        Self {
            arbiter: Arbiter::current(),
            _owned: None,
        }
    }

    /// Returns the arbiter on which to start actors.
    pub fn arbiter(&self) -> ArbiterHandle {
        self.arbiter.clone()
    }
}

impl Drop for OwnSystem {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn run(started: &mpsc::SyncSender<io::Result<System>>) {
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            // The receiver is still there: `start` blocks until it hears from the thread.
            let _ = started.send(Err(error));
            return;
        }
    };
    let runner = System::with_tokio_rt(|| runtime);
    if started.send(Ok(System::current())).is_ok()
        && let Err(error) = runner.run()
    {
        tracing::error!(%error, "the thread of the store actors failed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_elsewhere_and_ends_with_the_last_clone() {
        let thread = StoreThread::start("stores").unwrap();
        let clone = thread.clone();
        let (sender, receiver) = mpsc::channel();
        drop(thread);
        let here = thread::current().id();
        clone.arbiter().spawn_fn(move || {
            let _ = sender.send((thread::current().id(), thread::current().name().is_some()));
        });
        let (there, named) = receiver.recv().unwrap();
        assert_ne!(here, there);
        assert!(named);

        // The sender is dropped with the task, the task with the thread.
        let (sender, receiver) = mpsc::channel::<()>();
        clone.arbiter().spawn(async move {
            std::future::pending::<()>().await;
            drop(sender);
        });
        drop(clone);
        assert!(receiver.recv().is_err());
    }

    #[test]
    fn does_not_register_a_system_on_the_thread_that_starts_it() {
        let _thread = StoreThread::start("stores").unwrap();
        assert!(System::try_current().is_none());
    }
}
