//! Stopping everything, so that nothing acknowledged and nothing that has arrived is lost.

use std::io;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use actix_persistence_persistent_actor::{Drain, LiveIds};
use tokio::time::sleep;

use super::StopReport;
use super::stop_signals::StopSignals;
use crate::Persistence;

impl Persistence {
    /// Stops every projection and every persistent actor, and reports which work was not done before the deadline.
    ///
    /// From now on [`start`](Self::start) returns [`StartError::Stopping`](crate::StartError::Stopping), and a message
    /// to an actor is refused with [`MailboxError::Closed`](actix::MailboxError::Closed). The actors process what has
    /// arrived by now: actors that recover go on, unless they still wait for their turn and have nothing to do. Then
    /// messages in mailboxes and stashes are processed, what is persisted is stored and its handlers run, snapshots and
    /// deletes are answered, and spawned futures end. Then the actor stops as by
    /// [`ActorContext::stop`](actix::ActorContext::stop), with `stopping`, which cannot decline this time, and
    /// `stopped`. Timers and streams that were started by a method of the context are not waited for. An actor in
    /// back-off is rebuilt at once if messages wait for it, and tried again until the deadline; otherwise it ends at
    /// once. An actor that needs another one to do its work may find that closed. An actor that awaits this in a future
    /// of its own, spawned on its context, waits for itself until the deadline; with `actix::spawn` it does not.
    ///
    /// After the deadline every actor that is left ends with its present turn, without its waiting messages, and without
    /// the handlers of what it persisted; that may be stored or not, and comes back with its next start if it is. It
    /// is not waited for any more: an arbiter that is blocked or has stopped does not hold this up. The handler of a projection
    /// that is under way goes on as long as the process does, and keeps its share.
    ///
    /// May be called several times and by several tasks; each waits for its own deadline, and all report the same
    /// actors. In the end connections to databases are closed, after which an SQLite file holds everything by itself.
    /// Reading ([`replay`](Self::replay)) goes on working, which opens them again.
    ///
    /// # Cancel safety
    /// Dropped, it lets the actors go on stopping, but nothing ends them at the deadline. May be called again.
    pub async fn stop(&self, deadline: Duration) -> StopReport {
        self.stop_until(sleep(deadline)).await
    }

    /// Waits for Ctrl-C (SIGINT, and SIGTERM where there are signals), and then [stops](Self::stop).
    ///
    /// A second signal ends the waiting at once, as the deadline does. To be polled from the start of the program on: it
    /// listens from its first poll, and from then on the signals do not end the process any more.
    ///
    /// # Errors
    /// If the system does not let the process listen to signals.
    ///
    /// # Cancel safety
    /// As [`stop`](Self::stop). Before the first signal, it changes nothing but that the signals are ignored.
    pub async fn stop_on_ctrl_c(&self, deadline: Duration) -> io::Result<StopReport> {
        let mut signals = StopSignals::listen()?;
        signals.next().await;
        tracing::info!("stopping; a second signal ends the waiting");
        let given_up = async {
            tokio::select! {
                () = sleep(deadline) => {}
                () = signals.next() => {}
            }
        };
        Ok(self.stop_until(given_up).await)
    }

    /// Returns whether everything stops, or has stopped.
    pub fn is_stopping(&self) -> bool {
        // All hear of it one right after the other; one is enough to know.
        self.0.stores.live_ids.iter().any(LiveIds::is_draining)
    }

    async fn stop_until(&self, given_up: impl Future<Output = ()>) -> StopReport {
        // They read what actors store, and may send to actors.
        let projections = self.0.projections.stop();
        for entry in self.0.stores.snapshot_stores.entries() {
            entry.handle.pace().lift();
        }
        let live_ids = self.0.stores.live_ids.iter();
        let drains: Vec<Drain> = live_ids.map(LiveIds::drain).collect();
        let finished = async {
            projections.await;
            for drain in &drains {
                drain.finished().await;
            }
            self.drained().await;
            // A panic of a plugin has been reported by the runtime; what is stored is stored.
            let _ = self.0.close_stores().await;
        };
        let mut given_up = pin!(given_up);
        let in_time = tokio::select! {
            biased;
            () = finished => true,
            () = &mut given_up => false,
        };
        let unfinished: Vec<_> = drains.iter().flat_map(Drain::unfinished).collect();
        let (busy_projections, busy_stores) = if in_time {
            (Vec::new(), Vec::new())
        } else {
            drains.iter().for_each(Drain::end);
            // Nothing is awaited from here on: who asked may be a future of an actor that ends with this turn.
            let projections = self.0.projections.busy();
            let projections = projections.iter().map(ToString::to_string).collect();
            (projections, self.busy_stores())
        };
        let report = StopReport::new(
            drains.iter().map(Drain::actors).sum(),
            unfinished,
            busy_projections,
            busy_stores,
        );
        if report.is_complete() {
            tracing::info!(actors = report.actors, "everything has stopped");
        } else {
            tracing::warn!(
                actors = report.actors,
                unfinished = report.unfinished.len(),
                busy_projections = report.busy_projections.len(),
                busy_stores = report.busy_stores.len(),
                "not everything could be done before the stop"
            );
        }
        report
    }

    /// Returns the stores that have not answered everything.
    fn busy_stores(&self) -> Vec<String> {
        let stores = self.0.stores.all();
        let busy = stores.filter(|store| is_pending(store.drained()));
        busy.map(|store| store.to_string()).collect()
    }
}

/// Looks once, without waiting.
fn is_pending(future: impl Future<Output = ()>) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    pin!(future).poll(&mut cx).is_pending()
}
