//! A durable state with a handler, a column and, for some ids, an event with each change.

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

use super::mischief::Plan;

/// The entity type whose changes are handled.
pub(crate) const SHELF: &str = "Shelf";
/// The entity type whose changes are handled, and recorded in a journal.
pub(crate) const TOLD_SHELF: &str = "ToldShelf";
/// The entity type without a handler.
pub(crate) const PLAIN: &str = "Plain";
/// The number that the handler's row of a delete has in the place of its operation.
pub(crate) const DELETED: i64 = -1;

/// The state of a shelf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slip {
    /// The operation that stored it.
    pub(crate) op: i64,
    /// The sum of all operations since the last delete, in their order.
    pub(crate) chain: u64,
    /// The mischief done beside.
    pub(crate) plan: Plan,
}

impl Slip {
    /// The chain after one more operation.
    pub(crate) fn chained(before: u64, op: i64) -> u64 {
        (before ^ op.unsigned_abs())
            .wrapping_mul(0x0000_0100_0000_01b3)
            .rotate_left(17)
    }
}

impl State for Slip {
    const MANIFEST: &'static str = "test.slip";
    const VERSION: u32 = 1;
    const SERIALIZER: Option<Serializer> = Some(Serializer::Json);
}

/// An event that is stored with a change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    op: i64,
}

impl Event for Told {
    const MANIFEST: &'static str = "test.told";
    const VERSION: u32 = 1;
    const SERIALIZER: Option<Serializer> = Some(Serializer::Json);
}

/// An actor whose state is one slip.
#[derive(Clone)]
pub(crate) struct Shelf {
    id: PersistenceId,
    chain: u64,
    tells: bool,
}

impl Shelf {
    pub(crate) fn of(entity_type: &str, name: &str) -> Self {
        Self {
            id: PersistenceId::of(entity_type, name),
            chain: 0,
            tells: entity_type == TOLD_SHELF,
        }
    }
}

impl Actor for Shelf {
    type Context = PersistentContext<Self>;
}

impl DurableState for Shelf {
    type State = Slip;

    fn persistence_id(&self) -> PersistenceId {
        self.id.clone()
    }

    fn on_state(&mut self, state: Option<&Slip>) {
        self.chain = state.map_or(0, |slip| slip.chain);
    }
}

/// Stores an operation in the place of the one before; deletes what is there if there is no plan.
#[derive(Clone, Message)]
#[rtype(result = "Result<Revision, PersistError>")]
pub(crate) struct Change {
    pub(crate) op: i64,
    pub(crate) plan: Option<Plan>,
}

impl Handler<Change> for Shelf {
    type Result = Reply<Change>;

    fn handle(&mut self, Change { op, plan }: Change, ctx: &mut Self::Context) -> Reply<Change> {
        let told = Told { op };
        let Some(plan) = plan else {
            let deleted = match self.tells {
                true => ctx.delete_with_event(&told),
                false => ctx.delete(),
            };
            return deleted.reply_with(|_, ctx| Ok(ctx.revision()));
        };
        let slip = Slip {
            op,
            chain: Slip::chained(self.chain, op),
            plan,
        };
        let persisted = match self.tells {
            true => ctx.persist_with_event(slip, &told),
            false => ctx.persist(slip),
        };
        persisted.reply_with(|_, ctx| Ok(ctx.revision()))
    }
}
