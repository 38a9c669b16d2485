//! An actor whose state says where a parcel is.

use std::fmt;

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

/// The state: where a parcel is.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Whereabouts {
    pub(crate) place: i64,
    /// The number of moves since it was last taken away: each state is made of the one before.
    moves: u64,
}

impl State for Whereabouts {
    const MANIFEST: &'static str = "whereabouts";
    const VERSION: u32 = 1;
}

/// A parcel that is at one of several places, or taken away.
pub(crate) struct Parcel {
    number: u32,
    whereabouts: Option<Whereabouts>,
    /// That of the last move that was stored.
    revision: u64,
}

impl Parcel {
    pub(crate) fn new(number: u32) -> Self {
        Self {
            number,
            whereabouts: None,
            revision: 0,
        }
    }
}

impl Actor for Parcel {
    type Context = PersistentContext<Self>;
}

impl DurableState for Parcel {
    type State = Whereabouts;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Parcel", &self.number.to_string())
    }

    fn on_state(&mut self, state: Option<&Whereabouts>) {
        self.whereabouts = state.cloned();
    }
}

/// Moves a parcel to a place, or takes it away, which deletes the state.
#[derive(Message)]
#[rtype(result = "Result<Moved, PersistError>")]
pub(crate) struct Move {
    pub(crate) to: Option<i64>,
}

/// A move that is stored.
pub(crate) struct Moved {
    parcel: PersistenceId,
    revision: u64,
    place: Option<i64>,
}

/// As the tests read it.
impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            parcel, revision, ..
        } = self;
        match self.place {
            Some(place) => write!(f, "moved {parcel} {revision} {place}"),
            None => write!(f, "moved {parcel} {revision} away"),
        }
    }
}

impl Handler<Move> for Parcel {
    type Result = Reply<Move>;

    fn handle(&mut self, Move { to }: Move, ctx: &mut Self::Context) -> Self::Result {
        let moves = self.whereabouts.as_ref().map_or(0, |state| state.moves);
        let answer = |parcel: &mut Self, ctx: &mut PersistentContext<Self>| {
            parcel.revision = ctx.revision();
            Ok(Moved {
                parcel: DurableState::persistence_id(parcel),
                revision: parcel.revision,
                place: parcel.whereabouts.as_ref().map(|state| state.place),
            })
        };
        match to {
            Some(place) => {
                let moves = moves + 1;
                ctx.persist(Whereabouts { place, moves }).reply_with(answer)
            }
            None => ctx.delete().reply_with(answer),
        }
    }
}
