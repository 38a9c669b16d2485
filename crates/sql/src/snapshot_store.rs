//! The snapshot store of every SQL database.

use std::fmt;
use std::sync::Arc;

use actix_persistence_storage_api::{
    Operation, Payload, PersistenceId, Roles, SnapshotCapabilities, SnapshotCriteria,
    SnapshotMetadata, SnapshotRecord, SnapshotStore, StorageError, StorageErrorKind, Timestamp,
};
use async_trait::async_trait;
use sqlx::SqlStr;

use crate::checksum;
use crate::connection::Connections;
use crate::page::check_size;
use crate::row::{get_integer, get_number, get_optional_integer, get_payload};
use crate::schema::StoreSchema;
use crate::turns::Turns;
use crate::values::{Values, to_bound, to_integer};
use crate::{
    ConnectionOf, Dialect, InvalidOption, RowOf, Settings, SnapshotStatements, SqlError,
    SqlxDatabase,
};

/// A snapshot store in a table of an SQL database, which may be that of a journal.
///
/// Keeps any number of snapshots of an id.
pub struct SqlSnapshotStore<D: Dialect> {
    connections: Arc<Connections<D::Connector>>,
    statements: SnapshotStatements,
    schema: Arc<StoreSchema<D>>,
    turns: Turns,
    options: D::Options,
}

impl<D: Dialect> SqlSnapshotStore<D> {
    /// Makes a snapshot store with connections of its own; opens nothing before
    /// [`initialize`](SnapshotStore::initialize).
    ///
    /// The plugin makes stores that share connections where they share a database.
    ///
    /// # Errors
    /// If a setting cannot be used.
    pub fn new(options: D::Options) -> Result<Self, InvalidOption> {
        options.validate()?;
        let connections = Connections::new(D::connector(&options)?);
        Self::on(Arc::new(connections), options)
    }

    /// Makes a snapshot store with these connections.
    pub(crate) fn on(
        connections: Arc<Connections<D::Connector>>,
        options: D::Options,
    ) -> Result<Self, InvalidOption> {
        let store = options.store();
        let names = D::names(&options)?.table("snapshot_table", &store.snapshot_table()?);
        Ok(Self {
            connections,
            statements: D::snapshot_statements(&names),
            schema: Arc::new(StoreSchema::snapshot_store(names, store)?),
            turns: Turns::new(),
            options,
        })
    }

    /// Returns the settings it was made with.
    pub fn options(&self) -> &D::Options {
        &self.options
    }

    /// Returns the SQL that makes its table, for a person who does it instead of `auto-initialize`; with roles, also
    /// what those are allowed.
    ///
    /// # Errors
    /// If the database knows no roles, or one of these cannot be used.
    pub fn schema_sql(&self, roles: Option<&Roles>) -> Result<String, String> {
        self.schema.script(roles)
    }

    async fn delete_within(
        &self,
        operation: Operation,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        let turn = self.turns.take([id].into_iter()).await;
        let sql = self.statements.delete.clone();
        let _turn = self.connections.snapshot_turn(0).await;
        self.connections
            .write(operation, id.clone(), move |connection, id| {
                // Until the work is dropped, which is when it has ended.
                let _ = &turn;
                let values = bounds::<D>(&id, criteria);
                Box::pin(execute::<D>(connection, sql.clone(), values))
            })
            .await
            .map_err(|error| error.with_persistence_id(id.clone()))
    }

    fn check_size(
        &self,
        metadata: &SnapshotMetadata,
        payload: &Payload,
    ) -> Result<(), StorageError> {
        let limit = self.options.store().max_snapshot_bytes;
        let beside = metadata.metadata.as_ref().map_or(0, Payload::len);
        if payload.len() <= limit && beside <= limit {
            return Ok(());
        }
        let error = StorageError::new(StorageErrorKind::TooLarge, Operation::SaveSnapshot)
            .not_stored()
            .with_persistence_id(metadata.persistence_id.clone())
            .with_message(format!(
                "it has more than {limit} bytes; make it smaller or raise 'max-snapshot-bytes'"
            ));
        Err(error)
    }
}

#[async_trait]
impl<D: Dialect> SnapshotStore for SqlSnapshotStore<D> {
    async fn initialize(&self) -> Result<(), StorageError> {
        let schema = Arc::clone(&self.schema);
        self.connections
            .initialize(schema, self.options.store().auto_initialize)
            .await
    }

    async fn load(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        let id = persistence_id.clone();
        let sql = self.statements.load.clone();
        self.connections
            .read(Operation::LoadSnapshot, move |connection| {
                Box::pin(load::<D>(connection, sql, id, criteria))
            })
            .await
            .map_err(|error| error.with_persistence_id(persistence_id.clone()))
    }

