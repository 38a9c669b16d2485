//! Loading a snapshot outside of recovery.

use actix_persistence_storage_api::{
    Operation, PersistenceId, SequenceNr, SnapshotCriteria, SnapshotMetadata, SnapshotRecord,
    StorageError,
};

use crate::serializer::{Place, shown};
use crate::stores::patience::{self, in_time};
use crate::{DecodeError, PersistentActor, PersistentContext, Serializers, Snapshot, schema};

/// A stored snapshot, as [`load_snapshot`](PersistentContext::load_snapshot) returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadedSnapshot<S> {
    /// The metadata of the snapshot.
    pub metadata: SnapshotMetadata,
    /// The decoded snapshot.
    pub snapshot: S,
}

/// The reason why a snapshot was not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadSnapshotError {
    /// The actor was started without a snapshot store.
    #[error("no snapshot store is configured")]
    NoSnapshotStore,
    /// The store failed to answer, or answered with an error.
    #[error("could not load a snapshot of {persistence_id:?}")]
    Storage {
        /// The persistence id of the snapshot.
        persistence_id: PersistenceId,
        /// The error of the store.
        source: StorageError,
    },
    /// The snapshot could not be decoded.
    #[error(
        "could not decode the snapshot of {persistence_id:?} at {sequence_nr}, stored by serializer {serializer_id} as {manifest:?}"
    )]
    Decode {
        /// The persistence id of the snapshot.
        persistence_id: PersistenceId,
        /// The sequence number of the snapshot.
        sequence_nr: SequenceNr,
        /// The serializer that wrote it.
        serializer_id: u32,
        /// The manifest stored with it.
        manifest: String,
        /// The error of decoding it.
        source: DecodeError,
    },
}

impl<A: PersistentActor> PersistentContext<A> {
    /// Loads the youngest of the actor's snapshots that the criteria select; `None` if there is none.
    ///
    /// For looking at an earlier state: the actor does not change, and commands are not held back. The request is sent
    /// at the call, after the saves and deletes asked for before. What this returns does not borrow the context:
    /// spawn it there, or await it elsewhere. An actor whose snapshots are [`NoSnapshot`](crate::NoSnapshot) has none.
    ///
    /// # Errors
    /// If the actor has no snapshot store, if that store does not answer or answers with an error, or if the snapshot
    /// cannot be decoded.
    ///
    /// # Cancel safety
    /// Changes nothing; it may be dropped at any time.
    pub fn load_snapshot(
        &self,
        criteria: SnapshotCriteria,
    ) -> impl Future<Output = Result<Option<LoadedSnapshot<A::Snapshot>>, LoadSnapshotError>>
    + 'static
    + use<A> {
        let persistence_id = self.persistence_id.clone();
        let criteria = if A::Snapshot::NEVER {
            SnapshotCriteria::NONE
        } else {
            criteria
        };
        let environment = self.environment.clone();
        let loading = environment.stores.snapshot_store().map(|store| {
            in_time(
                Operation::LoadSnapshot,
                persistence_id.clone(),
                patience::for_loading(store),
                store.load(persistence_id.clone(), criteria),
            )
        });
        async move {
            let reply = loading.ok_or(LoadSnapshotError::NoSnapshotStore)?;
            let record = reply.await.map_err(|source| LoadSnapshotError::Storage {
                persistence_id,
                source,
            })?;
            record
                .map(|record| decoded(record, &environment.serializers))
                .transpose()
        }
    }
}

fn decoded<S: Snapshot>(
    record: SnapshotRecord,
    serializers: &Serializers,
) -> Result<LoadedSnapshot<S>, LoadSnapshotError> {
    let metadata = &record.metadata;
    let place = Place::of_snapshot(&metadata.persistence_id, metadata.sequence_nr);
    match schema::read_snapshot(serializers.stored(&record.payload, place)) {
        Ok(snapshot) => Ok(LoadedSnapshot {
            metadata: record.metadata,
            snapshot,
        }),
        Err(source) => Err(LoadSnapshotError::Decode {
            persistence_id: record.metadata.persistence_id,
            sequence_nr: record.metadata.sequence_nr,
            serializer_id: record.payload.serializer_id,
            manifest: shown(&record.payload.manifest),
            source,
        }),
    }
}
