//! An actor with a durable state that writes down all that it does, and a change handler that notes each change.

use std::sync::Arc;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::storage_api::{ChangeHandler, ExtensionError, Session, StateChange};
use actix_persistence::{Revision, error::RejectionCause, payload::decode_state};
use actix_persistence_history::{Answer, Done, Incarnation, Operation, Uid, What};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::hooks::reached;
use super::odd_names::odd_name;
use super::{Scribe, stream::Trouble};
use crate::Backend;

/// A state: nothing but what identifies it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct KeptState {
    /// The identity of the state, see [`Uid`].
    pub(crate) uid: u64,
}

impl State for KeptState {
    const MANIFEST: &'static str = "torture.kept";
    const VERSION: u32 = 1;
}

/// The id of a state.
pub(crate) fn kept_id(number: u32) -> PersistenceId {
    PersistenceId::of("Kept", &odd_name(number))
}

/// Keeps a state, and reports each step.
pub(crate) struct Kept {
    number: u32,
    state: Option<KeptState>,
    life: Option<Life>,
}

struct Life {
    id: String,
    scribe: Arc<Scribe>,
    incarnation: Incarnation,
    trouble: Trouble,
    recovery: Option<u64>,
    /// The call that is under way.
    change: Option<u64>,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.scribe.say(What::Ended {
            id: self.id.clone(),
            incarnation: self.incarnation,
        });
    }
}

impl Kept {
    /// Returns an actor to be started, which loads its state now.
    pub(crate) fn alive(number: u32, scribe: Arc<Scribe>, trouble: Trouble) -> Self {
        let incarnation = scribe.incarnation();
        let id = kept_id(number).to_string();
        let recovery = scribe.invoke(Operation::Load {
            id: id.clone(),
            incarnation: Some(incarnation),
        });
        Self {
            number,
            state: None,
            life: Some(Life {
                id,
                scribe,
                incarnation,
                trouble,
                recovery: Some(recovery),
                change: None,
            }),
        }
    }

    /// Returns an actor to be looked at, which writes nothing down.
    pub(crate) fn shown(number: u32) -> Self {
        Self {
            number,
            state: None,
            life: None,
        }
    }

    fn change_has_ended(&mut self, answer: Answer) {
        if let Some(life) = &mut self.life
            && let Some(call) = life.change.take()
        {
            life.scribe.answer(call, answer);
        }
    }

    /// The state, as a history has it.
    pub(crate) fn loaded(&self, revision: Revision) -> Done {
        let uid = self.state.map(|state| Uid(state.uid));
        Done::Loaded { revision, uid }
    }
}

impl Actor for Kept {
    type Context = PersistentContext<Self>;
}

impl DurableState for Kept {
    type State = KeptState;

    fn persistence_id(&self) -> PersistenceId {
        kept_id(self.number)
    }

    fn on_state(&mut self, state: Option<&KeptState>) {
        self.state = state.copied();
    }

    fn on_recovery_completed(&mut self, ctx: &mut PersistentContext<Self>) {
        reached("end of a recovery");
        let loaded = self.loaded(ctx.revision());
        if let Some(life) = &mut self.life
            && let Some(call) = life.recovery.take()
        {
            life.scribe.answer(call, Answer::Ok(loaded));
        }
    }

    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        if let Some(life) = &mut self.life {
            (life.trouble)(error);
            if let Some(call) = life.recovery.take() {
                life.scribe.answer(call, Answer::Failed);
            }
        }
    }

    fn on_persist_failure(&mut self, error: &PersistError, _: Option<&KeptState>, _: Revision) {
        self.change_has_ended(match error.is_not_stored() {
            true => Answer::Failed,
            false => Answer::Unknown,
        });
    }

    fn on_persist_rejected(
        &mut self,
        _: &RejectionCause,
        _: Option<&KeptState>,
        _: &mut PersistentContext<Self>,
    ) {
        self.change_has_ended(Answer::Rejected);
    }
}

/// Stores a state, or deletes it.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<Revision, PersistError>")]
pub(crate) struct Change {
    /// The new state, or the delete.
    pub(crate) uid: Uid,
    /// True if the state is deleted.
    pub(crate) deletes: bool,
}

impl Handler<Change> for Kept {
    type Result = Reply<Change>;

    fn handle(&mut self, change: Change, ctx: &mut Self::Context) -> Reply<Change> {
        let Change { uid, deletes } = change;
        let revision = Some(ctx.revision() + 1);
        if let Some(life) = &mut self.life {
            let (id, incarnation) = (life.id.clone(), life.incarnation);
            let scribe = &life.scribe;
            life.change = Some(scribe.invoke_change(id, incarnation, revision, uid, deletes));
        }
        let answer = |kept: &mut Self, ctx: &mut PersistentContext<Self>| {
            let revision = ctx.revision();
            kept.change_has_ended(Answer::Ok(Done::Changed { revision }));
            Ok(revision)
        };
        match deletes {
            true => ctx.delete().reply_with(answer),
            false => ctx.persist(KeptState { uid: uid.0 }).reply_with(answer),
        }
    }
}

/// Returns the statements that make the tables of [`Noted`]; ids are compared byte by byte.
///
/// No key keeps a change from being noted twice: that is the store's to see to, and the checker's to find.
pub(crate) fn tables(backend: Backend) -> String {
    let id = match backend {
        // Every collation there takes some ids for equal.
        Backend::Mysql => "VARBINARY(255)",
        Backend::Sqlite | Backend::Postgres | Backend::Memory => "VARCHAR(255)",
    };
    format!(
        "
CREATE TABLE noted (id {id} NOT NULL, revision BIGINT NOT NULL, uid BIGINT);
CREATE INDEX noted_of_id ON noted (id, revision);
CREATE TABLE note_count (place BIGINT NOT NULL PRIMARY KEY, notes BIGINT NOT NULL);
INSERT INTO note_count (place, notes) VALUES (0, 0), (1, 0);
"
    )
}

/// The beginning of the error of [`Noted`] where one is missing, or one too much.
pub(crate) const NO_NOTE: &str = "there is no note of the change before";

/// A change handler that notes each change in a table of the application, and counts the notes in another.
///
/// It reads the note of the change before, so that it fails where one is missing.
pub(crate) struct Noted;

#[async_trait]
impl ChangeHandler for Noted {
    async fn process(
        &self,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        reached("change handler");
        let id = change.persistence_id.as_str();
        let revision = i64::try_from(change.revision)?;
        let select = "SELECT revision FROM noted WHERE id = $1 AND revision = $2";
        let before = session
            .select_one(select, [id.into(), (revision - 1).into()])
            .await?;
        if before.is_some() != (revision > 1) {
            return Err(format!("{NO_NOTE} {revision} of {id}").into());
        }
        let state = change.payload().map(decode_state::<KeptState>);
        let uid = state.transpose()?.map(|state| state.uid as i64);
        let insert = "INSERT INTO noted (id, revision, uid) VALUES ($1, $2, $3)";
        session
            .execute(insert, [id.into(), revision.into(), uid.into()])
            .await?;
        let update = "UPDATE note_count SET notes = notes + 1 WHERE place = $1";
        session.execute(update, [(revision % 2).into()]).await?;
        Ok(())
    }
}
