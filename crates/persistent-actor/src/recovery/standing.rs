//! Finds out where an id stands in its journal. Nothing here knows a type of events, so that all of it is compiled once.

use actix_persistence_journal_actor::{JournalHandle, Standing};
use actix_persistence_storage_api::{Fence, Operation, PersistenceId, StorageError, WriterId};
use actix_persistence_store_actor::RecoveryPermit;

use crate::environment::Environment;
use crate::recovery::current_state::store_failed;
use crate::stores::patience::{self, in_time};
use crate::{RecoveryError, TakeOver};

/// Waits for the permit of an actor that will write, then looks where its id stands, or takes it over.
pub(crate) async fn begin(
    environment: &Environment,
    persistence_id: &PersistenceId,
    writer: WriterId,
    take_over: TakeOver,
) -> Result<(RecoveryPermit, Standing), RecoveryError> {
    let permit = permit(environment, persistence_id).await?;
    let journal = journal(environment, persistence_id)?;
    let (limit, id) = (patience::for_reading(journal), persistence_id.clone());
    let standing = match take_over {
        TakeOver::WithFirstWrite => {
            let looking = journal.look(id.clone(), writer);
            in_time(Operation::ReadHead, id, limit, looking).await
        }
        TakeOver::BeforeRecovery => {
            let taking_over = journal.take_over(id.clone(), writer);
            let taken = in_time(Operation::TakeOver, id, limit, taking_over).await;
            taken.map(Standing::from)
        }
    };
    let standing = standing.map_err(|source| journal_error(persistence_id, source))?;
    Ok((permit, standing))
}

/// Looks where an id stands, without the right to write.
pub(crate) async fn read(
    environment: &Environment,
    persistence_id: &PersistenceId,
) -> Result<Standing, RecoveryError> {
    let (journal, id) = (
        journal(environment, persistence_id)?,
        persistence_id.clone(),
    );
    let reading = journal.read_head(id.clone());
    let limit = patience::for_reading(journal);
    let head = in_time(Operation::ReadHead, id, limit, reading)
        .await
        .map_err(|source| journal_error(persistence_id, source))?;
    Ok(Standing {
        highest_sequence_nr: head.highest_sequence_nr,
        deleted_to: head.deleted_to,
        fence: Fence::TakesOver { from: head.epoch },
    })
}

/// Looks again, because a snapshot is younger than the last look: others may have gone on, even after this recovery has
/// raised the epoch, as they can take the id over from that one. What was fenced stays so.
///
/// Returns the error if it is another one, or if the snapshot is still younger.
pub(crate) async fn moved_on(
    environment: &Environment,
    persistence_id: &PersistenceId,
    error: RecoveryError,
) -> Result<Standing, RecoveryError> {
    let RecoveryError::SnapshotAhead { sequence_nr, .. } = &error else {
        return Err(error);
    };
    let now = read(environment, persistence_id).await?;
    if now.highest_sequence_nr < *sequence_nr {
        return Err(error);
    }
    Ok(now)
}

/// Waits for a recovery permit of the journal.
pub(crate) async fn permit(
    environment: &Environment,
    persistence_id: &PersistenceId,
) -> Result<RecoveryPermit, RecoveryError> {
    let permit = journal(environment, persistence_id)?
        .recovery_permit()
        .await;
    permit.map_err(|source| journal_error(persistence_id, source))
}

/// Waits for a recovery permit of the state store.
pub(crate) async fn permit_of_state_store(
    environment: &Environment,
    persistence_id: &PersistenceId,
) -> Result<RecoveryPermit, RecoveryError> {
    let failed = |source| store_failed(persistence_id, source);
    let store = environment.stores.state_store().map_err(failed)?;
    store.recovery_permit().await.map_err(failed)
}

fn journal<'e>(
    environment: &'e Environment,
    persistence_id: &PersistenceId,
) -> Result<&'e JournalHandle, RecoveryError> {
    let journal = environment.stores.journal();
    journal.map_err(|source| journal_error(persistence_id, source))
}

fn journal_error(persistence_id: &PersistenceId, source: StorageError) -> RecoveryError {
    RecoveryError::Journal {
        persistence_id: persistence_id.clone(),
        source,
    }
}
