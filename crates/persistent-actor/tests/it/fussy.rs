//! The tally's heir: the same events, and opinions about snapshots.

use actix::{Actor, Handler};
use actix_persistence_persistent_actor::{
    PersistentActor, PersistentContext, RecoveryError, SnapshotOffer,
};
use actix_persistence_storage_api::PersistenceId;

use crate::history::id;
use crate::tally::{Added, Get, Log, Sum};

/// The way in which a fussy actor treats its snapshots.
#[derive(Clone, Copy)]
pub(crate) enum Taste {
    /// Refuses those with a negative sum.
    RefusesDebts,
    Panics,
    /// Has no code for snapshots.
    None,
    /// Takes every snapshot, and panics at the first event.
    PanicsAtEvents,
}

pub(crate) struct Fussy {
    taste: Taste,
    log: Log,
    pub(crate) sum: i64,
}

impl Fussy {
    pub(crate) fn new(taste: Taste, log: &Log) -> Self {
        Self {
            taste,
            log: log.clone(),
            sum: 0,
        }
    }

    pub(crate) fn factory(taste: Taste, log: &Log) -> impl FnMut() -> Self + Unpin + 'static {
        let log = log.clone();
        move || Self::new(taste, &log)
    }
}

impl Actor for Fussy {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Fussy {
    type Event = Added;
    type Snapshot = Sum;

    fn persistence_id(&self) -> PersistenceId {
        id()
    }

    fn on_event(&mut self, event: &Added) {
        assert!(!matches!(self.taste, Taste::PanicsAtEvents), "in on_event");
        self.sum += event.n;
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<Sum>) {
        match self.taste {
            Taste::RefusesDebts if offer.snapshot.0 < 0 => offer.refuse("a tally has no debts"),
            Taste::RefusesDebts | Taste::PanicsAtEvents => self.sum = offer.snapshot.0,
            Taste::Panics => panic!("in on_snapshot"),
            Taste::None => offer.unhandled(),
        }
    }

    fn on_recovery_completed(&mut self, ctx: &mut Self::Context) {
        self.log.add(format!(
            "from {} to {}",
            ctx.snapshot_sequence_nr(),
            ctx.last_sequence_nr()
        ));
    }

    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        self.log.add(error.to_string());
    }
}

impl Handler<Get> for Fussy {
    type Result = i64;

    fn handle(&mut self, _: Get, _: &mut Self::Context) -> i64 {
        self.sum
    }
}
