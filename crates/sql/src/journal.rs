//! The journal of every SQL database.

mod delete;
mod event_queries;
mod events;
mod hints;
mod holders;
mod recent;
mod sweeper;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use actix_persistence_storage_api::{
    AnyCommand, AtomicWrite, CommandAnswer, Effect, EventDeletion, EventQueries, EventRecord,
    Journal, JournalCapabilities, Operation, PageLimit, PersistenceId, PurgeProgress, ReplayPage,
    ReplayRange, Roles, SequenceNr, StorageError, StorageErrorKind, StreamHead, TakeOverRequest,
    TakenOver, WriteOutcome, WriterId, WriterPosition,
};
use async_trait::async_trait;
use sqlx::SqlStr;

use crate::connection::{Connections, ReadLine, work_on, work_without_opening};
use crate::group::plan;
use crate::page::PageRequest;
use crate::refusal;
use crate::row::{get_epoch_or_changes, get_integer, get_number, get_writer};
use crate::schema::StoreSchema;
use crate::turns::Turns;
use crate::values::Values;
use crate::{
    Appended, ConnectionOf, Dialect, EventQueryStatements, Group, InvalidOption, JournalStatements,
    RowOf, Settings, SqlError, SqlNames, SqlxDatabase,
};

use delete::Chunk;
use hints::Hints;
use recent::Recent;
use sweeper::Sweeper;

pub use events::{QueriedContent, QueriedEvent};
pub use hints::HintSender;

/// The most payload bytes of deleted rows that one transaction removes, so that it takes a small part of the time that a
/// statement may take.
const CHUNK_BYTES: u64 = 16 * 1024 * 1024;

/// A journal in tables of an SQL database.
///
/// Several journals, in one process or many, may use the same tables: the fence keeps their persistence ids in order.
pub struct SqlJournal<D: Dialect> {
    connections: Arc<Connections<D::Connector>>,
    statements: Arc<JournalStatements>,
    queries: Arc<D::JournalQueries>,
    event_queries: Arc<EventQueryStatements>,
    schema: Arc<StoreSchema<D>>,
    sweeper: Sweeper<D>,
    hints: Hints<D>,
    turns: Turns,
    heads: Arc<ReadLine<PersistenceId, StreamHead>>,
    pages: Arc<ReadLine<PageRequest, ReplayPage>>,
    recent: Arc<Recent>,
    options: D::Options,
}

impl<D: Dialect> SqlJournal<D> {
    /// Makes a journal with connections of its own; opens nothing before [`initialize`](Journal::initialize).
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

    /// Makes a journal with these connections.
    pub(crate) fn on(
        connections: Arc<Connections<D::Connector>>,
        options: D::Options,
    ) -> Result<Self, InvalidOption> {
        let store = options.store();
        let hints = Hints::new(Arc::clone(&connections), options.clone());
        let names = journal_names::<D>(&options, hints.sender())?;
        let statements = Arc::new(D::journal_statements(&names));
        let queries = Arc::new(D::journal_queries(&names));
        let event_queries = Arc::new(D::event_query_statements(&names));
        let schema = Arc::new(StoreSchema::journal(names, store)?);
        let chunk = Chunk {
            rows: store.delete_chunk_events as u64,
            bytes: CHUNK_BYTES,
        };
        let sweeper = Sweeper::new(Arc::downgrade(&connections), Arc::clone(&statements), chunk);
        Ok(Self {
            connections,
            statements,
            queries,
            event_queries,
            schema,
            sweeper,
            hints,
            turns: Turns::new(),
            heads: Arc::new(ReadLine::new(D::SHARED_HEADS)),
            pages: Arc::new(ReadLine::new(D::SHARED_PAGES)),
            recent: Arc::default(),
            options,
        })
    }

    /// Returns the settings it was made with.
    pub fn options(&self) -> &D::Options {
        &self.options
    }

    /// Returns the connections, for what a plugin offers beside the journal.
    pub fn connections(&self) -> &Arc<Connections<D::Connector>> {
        &self.connections
    }

    /// Returns the SQL that makes its tables, for a person who does it instead of `auto-initialize`; with roles, also
    /// what those are allowed.
    ///
    /// # Errors
    /// If the database knows no roles, or one of these cannot be used.
    pub fn schema_sql(&self, roles: Option<&Roles>) -> Result<String, String> {
        self.schema.script(roles)
    }