    async fn save(&self, metadata: SnapshotMetadata, payload: Payload) -> Result<(), StorageError> {
        self.check_size(&metadata, &payload)?;
        if let Some(error) = metadata.refusal(&payload) {
            return Err(error);
        }
        if let Some(message) = D::refuses(&self.options, &payload.bytes) {
            return Err(unsupported(metadata.persistence_id, message));
        }
        let id = metadata.persistence_id.clone();
        if to_integer(metadata.sequence_nr).is_none() {
            let message = format!("no sequence number is above {}", i64::MAX);
            return Err(unsupported(id, message));
        }
        let turn = self.turns.take([&id].into_iter()).await;
        let sql = self.statements.save.clone();
        let bytes = payload.len() + metadata.metadata.as_ref().map_or(0, Payload::len);
        let input = (metadata, payload);
        let _turn = self.connections.snapshot_turn(bytes).await;
        self.connections
            .write(
                Operation::SaveSnapshot,
                input,
                move |connection, (metadata, payload)| {
                    let _ = &turn;
                    let values = to_values::<D>(metadata, payload);
                    Box::pin(execute::<D>(connection, sql.clone(), values))
                },
            )
            .await
            .map_err(|error| error.with_persistence_id(id))
    }

    async fn delete(&self, metadata: &SnapshotMetadata) -> Result<(), StorageError> {
        if to_integer(metadata.sequence_nr).is_none() {
            // Nothing is stored there.
            return Ok(());
        }
        let mut criteria = SnapshotCriteria::LATEST;
        criteria.min_sequence_nr = metadata.sequence_nr;
        criteria.max_sequence_nr = metadata.sequence_nr;
        if metadata.timestamp != Timestamp::UNSET {
            criteria.min_timestamp = metadata.timestamp;
            criteria.max_timestamp = metadata.timestamp;
        }
        let id = &metadata.persistence_id;
        self.delete_within(Operation::DeleteSnapshot, id, criteria)
            .await
    }

    async fn delete_matching(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        let operation = Operation::DeleteMatchingSnapshots;
        self.delete_within(operation, persistence_id, criteria)
            .await
    }

    async fn close(&self) {
        self.connections.close().await;
    }

    fn capabilities(&self) -> SnapshotCapabilities {
        SnapshotCapabilities::default()
            .with_metadata()
            .with_max_snapshot_bytes(self.options.store().max_snapshot_bytes)
            .with_durability(D::durability(&self.options))
    }
}

impl<D: Dialect> fmt::Debug for SqlSnapshotStore<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlSnapshotStore")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

fn unsupported(id: PersistenceId, message: String) -> StorageError {
    StorageError::new(StorageErrorKind::Unsupported, Operation::SaveSnapshot)
        .not_stored()
        .with_persistence_id(id)
        .with_message(message)
}

fn to_values<D: Dialect>(metadata: SnapshotMetadata, payload: Payload) -> Values<D> {
    let checksum = checksum::of_snapshot(&metadata, &payload);
    let id = metadata.persistence_id;
    let mut values = Values::with_capacity(11);
    values.id(&id);
    values.integer(to_bound(metadata.sequence_nr));
    values.integer(i64::from(id.slice()));
    values.integer(metadata.timestamp.as_micros());
    values.integer(i64::from(payload.serializer_id));
    values.shared_text(payload.manifest);
    values.blob(payload.bytes);
    values.metadata(metadata.metadata);
    values.integer(checksum);
    values
}

fn bounds<D: Dialect>(id: &PersistenceId, criteria: SnapshotCriteria) -> Values<D> {
    let mut values = Values::with_capacity(5);
    values.id(id);
    values.integer(to_bound(criteria.min_sequence_nr));
    // No number is above what a database stores, so bounds that begin there select nothing.
    let max =
        to_integer(criteria.min_sequence_nr).map_or(-1, |_| to_bound(criteria.max_sequence_nr));
    values.integer(max);
    values.integer(criteria.min_timestamp.as_micros());
    values.integer(criteria.max_timestamp.as_micros());
    values
}

async fn execute<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: SqlStr,
    values: Values<D>,
) -> Result<(), SqlError> {
    D::Database::execute(connection, sql, values.into_arguments()).await?;
    Ok(())
}

async fn load<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: SqlStr,
    id: PersistenceId,
    criteria: SnapshotCriteria,
) -> Result<Option<SnapshotRecord>, SqlError> {
    let values = bounds::<D>(&id, criteria);
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let number = get_number::<D>(row, 0)?;
    let record = to_record::<D>(row, id);
    record
        .map(Some)
        .map_err(|error| error.about(format_args!("the snapshot at sequence number {number}")))
}

fn to_record<D: Dialect>(row: &RowOf<D>, id: PersistenceId) -> Result<SnapshotRecord, SqlError> {
    check_size::<D>(row, 9)?;
    let timestamp = Timestamp::from_micros(get_integer::<D>(row, 1)?);
    let mut metadata = SnapshotMetadata::new(id, get_number::<D>(row, 0)?, timestamp);
    if get_optional_integer::<D>(row, 5)?.is_some() {
        metadata.metadata = Some(get_payload::<D>(row, [5, 6, 7])?);
    }
    let payload = get_payload::<D>(row, [2, 3, 4])?;
    let stored = get_optional_integer::<D>(row, 8)?;
    checksum::check(stored, || checksum::of_snapshot(&metadata, &payload))?;
    Ok(SnapshotRecord::new(metadata, payload))
}
