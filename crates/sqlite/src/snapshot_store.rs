//! The snapshot store.

use std::sync::Arc;

use actix_persistence_storage_api::{
    Operation, Payload, PersistenceId, SnapshotCapabilities, SnapshotCriteria, SnapshotMetadata,
    SnapshotRecord, SnapshotStore, StorageError, StorageErrorKind, Timestamp,
};
use async_trait::async_trait;
use bytes::Bytes;
use sqlx::sqlite::SqliteRow;
use sqlx::{SqlStr, SqliteConnection};

use crate::connection::Database;
use crate::error::Fault;
use crate::queries::SnapshotQueries;
use crate::row::{Values, get, get_number, get_optional, to_bound, to_integer, to_serializer_id};
use crate::schema::Component;
use crate::{InvalidSqliteOption, SqliteOptions};

/// A snapshot store in one SQLite file, which may be that of a journal.
///
/// Keeps any number of snapshots of an id.
pub struct SqliteSnapshotStore {
    database: Arc<Database>,
    queries: Arc<SnapshotQueries>,
    component: Arc<Component>,
    options: SqliteOptions,
}

impl SqliteSnapshotStore {
    /// A snapshot store with connections of its own; opens nothing before
    /// [`initialize`](SnapshotStore::initialize).
    ///
    /// A [`SqlitePlugin`](crate::SqlitePlugin) makes stores that share connections where they share a file.
    ///
    /// # Errors
    /// If a setting cannot be used.
    pub fn new(options: SqliteOptions) -> Result<Self, InvalidSqliteOption> {
        options.validate()?;
        let database = Database::new(options.connection_settings()?);
        Self::on(Arc::new(database), options)
    }

    pub(crate) fn on(
        database: Arc<Database>,
        options: SqliteOptions,
    ) -> Result<Self, InvalidSqliteOption> {
        let table = options.snapshot_table_name()?;
        Ok(Self {
            database,
            queries: Arc::new(SnapshotQueries::new(&table)),
            component: Arc::new(Component::snapshot_store(&table)),
            options,
        })
    }

    /// The settings it was made with.
    pub fn options(&self) -> &SqliteOptions {
        &self.options
    }

    async fn change(
        &self,
        operation: Operation,
        persistence_id: &PersistenceId,
        sql: &SqlStr,
        values: Values,
    ) -> Result<(), StorageError> {
        let sql = sql.clone();
        self.database
            .write(operation, move |connection| {
                Box::pin(async move { execute(connection, sql, values).await })
            })
            .await
            .map_err(|error| error.with_persistence_id(persistence_id.clone()))
    }

    fn check_size(
        &self,
        metadata: &SnapshotMetadata,
        payload: &Payload,
    ) -> Result<(), StorageError> {
        let limit = self.options.max_snapshot_bytes;
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
impl SnapshotStore for SqliteSnapshotStore {
    async fn initialize(&self) -> Result<(), StorageError> {
        let component = Arc::clone(&self.component);
        self.database
            .initialize(component, self.options.auto_initialize)
            .await
    }

    async fn load(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        let id = persistence_id.clone();
        let sql = self.queries.load.clone();
        self.database
            .read(Operation::LoadSnapshot, move |connection| {
                Box::pin(async move { load(connection, sql, id, criteria).await })
            })
            .await
            .map_err(|error| error.with_persistence_id(persistence_id.clone()))
    }

    async fn save(&self, metadata: SnapshotMetadata, payload: Payload) -> Result<(), StorageError> {
        self.check_size(&metadata, &payload)?;
        let id = metadata.persistence_id;
        let Some(sequence_nr) = to_integer(metadata.sequence_nr) else {
            return Err(
                StorageError::new(StorageErrorKind::Unsupported, Operation::SaveSnapshot)
                    .not_stored()
                    .with_persistence_id(id)
                    .with_message(format!("no sequence number is above {}", i64::MAX)),
            );
        };
        let mut values = Values::with_capacity(10);
        values.text(id.as_str());
        values.integer(sequence_nr);
        values.integer(i64::from(id.slice()));
        values.integer(metadata.timestamp.as_micros());
        values.integer(i64::from(payload.serializer_id));
        values.shared_text(payload.manifest);
        values.blob(payload.bytes);
        values.metadata(metadata.metadata);
        self.change(Operation::SaveSnapshot, &id, &self.queries.save, values)
            .await
    }

    async fn delete(&self, metadata: &SnapshotMetadata) -> Result<(), StorageError> {
        let Some(sequence_nr) = to_integer(metadata.sequence_nr) else {
            // Nothing is stored there.
            return Ok(());
        };
        let id = &metadata.persistence_id;
        let mut values = Values::with_capacity(3);
        values.text(id.as_str());
        values.integer(sequence_nr);
        values.integer(metadata.timestamp.as_micros());
        self.change(Operation::DeleteSnapshot, id, &self.queries.delete, values)
            .await
    }

    async fn delete_matching(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        let operation = Operation::DeleteMatchingSnapshots;
        let values = bounds(persistence_id, criteria);
        let sql = &self.queries.delete_matching;
        self.change(operation, persistence_id, sql, values).await
    }

    fn capabilities(&self) -> SnapshotCapabilities {
        SnapshotCapabilities::default()
            .with_metadata()
            .with_max_snapshot_bytes(self.options.max_snapshot_bytes)
    }
}

impl std::fmt::Debug for SqliteSnapshotStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteSnapshotStore")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

fn bounds(id: &PersistenceId, criteria: SnapshotCriteria) -> Values {
    let mut values = Values::with_capacity(5);
    values.text(id.as_str());
    values.integer(to_bound(criteria.min_sequence_nr));
    // No number is above what SQLite stores, so bounds that begin there select nothing.
    let max =
        to_integer(criteria.min_sequence_nr).map_or(-1, |_| to_bound(criteria.max_sequence_nr));
    values.integer(max);
    values.integer(criteria.min_timestamp.as_micros());
    values.integer(criteria.max_timestamp.as_micros());
    values
}

async fn execute(
    connection: &mut SqliteConnection,
    sql: SqlStr,
    values: Values,
) -> Result<(), Fault> {
    sqlx::query_with(sql, values.into_arguments())
        .execute(connection)
        .await?;
    Ok(())
}

async fn load(
    connection: &mut SqliteConnection,
    sql: SqlStr,
    id: PersistenceId,
    criteria: SnapshotCriteria,
) -> Result<Option<SnapshotRecord>, Fault> {
    let values = bounds(&id, criteria);
    let row = sqlx::query_with(sql, values.into_arguments())
        .fetch_optional(connection)
        .await?;
    row.map(|row| to_record(&row, id)).transpose()
}

fn to_record(row: &SqliteRow, id: PersistenceId) -> Result<SnapshotRecord, Fault> {
    let timestamp = Timestamp::from_micros(get(row, 1)?);
    let mut metadata = SnapshotMetadata::new(id, get_number(row, 0)?, timestamp);
    if get_optional::<i64>(row, 5)?.is_some() {
        metadata.metadata = Some(to_payload(row, [5, 6, 7])?);
    }
    Ok(SnapshotRecord::new(metadata, to_payload(row, [2, 3, 4])?))
}

/// Reads serializer, manifest and bytes.
fn to_payload(row: &SqliteRow, columns: [usize; 3]) -> Result<Payload, Fault> {
    let serializer_id = to_serializer_id(get(row, columns[0])?)?;
    let manifest: &str = get(row, columns[1])?;
    let bytes: Vec<u8> = get(row, columns[2])?;
    Ok(Payload::new(serializer_id, manifest, Bytes::from(bytes)))
}
