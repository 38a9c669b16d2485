//! Events that record changes of states, in a journal of the same database.

use std::sync::Arc;

use actix_persistence_storage_api::{
    ChangeEvent, EventRecord, Payload, PersistenceId, SequenceNr, StorageErrorKind, Timestamp,
    WriterId,
};
use sqlx::SqlStr;

use super::guilty::Guilty;
use crate::connection::Connections;
use crate::group::{EventRow, Group, Head};
use crate::journal::{HintSender, journal_names};
use crate::refusal;
use crate::row::get_integer;
use crate::schema::StoreSchema;
use crate::values::Values;
use crate::{ConnectionOf, Connector, Dialect, InvalidOption, Settings, SqlError, SqlxDatabase};

/// The epoch of ids whose events record changes. It stays negative however often an actor tries to take such an id over;
/// the epoch of an id of an actor is never negative.
const EPOCH: i64 = i64::MIN / 2;

/// The journal that gets an event with every change.
pub(super) struct ChangeEvents<D: Dialect> {
    queries: Arc<D::JournalQueries>,
    adopt: SqlStr,
    epoch_of: SqlStr,
    pub(super) schema: Arc<StoreSchema<D>>,
    pub(super) options: D::Options,
}

impl<D: Dialect> ChangeEvents<D> {
    /// # Errors
    /// If a setting of the journal cannot be used.
    pub(super) fn new(options: D::Options) -> Result<Self, InvalidOption> {
        let names = journal_names::<D>(&options, HintSender::new())?;
        Ok(Self {
            queries: Arc::new(D::journal_queries(&names)),
            adopt: names.fill(D::CHANGE_EVENTS.adopt),
            epoch_of: names.fill(D::CHANGE_EVENTS.epoch_of),
            schema: Arc::new(StoreSchema::journal(names, options.store())?),
            options,
        })
    }

    /// Returns whether the journal is in the database of these connections.
    pub(super) fn is_in(&self, connections: &Connections<D::Connector>) -> bool {
        let endpoint = D::connector(&self.options).map(|connector| connector.endpoint());
        endpoint.is_ok_and(|endpoint| endpoint == connections.connector().endpoint())
    }

    /// Returns the reason why the journal cannot take an event, if there is one.
    pub(super) fn refusal(&self, event: &ChangeEvent) -> Option<(StorageErrorKind, String)> {
        let limit = self.options.store().max_event_bytes;
        let beside = event.metadata.as_ref().map_or(0, Payload::len);
        if event.payload.len().max(beside) > limit {
            let message = format!(
                "the event with it has more than {limit} bytes; make it smaller or raise 'max-event-bytes' of the journal"
            );
            return Some((StorageErrorKind::TooLarge, message));
        }
        let message = refusal::of_event::<D>(&self.options, &to_record(1, event))?;
        Some((StorageErrorKind::Unsupported, message))
    }

    /// Stores events in the transaction of the caller, each as the highest one of its id, in the order of the ids.
    ///
    /// All in one group, so that its counters are raised in the order of all other writers.
    ///
    /// # Errors
    /// If an id has events that do not record changes, or later ones.
    pub(super) async fn store(
        &self,
        connection: &mut ConnectionOf<D>,
        mut changes: Vec<Told<'_>>,
        guilty: &Guilty,
    ) -> Result<(), SqlError> {
        changes.sort_by(|one, other| one.id.cmp(other.id));
        let mut group = Group::default();
        for of_id in changes.chunk_by(|one, other| one.id == other.id) {
            let (first, last) = (&of_id[0], &of_id[of_id.len() - 1]);
            // If any revision may be stored, one may come after a higher one, whose event must stay the last.
            if !of_id.is_sorted_by(|one, next| one.revision < next.revision) {
                return Err(guilty.note::<D>(first.id, refused(first.id)));
            }
            let mut values = Values::<D>::with_capacity(4);
            values.id(first.id);
            values.integer(first.revision - 1);
            values.integer(EPOCH);
            values.writer(WriterId::NIL);
            let adopt = self.adopt.clone();
            let adopted = D::Database::execute(connection, adopt, values.into_arguments()).await;
            adopted.map_err(|error| guilty.note::<D>(first.id, error.into()))?;
            group.heads.push(Head {
                id: first.id.clone(),
                epoch: EPOCH,
                epoch_afterwards: EPOCH,
                taken_over_by: None,
                before: first.revision - 1,
                last: last.revision,
            });
            group.events.extend(of_id.iter().map(Told::to_row));
        }
        if group.heads.is_empty() {
            return Ok(());
        }
        let appended = D::append_within(connection, &self.queries, group).await;
        let lost = appended.map_err(SqlError::in_own_tables::<D>)?;
        match lost.as_slice() {
            [] => Ok(()),
            [id] => Err(guilty.note::<D>(id, refused(id))),
            // They may be all of the group, because of one.
            [id, ..] => Err(refused(id)),
        }
    }

    /// Fails if the id is that of an event-sourced actor.
    pub(super) async fn check(
        &self,
        connection: &mut ConnectionOf<D>,
        id: &PersistenceId,
    ) -> Result<(), SqlError> {
        let mut values = Values::<D>::with_capacity(1);
        values.id(id);
        let sql = self.epoch_of.clone();
        let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
        match rows.first() {
            Some(row) if get_integer::<D>(row, 0)? >= 0 => Err(refused(id)),
            _ => Ok(()),
        }
    }
}

/// A change that an event records.
pub(super) struct Told<'a> {
    pub(super) id: &'a PersistenceId,
    pub(super) revision: i64,
    pub(super) event: &'a ChangeEvent,
}

impl Told<'_> {
    fn to_row(&self) -> EventRow {
        let sequence_nr = u64::try_from(self.revision).expect("no revision is negative");
        let record = to_record(sequence_nr, self.event);
        EventRow::new(self.id.clone(), self.id.slice(), record)
    }
}

fn to_record(sequence_nr: SequenceNr, event: &ChangeEvent) -> EventRecord {
    let payload = event.payload.clone();
    let mut record = EventRecord::new(sequence_nr, Timestamp::now(), event.writer, payload);
    record.tags.clone_from(&event.tags);
    record.metadata.clone_from(&event.metadata);
    record
}

fn refused(id: &PersistenceId) -> SqlError {
    let message = format!(
        "the 'change-event-journal' has events of {id:?} that an event-sourced actor wrote: give the durable state another id; \
         or events that go beyond this revision, because the state was removed: purge those events"
    );
    SqlError::refused(StorageErrorKind::Unsupported, message)
}
