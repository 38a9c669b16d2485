//! The requests of an actor to its stores beside persisting: snapshots, and deletes.

use std::sync::Arc;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_storage_api::{
    Epoch, EventDeletion, Fence, Operation, PersistenceId, SequenceNr, SnapshotCriteria,
    SnapshotMetadata, StorageError, StorageErrorKind, Timestamp,
};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use tokio::sync::oneshot;

use crate::serializer::Place;
use crate::stores::patience::{self, in_time};
use crate::{
    DeleteMessagesError, PersistentActor, PersistentContext, SaveSnapshotError, StoreResponse,
    schema,
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
        let schema = schema::of_snapshot::<A::Snapshot>();
        let schema = schema.expect("no actor is started whose schema cannot be");
        let saving = match (
            self.environment.stores.snapshot_store(),
            self.environment.encode_snapshot(snapshot, &schema),
        ) {
            (None, _) => Err(SaveSnapshotError::NoSnapshotStore),
            _ if self.retention.left_out_events() => Err(SaveSnapshotError::EventsLeftOut),
            (_, Err(error)) => Err(error.into()),
            (Some(store), Ok(snapshot)) => {
                let id = metadata.persistence_id.clone();
                let place = Place::of_snapshot(&id, metadata.sequence_nr);
                let saving = store.save(metadata.clone(), snapshot.at(place));
                let limit = patience::for_saving(store);
                Ok(in_time(Operation::SaveSnapshot, id, limit, saving))
            }
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

    /// Deletes every snapshot that the criteria select, up to the last event that the actor has applied: younger ones
    /// are of another writer, who may have deleted the events that they cover.
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
        let own = criteria.limited_to(self.last_sequence_nr);
        let deleting = self.environment.stores.snapshot_store().map(|store| {
            in_time(
                Operation::DeleteMatchingSnapshots,
                id.clone(),
                patience::for_saving(store),
                store.delete_matching(id, own),
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

    /// Deletes the actor's events up to `to_sequence_nr`, inclusive; [`SequenceNr::MAX`] means all that it has applied.
    ///
    /// Numbers are never used again. Fails with a conflict, and deletes nothing, if another writer has taken the id over.
    /// A bound above the last event is refused without asking the journal.
    /// The answer comes to [`on_store_response`](PersistentActor::on_store_response).
    pub fn delete_messages(&mut self, to_sequence_nr: SequenceNr) {
        const { assert!(A::STORED_AS.is_events(), "a durable state has no messages") };
        let deleting = self.deleting_messages(to_sequence_nr);
        self.store_responses.of_journal(deleting);
    }

    /// Asks the journal for this delete, or lets it wait until it is known whether the write under way has taken the id
    /// over: the epoch that it would raise may by then be that of another writer.
    fn ask_to_delete(&mut self, journal: &JournalHandle, to: SequenceNr) -> DeleteReply {
        let (id, limit) = (self.persistence_id.clone(), patience::for_deleting(journal));
        let journal = journal.clone();
        let ask = move |epoch: Epoch| {
            let deletion = EventDeletion::up_to(to).at_epoch(epoch);
            let deleting = journal.delete_messages_to(id.clone(), deletion);
            in_time(Operation::DeleteMessagesTo, id, limit, deleting).boxed_local()
        };
        if self.in_flight.is_none() || matches!(self.fence, Fence::Holds(_)) {
            return ask(self.fence.expected());
        }
        let (sender, asked) = oneshot::channel();
        self.waiting_deletes.push(Box::new(move |epoch| {
            let _ = sender.send(ask(epoch));
        }));
        let id = self.persistence_id.clone();
        async move {
            match asked.await {
                Ok(deleting) => deleting.await,
                Err(_) => Err(never_asked(id)),
            }
        }
        .boxed_local()
    }

    /// Asks for the deletes that have waited for the write under way.
    ///
    /// With the epoch that is known to be the actor's, or that was there when it began to recover: it passes only as
    /// long as no other writer has taken the id over.
    pub(crate) fn ask_for_waiting_deletes(&mut self) {
        let epoch = self.fence.expected();
        for ask in std::mem::take(&mut self.waiting_deletes) {
            ask(epoch);
        }
    }

    pub(crate) fn deleting_messages(
        &mut self,
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
            let environment = Arc::clone(&self.environment);
            let journal = environment.stores.journal();
            journal
                .map(|journal| self.ask_to_delete(journal, to))
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

/// A delete that waits for its turn, to be asked for at an epoch.
pub(crate) type WaitingDelete = Box<dyn FnOnce(Epoch)>;

type DeleteReply = LocalBoxFuture<'static, Result<(), StorageError>>;

fn never_asked(persistence_id: PersistenceId) -> StorageError {
    StorageError::new(StorageErrorKind::Unavailable, Operation::DeleteMessagesTo)
        .not_stored()
        .with_persistence_id(persistence_id)
        .with_message("the actor ended before the delete was asked for")
}

fn no_snapshot_store(operation: Operation) -> StorageError {
    StorageError::new(StorageErrorKind::Unsupported, operation)
        .not_stored()
        .with_message("no snapshot store is configured")
}
