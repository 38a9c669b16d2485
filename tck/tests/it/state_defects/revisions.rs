//! Defects of revisions.

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_storage_api::{
    CurrentState, Operation, PersistenceId, RevisionConflict, StateDelete, StateStore, StateUpdate,
    StorageError, StorageErrorKind,
};
use async_trait::async_trait;
use tokio::task::yield_now;

use super::defect;
use crate::broken_state_store::{StateDefect, force};

defect! {
    /// Overwrites whatever is there at any revision but the first: `UPDATE` without the revision in its condition.
    UpdatesAtAnyRevision,
    upsert(inner, update) {
        let found = inner.get(&update.persistence_id).await?.revision;
        if found > 0 && (2..100).contains(&update.revision) {
            return force(inner, update).await;
        }
        inner.upsert(update).await
    }
}

defect! {
    /// Starts again at revision 1 whatever is there: an upsert in place of an insert.
    StartsAgainAtRevision1,
    upsert(inner, update) {
        if update.revision == 1 {
            return force(inner, update).await;
        }
        inner.upsert(update).await
    }
}

defect! {
    /// Stores a first state at any revision.
    InsertsAtAnyRevision,
    upsert(inner, update) {
        let found = inner.get(&update.persistence_id).await?.revision;
        if found == 0 && (2..100).contains(&update.revision) {
            return force(inner, update).await;
        }
        inner.upsert(update).await
    }
}

defect! {
    /// Says of every conflict that nothing was found.
    KnowsNotWhatItFound,
    upsert(inner, update) {
        let id = update.persistence_id.clone();
        inner.upsert(update).await.map_err(|error| match error.revision_conflict() {
            Some(conflict) => {
                let conflict = RevisionConflict { found: 0, ..*conflict };
                StorageError::from_revision_conflict(Operation::UpsertState, id, conflict)
            }
            None => error,
        })
    }
}

defect! {
    /// Says of a conflict that its outcome is unknown.
    DoubtsConflicts,
    upsert(inner, update) {
        let unknown = actix_persistence_storage_api::Effect::Unknown;
        inner.upsert(update).await.map_err(|error| error.with_effect(unknown))
    }
}

defect! {
    /// Takes revision 0 for a hard delete.
    DeletesHardAtRevision0,
    delete(inner, delete) {
        if delete.revision == 0 {
            return inner.hard_delete(&delete.persistence_id).await.map(drop);
        }
        inner.delete(delete).await
    }
}

defect! {
    /// Calls every refusal an error of the database.
    KnowsNoKinds,
    upsert(inner, update) {
        inner.upsert(update).await.map_err(|_| {
            StorageError::new(StorageErrorKind::Backend, Operation::UpsertState).not_stored()
        })
    }
}

defect! {
    /// Looks, and then writes.
    LooksAndThenWrites,
    upsert(inner, update) {
        let found = inner.get(&update.persistence_id).await?.revision;
        if update.revision.checked_sub(1) != Some(found) {
            return inner.upsert(update).await;
        }
        for _ in 0..20 {
            yield_now().await;
        }
        force(inner, update).await
    }
}

defect! {
    /// Counts a revision for a read of what is not there.
    LeavesTraces,
    get(inner, id) {
        let found = inner.get(id).await?;
        if found.revision == 0 {
            inner.delete(StateDelete::new(id.clone(), 1)).await?;
        }
        Ok(found)
    }
}

defect! {
    /// Gives revision 1 for what is not there.
    BeginsAtRevision1,
    get(inner, id) {
        let found = inner.get(id).await?;
        Ok(if found.revision == 0 { CurrentState::tombstone(1) } else { found })
    }
}

defect! {
    /// Gives the state without its revision.
    GivesNoRevision,
    get(inner, id) {
        let mut found = inner.get(id).await?;
        if found.state.is_some() {
            found.revision = 1;
        }
        Ok(found)
    }
}