    /// Stores a group, and keeps its events for those who read the tail; returns the ids that lost.
    async fn store(&self, mut group: Group) -> Result<Vec<PersistenceId>, StorageError> {
        if group.heads.is_empty() {
            return Ok(Vec::new());
        }
        let partition_of = |slice| self.event_queries.partition_of(slice).ok();
        let to_keep = self.recent.begin(&mut group, partition_of);
        let appended = self.append(group).await?;
        if let Some(to_keep) = to_keep
            && appended.losers.is_empty()
        {
            to_keep.keep(&appended.numbers);
        }
        Ok(appended.losers)
    }

    async fn append(&self, group: Group) -> Result<Appended, StorageError> {
        let queries = Arc::clone(&self.queries);
        let operation = Operation::WriteMessages;
        let append = work_on::<D, _, _, _>(move |connection, group, opening| {
            let queries = Arc::clone(&queries);
            Box::pin(async move { D::append(connection, &queries, group, opening).await })
        });
        if D::stores_at_once(&group) {
            let queries = Arc::clone(&self.queries);
            let at_once = work_without_opening::<D, _, _, _>(move |connection, group| {
                let queries = Arc::clone(&queries);
                Box::pin(async move { D::append_at_once(connection, &queries, group).await })
            });
            return self
                .connections
                .write_at_once(operation, group, at_once, append)
                .await;
        }
        let begins = D::begins_append(&group);
        self.connections
            .begin_and_write(begins, operation, group, append)
            .await
    }

    /// Hides events, which is all that a delete promises, in a transaction that does not grow with them.
    async fn hide(
        &self,
        operation: Operation,
        persistence_id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        let statements = Arc::clone(&self.statements);
        let turn = match deletion.epoch {
            // The epoch keeps it from what was stored after the writer that deletes.
            Some(_) => None,
            None => Some(self.turns.take([persistence_id].into_iter()).await),
        };
        self.connections
            .transaction(operation, persistence_id.clone(), move |connection, id| {
                // Until the work is dropped, which is when it has ended.
                let _ = &turn;
                let statements = Arc::clone(&statements);
                Box::pin(async move {
                    delete::delete_to::<D>(connection, &statements, &id, deletion).await
                })
            })
            .await
            .map_err(|error| error.with_persistence_id(persistence_id.clone()))
    }

    /// Returns why an id cannot be taken over if its row shows it: a database reports of a number that cannot be raised
    /// only that it breaks a rule. Of several ids, whoever asks finds the guilty one by asking for fewer.
    async fn reason_of(&self, error: StorageError, requests: &[TakeOverRequest]) -> StorageError {
        use StorageErrorKind::{Busy, Timeout, Unavailable};
        let [request] = requests else {
            return error;
        };
        let error = error.with_persistence_id(request.persistence_id.clone());
        if matches!(error.kind(), Busy | Timeout | Unavailable) {
            return error;
        }
        match self.read_head(&request.persistence_id).await {
            Err(reason) if reason.kind() == StorageErrorKind::Corrupt => reason
                .with_operation(Operation::TakeOver)
                .with_effect(error.effect().unwrap_or(Effect::Unknown)),
            _ => error,
        }
    }

    /// Returns the heads of the ids that lost.
    ///
    /// They are read afterwards, because the others are stored by then, even if this read fails: then nothing is known
    /// of the winners.
    async fn positions(
        &self,
        losers: Vec<PersistenceId>,
    ) -> HashMap<PersistenceId, WriterPosition> {
        let unknown = WriterPosition {
            writer: WriterId::NIL,
            epoch: 0,
            sequence_nr: 0,
        };
        let mut positions: HashMap<_, _> = losers.iter().map(|id| (id.clone(), unknown)).collect();
        if losers.is_empty() {
            return positions;
        }
        let statements = Arc::clone(&self.statements);
        let found = self
            .connections
            .read(Operation::ReadHead, move |connection| {
                Box::pin(async move { find_positions::<D>(connection, &statements, losers).await })
            })
            .await;
        match found {
            Ok(found) => positions.extend(found),
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "a second writer was refused, but it is not known which one was first"
            ),
        }
        positions
    }
}

/// Returns the names that replace placeholders in the statements of a journal that sends hints as this sender.
///
/// # Errors
/// If a setting cannot be used.
pub(crate) fn journal_names<D: Dialect>(
    options: &D::Options,
    sender: HintSender,
) -> Result<SqlNames, InvalidOption> {
    let [events, tags, metadata] = options.store().journal_tables()?;
    Ok(D::names(options)?
        .text("sender", &sender.to_string())
        .plain("event_type_index", &events.index("typed"))
        .plain("tag_index", &tags.index("ordering"))
        .plain("unswept_index", &metadata.index("unswept"))
        .table("event_table", &events)
        .table("tag_table", &tags)
        .table("metadata_table", &metadata))
}

