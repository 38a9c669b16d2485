//! What an actor asks of its stores beside persisting: snapshots, and deletes.

use actix_persistence_storage_api::{
    Epoch, EventDeletion, Operation, SequenceNr, SnapshotCriteria, SnapshotMetadata, StorageError,
    StorageErrorKind, Timestamp,
};

use crate::patience::{self, in_time};
use crate::serializer::{Manifest, check_manifest};
use crate::{
    DeleteMessagesError, PersistentActor, PersistentContext, SaveSnapshotError, Snapshot,
    StoreResponse,
};

impl<A: PersistentActor> PersistentContext<A> {
    /// Stores the state as it is after the last event, without holding back commands.
    ///
    /// Refused after a recovery that was [asked](PersistentActor::recovery) to leave out events: the next one would take
    /// the old state for the one after all events.
    /// The answer comes to [`on_store_response`](PersistentActor::on_store_response).
    pub fn save_snapshot(&mut self, snapshot: &A::Snapshot) {
        let saving = self.saving(snapshot);
        self.store_responses.of_snapshot_store(saving);
    }

    pub(crate) fn saving(
        &self,
        snapshot: &A::Snapshot,
    ) -> impl Future<Output = StoreResponse> + 'static + use<A> {
        let metadata = SnapshotMetadata::new(
            self.persistence_id.clone(),
            self.last_sequence_nr,
            Timestamp::now(),
        );
        let serializer = self.environment.snapshot_serializer::<A::Snapshot>();
        const { check_manifest(A::Snapshot::MANIFEST, A::Snapshot::VERSION) };
        let manifest = Manifest::new(A::Snapshot::MANIFEST, A::Snapshot::VERSION);
        let limit = self.environment.max_snapshot_bytes();
        let saving = match (
            self.environment.stores.snapshot_store(),
            serializer.encode(snapshot, &manifest, limit),
        ) {
            (None, _) => Err(SaveSnapshotError::NoSnapshotStore),
            _ if self.retention.left_out_events() => Err(SaveSnapshotError::EventsLeftOut),
            (_, Err(error)) => Err(error.into()),
            (Some(store), Ok(payload)) => Ok(in_time(
                Operation::SaveSnapshot,
                metadata.persistence_id.clone(),
                patience::for_saving(store),
                store.save(metadata.clone(), payload),
            )),
        };
        async move {
            let result = match saving {
                Ok(reply) => reply.await.map_err(SaveSnapshotError::from),
                Err(error) => Err(error),
            };
            match result {
                Ok(()) => StoreResponse::SaveSnapshotSuccess { metadata },
                Err(error) => StoreResponse::SaveSnapshotFailure { metadata, error },
            }
        }
    }

    /// Deletes the snapshot with this number; one that does not exist is deleted already.
    ///
    /// The answer comes to [`on_store_response`](PersistentActor::on_store_response).
    pub fn delete_snapshot(&mut self, sequence_nr: SequenceNr) {
        const { assert!(A::STORED_AS.is_events(), "a durable state has no snapshots") };
        self.retention.forget(|stored| stored == sequence_nr);
        let metadata =
            SnapshotMetadata::new(self.persistence_id.clone(), sequence_nr, Timestamp::UNSET);
        let deleting = self.environment.stores.snapshot_store().map(|store| {
            in_time(
                Operation::DeleteSnapshot,
                metadata.persistence_id.clone(),
                patience::for_saving(store),
                store.delete(metadata.clone()),
            )
        });
        self.store_responses.of_snapshot_store(async move {
            let result = match deleting {
                Some(reply) => reply.await,
                None => Err(no_snapshot_store(Operation::DeleteSnapshot)),
            };
            match result {
                Ok(()) => StoreResponse::DeleteSnapshotSuccess { metadata },
                Err(error) => StoreResponse::DeleteSnapshotFailure { metadata, error },
            }
        });
    }

    /// Deletes every snapshot that the criteria select.
    ///
    /// The answer comes to [`on_store_response`](PersistentActor::on_store_response).
    pub fn delete_snapshots(&mut self, criteria: SnapshotCriteria) {
        const { assert!(A::STORED_AS.is_events(), "a durable state has no snapshots") };
        let numbers = criteria.min_sequence_nr..=criteria.max_sequence_nr;
        self.retention.forget(|stored| numbers.contains(&stored));
        let deleting = self.deleting_snapshots(criteria);
        self.store_responses.of_snapshot_store(deleting);
    }

    pub(crate) fn deleting_snapshots(
        &self,
        criteria: SnapshotCriteria,
    ) -> impl Future<Output = StoreResponse> + 'static + use<A> {
        let id = self.persistence_id.clone();
        let deleting = self.environment.stores.snapshot_store().map(|store| {
            in_time(
                Operation::DeleteMatchingSnapshots,
                id.clone(),
                patience::for_saving(store),
                store.delete_matching(id, criteria),
            )
        });
        async move {
            let result = match deleting {
                Some(reply) => reply.await,
                None => Err(no_snapshot_store(Operation::DeleteMatchingSnapshots)),
            };
            match result {
                Ok(()) => StoreResponse::DeleteSnapshotsSuccess { criteria },
                Err(error) => StoreResponse::DeleteSnapshotsFailure { criteria, error },
            }
        }
    }

    /// Deletes the actor's events up to `to_sequence_nr`, inclusive; [`SequenceNr::MAX`] means all it has taken note of.
    ///
    /// Numbers are never used again. Fails with a conflict, and deletes nothing, if another writer has taken the id over.
    /// A bound above the last event is refused without asking the journal.
    /// The answer comes to [`on_store_response`](PersistentActor::on_store_response).
    pub fn delete_messages(&mut self, to_sequence_nr: SequenceNr) {
        const { assert!(A::STORED_AS.is_events(), "a durable state has no messages") };
        let deleting = self.deleting_messages(to_sequence_nr);
        self.store_responses.of_journal(deleting);
    }

    /// Deletes are done after the write under way, which may take the id over.
    fn epoch_of_deletes(&self) -> Epoch {
        if self.in_flight.is_some() {
            self.fence.afterwards()
        } else {
            self.fence.expected()
        }
    }

    pub(crate) fn deleting_messages(
        &self,
        to_sequence_nr: SequenceNr,
    ) -> impl Future<Output = StoreResponse> + 'static + use<A> {
        let last_sequence_nr = self.last_sequence_nr;
        let to = match to_sequence_nr {
            SequenceNr::MAX => last_sequence_nr,
            to => to,
        };
        let deleting = if to > last_sequence_nr {
            Err(DeleteMessagesError::AboveLast {
                to_sequence_nr,
                last_sequence_nr,
            })
        } else {
            let journal = self.environment.stores.journal();
            journal
                .map(|journal| {
                    let deletion = EventDeletion::up_to(to).at_epoch(self.epoch_of_deletes());
                    in_time(
                        Operation::DeleteMessagesTo,
                        self.persistence_id.clone(),
                        patience::for_deleting(journal),
                        journal.delete_messages_to(self.persistence_id.clone(), deletion),
                    )
                })
                .map_err(DeleteMessagesError::from)
        };
        async move {
            let result = match deleting {
                Ok(reply) => reply.await.map_err(DeleteMessagesError::from),
                Err(error) => Err(error),
            };
            match result {
                Ok(()) => StoreResponse::DeleteMessagesSuccess { to_sequence_nr },
                Err(error) => StoreResponse::DeleteMessagesFailure {
                    to_sequence_nr,
                    error,
                },
            }
        }
    }
}

fn no_snapshot_store(operation: Operation) -> StorageError {
    StorageError::new(StorageErrorKind::Unsupported, operation)
        .not_stored()
        .with_message("no snapshot store is configured")
}
