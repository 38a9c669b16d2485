//! The rule by which an actor takes snapshots, and deletes events and older snapshots for them.

use std::fmt;

use crate::{PersistentActor, Snapshot};

/// The rule to take a snapshot after a number of events, and to delete what it makes superfluous; as the
/// `RetentionCriteria` of Akka's typed actors.
///
/// ```
/// # use actix_persistence_persistent_actor::{PersistentActor, Retention};
/// # fn retention<A: PersistentActor>(snapshot: fn(&A) -> A::Snapshot) -> Retention<A> {
/// Retention::snapshot_every(100, snapshot).with_kept_snapshots(3).with_delete_events()
/// # }
/// ```
///
/// A **round** begins when the handlers of a call of `persist` or `persist_all` are done that reached or passed a
/// multiple of the number of events. It saves the state as it is then, encoded at once, so that no command waits. Only
/// when the store has said that the snapshot is durable, and the actor knows of as many snapshots as it is to keep, are
/// the events deleted that the oldest of them covers, if asked for; and only when those are gone, the older snapshots.
///
/// * A step that fails ends its round, so that a failed save deletes nothing. Deletes go up to a bound, not to one
///   snapshot: the next round removes what a failure or a crash has left.
/// * A step that is under way when the actor ends happens all the same, and ends its round.
/// * There is one round at a time. One that is due meanwhile begins with the state after it.
/// * Nothing is deleted that a snapshot known to be stored does not cover. For more than two kept snapshots the older
///   ones are looked up once after each start, which loads them.
/// * A recovery that left out events ([`Recovery`](crate::Recovery) with an upper bound or a maximum that cut something
///   off) returns a state that is not the sum of the events: retention rests until the next start, and a warning says
///   so. * All answers come to [`on_store_response`](PersistentActor::on_store_response), as if the actor had asked
///   itself, and before the next step begins.
pub struct Retention<A: PersistentActor> {
    pub(crate) every: u64,
    pub(crate) keep: usize,
    pub(crate) delete_events: bool,
    pub(crate) batches: u64,
    pub(crate) snapshot: TakeSnapshot<A>,
}

/// A function that makes the snapshot of a state.
pub(crate) type TakeSnapshot<A> = Box<dyn Fn(&A) -> <A as PersistentActor>::Snapshot>;

impl<A: PersistentActor> Retention<A> {
    /// The number of snapshots that are kept unless set otherwise: if the last one becomes unreadable, recovery is
    /// possible with the second to last one, because the events after it are still there.
    pub const DEFAULT_KEEP: usize = 2;

    /// Takes a snapshot after each `events` events, and deletes all but the last two.
    ///
    /// Does not compile for an actor whose snapshots are [`NoSnapshot`](crate::NoSnapshot):
    ///
    /// ```compile_fail,E0080
    /// use actix_persistence_persistent_actor::{NoSnapshot, PersistentActor, Retention};
    ///
    /// fn retention<A: PersistentActor<Snapshot = NoSnapshot>>() -> Retention<A> {
    ///     Retention::snapshot_every(100, |_| unreachable!())
    /// }
    ///
    /// # use actix_persistence_persistent_actor::{Event, PersistentContext};
    /// # use actix_persistence_storage_api::PersistenceId;
    /// # struct Bare;
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Happened;
    /// # impl Event for Happened {
    /// #     const MANIFEST: &'static str = "happened";
    /// #     const VERSION: u32 = 1;
    /// # }
    /// # impl actix::Actor for Bare { type Context = PersistentContext<Self>; }
    /// # impl PersistentActor for Bare {
    /// #     type Event = Happened;
    /// #     type Snapshot = NoSnapshot;
    /// #     fn persistence_id(&self) -> PersistenceId { PersistenceId::of("Bare", "1") }
    /// #     fn on_event(&mut self, _: &Happened) {}
    /// # }
    /// # fn main() { retention::<Bare>(); }
    /// ```
    ///
    /// # Panics
    /// If `events` is 0.
    pub fn snapshot_every(events: u64, snapshot: impl Fn(&A) -> A::Snapshot + 'static) -> Self {
        const {
            assert!(
                !A::Snapshot::NEVER,
                "an actor without snapshots retains none"
            )
        };
        assert!(events > 0, "snapshots are taken every 1 or more events");
        Self {
            every: events,
            keep: Self::DEFAULT_KEEP,
            delete_events: false,
            batches: 0,
            snapshot: Box::new(snapshot),
        }
    }

    /// Keeps this number of snapshots: the last one, and older ones to fall back on.
    ///
    /// # Panics
    /// If `snapshots` is 0.
    #[must_use]
    pub fn with_kept_snapshots(mut self, snapshots: usize) -> Self {
        assert!(snapshots > 0, "1 or more snapshots are kept");
        self.keep = snapshots;
        self
    }

    /// Deletes the events that the oldest kept snapshot covers, as Akka's `withDeleteEventsOnSnapshot`.
    ///
    /// From then on the actor cannot do without its snapshots: a recovery that finds none that covers the deleted events
    /// fails with [`RecoveryError::SnapshotNeeded`](crate::RecoveryError::SnapshotNeeded).
    #[must_use]
    pub fn with_delete_events(mut self) -> Self {
        self.delete_events = true;
        self
    }

    /// Keeps, of the events to delete, `batches` times the number that lies between two snapshots; 0 unless set.
    ///
    /// They help to find out what happened, and to recover should the snapshots be lost again by a store that is less
    /// reliable than the journal.
    #[must_use]
    pub fn with_kept_event_batches(mut self, batches: u64) -> Self {
        self.batches = batches;
        self
    }
}

/// Shows the numbers only.
impl<A: PersistentActor> fmt::Debug for Retention<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retention")
            .field("every", &self.every)
            .field("keep", &self.keep)
            .field("delete_events", &self.delete_events)
            .field("batches", &self.batches)
            .finish_non_exhaustive()
    }
}