#[async_trait]
impl<D: Dialect> Journal for SqlJournal<D> {
    async fn initialize(&self) -> Result<(), StorageError> {
        let schema = Arc::clone(&self.schema);
        self.connections
            .initialize(schema, self.options.store().auto_initialize)
            .await?;
        if D::CHECKS_JOURNAL {
            let queries = Arc::clone(&self.queries);
            self.connections
                .read(Operation::Initialize, move |connection| {
                    Box::pin(async move { D::check_journal(connection, &queries).await })
                })
                .await?;
        }
        // Removes rows that an earlier process deleted but did not live to remove. No call has to wait for that.
        self.sweeper.start();
        self.hints.may_begin();
        Ok(())
    }

    async fn read_head(&self, persistence_id: &PersistenceId) -> Result<StreamHead, StorageError> {
        let queries = Arc::clone(&self.queries);
        let sql = self.statements.head.clone();
        self.connections
            .read_in_line(
                Operation::ReadHead,
                &self.heads,
                persistence_id.clone(),
                move |connection, ids| {
                    let queries = Arc::clone(&queries);
                    Box::pin(async move { find_heads::<D>(connection, &queries, &ids).await })
                },
                |connection, id| Box::pin(read_head::<D>(connection, sql, id)),
            )
            .await
            .map_err(|error| error.with_persistence_id(persistence_id.clone()))
    }

    async fn take_over(
        &self,
        requests: &[TakeOverRequest],
    ) -> Result<Vec<TakenOver>, StorageError> {
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let ids = requests.iter().map(|request| &request.persistence_id);
        let turn = self.turns.take(ids).await;
        let queries = Arc::clone(&self.queries);
        let taken = self
            .connections
            .begin_and_write(
                D::WORK_BEGINS,
                Operation::TakeOver,
                requests.to_vec(),
                move |connection, requests, opening| {
                    // Until the work is dropped, which is when it has ended.
                    let _ = &turn;
                    let queries = Arc::clone(&queries);
                    Box::pin(
                        async move { D::take_over(connection, &queries, requests, opening).await },
                    )
                },
            )
            .await;
        match taken {
            Err(error) => Err(self.reason_of(error, requests).await),
            taken => taken,
        }
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        if writes.is_empty() {
            return Ok(Vec::new());
        }
        let limit = self.options.store().max_event_bytes;
        let refusal = |event: &EventRecord| refusal::of_event::<D>(&self.options, event);
        let (mut plan, group) = plan(writes, limit, refusal);
        let mut losers = self.store(group).await?;
        losers.append(&mut plan.take_lost());
        Ok(plan.outcomes(&self.positions(losers).await))
    }

    async fn replay_messages(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let store = self.options.store();
        let request = PageRequest {
            id: persistence_id.clone(),
            range,
            limit: PageLimit {
                max_events: page.max_events.min(store.max_page_events),
                max_bytes: page.max_bytes.min(store.max_page_bytes),
            },
        };
        let queries = Arc::clone(&self.queries);
        let alone = work_without_opening::<D, _, _, _>(
            move |connection, PageRequest { id, range, limit }| {
                let queries = Arc::clone(&queries);
                Box::pin(async move { D::read_page(connection, &queries, &id, range, limit).await })
            },
        );
        let operation = Operation::ReplayMessages;
        let page = if D::shares_page(&self.queries, range) {
            let queries = Arc::clone(&self.queries);
            let together =
                work_without_opening::<D, _, _, _>(move |connection, requests: Vec<_>| {
                    let queries = Arc::clone(&queries);
                    Box::pin(async move { D::read_pages(connection, &queries, &requests).await })
                });
            self.connections
                .read_in_line(operation, &self.pages, request, together, alone)
                .await
        } else {
            self.connections
                .read(operation, move |connection| alone(connection, request))
                .await
        };
        page.map_err(|error| error.with_persistence_id(persistence_id.clone()))
    }

    async fn delete_messages_to(
        &self,
        persistence_id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        match self
            .hide(Operation::DeleteMessagesTo, persistence_id, deletion)
            .await
        {
            Err(error) if error.kind() == StorageErrorKind::SequenceConflict => {
                let id = persistence_id.clone();
                let stored = self.positions(vec![id.clone()]).await[&id];
                return Err(StorageError::from_deletion_conflict(id, deletion, stored));
            }
            hidden => hidden?,
        }
        self.sweeper.start();
        Ok(())
    }

    async fn purge(&self, persistence_id: &PersistenceId) -> Result<PurgeProgress, StorageError> {
        let statements = Arc::clone(&self.statements);
        let chunk = self.sweeper.chunk();
        // One that its caller has given up must not end after a later one, and remove what was stored since.
        let turn = self.turns.take([persistence_id].into_iter()).await;
        let progress = self
            .connections
            .transaction(
                Operation::Purge,
                persistence_id.clone(),
                move |connection, id| {
                    let _ = &turn;
                    let statements = Arc::clone(&statements);
                    Box::pin(async move {
                        delete::purge::<D>(connection, &statements, &id, chunk).await
                    })
                },
            )
            .await;
        match progress {
            // The database needs too long for so many rows: the next call removes fewer.
            Err(error) if self.sweeper.takes_less_after(&error, chunk) => {
                let everything = EventDeletion::up_to(SequenceNr::MAX);
                self.hide(Operation::Purge, persistence_id, everything)
                    .await?;
                Ok(PurgeProgress::Unfinished)
            }
            progress => progress.map_err(|error| error.with_persistence_id(persistence_id.clone())),
        }
    }

    async fn run_command(
        &self,
        command: &AnyCommand,
    ) -> Result<Option<CommandAnswer>, StorageError> {
        D::run_command(self.connections.connector(), command).await
    }

    async fn close(&self) {
        let has_chunk = self.sweeper.pause();
        self.hints.end();
        self.connections.close().await;
        if has_chunk {
            // It may have been about to begin, and have opened a connection since.
            self.sweeper.end_of_chunk().await;
            self.connections.close().await;
        }
    }

    fn event_queries(&self) -> Option<&dyn EventQueries> {
        Some(self)
    }

    fn capabilities(&self) -> JournalCapabilities {
        let store = self.options.store();
        JournalCapabilities::default()
            .with_purge()
            .with_atomic_batches()
            .with_metadata()
            .with_tags()
            .with_lanes(D::lanes(&self.options))
            .with_max_group(store.max_group_events, store.max_group_bytes)
            .with_max_event_bytes(store.max_event_bytes)
            .with_durability(D::durability(&self.options))
    }
}

impl<D: Dialect> fmt::Debug for SqlJournal<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlJournal")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

async fn read_head<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: SqlStr,
    id: PersistenceId,
) -> Result<StreamHead, SqlError> {
    let mut values = Values::<D>::with_capacity(1);
    values.id(&id);
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    rows.first().map_or(Ok(StreamHead::default()), head_of::<D>)
}

/// Reads the heads of several ids; none of an id whose row cannot be read.
async fn find_heads<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    queries: &D::JournalQueries,
    ids: &[PersistenceId],
) -> Result<Vec<Option<StreamHead>>, SqlError> {
    let mut heads = vec![None; ids.len()];
    for row in &D::read_heads(connection, queries, ids).await? {
        let place = usize::try_from(get_number::<D>(row, 3)?).unwrap_or(0);
        if let Some(head) = heads.get_mut(place.wrapping_sub(1)) {
            *head = head_of::<D>(row).ok();
        }
    }
    Ok(heads)
}

fn head_of<D: Dialect>(row: &RowOf<D>) -> Result<StreamHead, SqlError> {
    let epoch = get_epoch_or_changes::<D>(row, 2)?;
    Ok(StreamHead {
        highest_sequence_nr: get_number::<D>(row, 0)?,
        deleted_to: get_number::<D>(row, 1)?,
        epoch: epoch.unwrap_or(0),
        holds_changes: epoch.is_none(),
    })
}

async fn find_positions<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &JournalStatements,
    ids: Vec<PersistenceId>,
) -> Result<Vec<(PersistenceId, WriterPosition)>, SqlError> {
    let mut positions = Vec::with_capacity(ids.len());
    for id in ids {
        let mut values = Values::<D>::with_capacity(1);
        values.id(&id);
        let sql = statements.position.clone();
        let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
        if let Some(row) = rows.first() {
            let position = WriterPosition {
                // That of an id whose events record changes of a state is no number of ours.
                epoch: u64::try_from(get_integer::<D>(row, 0)?).unwrap_or(0),
                writer: get_writer::<D>(row, 1)?,
                sequence_nr: get_number::<D>(row, 2)?,
            };
            positions.push((id, position));
        }
    }
    Ok(positions)
}
