//! The queries over the events of all ids.

use std::ops::RangeInclusive;
use std::sync::Arc;

use actix_persistence_storage_api::{
    BoundHolder, EventOffset, EventQueries, EventSelection, EventsPage, EventsQuery, Operation,
    PersistenceId, PersistenceIdsQuery, SequenceNr, StorageError,
};
use async_trait::async_trait;

use super::SqlJournal;
use super::events::read_events;
use super::holders::read_holders;
use crate::ids::{IdRange, read_ids};
use crate::parts::{Part, read_numbers};
use crate::row::get_integer;
use crate::values::{Values, to_integer};
use crate::{ConnectionOf, Dialect, EventQueryStatements, Settings, SqlError, SqlxDatabase};

#[async_trait]
impl<D: Dialect> EventQueries for SqlJournal<D> {
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        let Some(range) = IdRange::of(&query).filter(|_| query.limit > 0) else {
            return Ok(Vec::new());
        };
        let statements = &self.event_queries;
        let sql = range.sql(&statements.ids, &statements.ids_without_type);
        let values = range.values::<D>();
        self.connections
            .read(Operation::CurrentPersistenceIds, move |connection| {
                Box::pin(read_ids::<D>(connection, sql, values))
            })
            .await
    }

    async fn events(&self, mut query: EventsQuery) -> Result<EventsPage, StorageError> {
        if query.limit == 0 {
            return Ok(EventsPage::new(Vec::new(), query.after, false));
        }
        let statements = Arc::clone(&self.event_queries);
        let store = self.options.store();
        query.limit = query.limit.min(store.max_page_events);
        let max_bytes = store.max_page_bytes;
        let recent = Arc::clone(&self.recent);
        let page = self
            .connections
            .read(Operation::QueryEvents, move |connection| {
                Box::pin(async move {
                    read_events::<D>(connection, &statements, &query, max_bytes, &recent).await
                })
            })
            .await?;
        let page = page.map_err(|unreadable| unreadable.into_error::<D>())?;
        if !page.more {
            self.recent.is_read();
        }
        Ok(page)
    }

    async fn newest_offset(&self, selection: &EventSelection) -> Result<EventOffset, StorageError> {
        let statements = Arc::clone(&self.event_queries);
        let slices = selection.slices.clone();
        self.connections
            .read(Operation::QueryEvents, move |connection| {
                Box::pin(async move { read_newest::<D>(connection, &statements, &slices).await })
            })
            .await
    }

    async fn offset_of(
        &self,
        persistence_id: &PersistenceId,
        sequence_nr: SequenceNr,
    ) -> Result<Option<EventOffset>, StorageError> {
        let (statements, id) = (Arc::clone(&self.event_queries), persistence_id.clone());
        self.connections
            .read(Operation::QueryEvents, move |connection| {
                Box::pin(async move {
                    read_offset_of::<D>(connection, &statements, &id, sequence_nr).await
                })
            })
            .await
    }

    async fn bound_holders(&self) -> Result<Vec<BoundHolder>, StorageError> {
        let Some(sql) = self.event_queries.holders.clone() else {
            return Ok(Vec::new());
        };
        self.connections
            .read(Operation::QueryEvents, move |connection| {
                Box::pin(read_holders::<D>(connection, sql))
            })
            .await
    }

    async fn hints(&self, seen: u64) -> u64 {
        self.hints.next(seen).await
    }
}

async fn read_newest<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &EventQueryStatements,
    slices: &RangeInclusive<u16>,
) -> Result<EventOffset, SqlError> {
    let (newest, no_values) = (statements.newest.clone(), Values::<D>::with_capacity(0));
    let (partitions, start) = (statements.partitions.as_ref(), EventOffset::start());
    let numbers = read_numbers::<D>(connection, newest, no_values).await?;
    let parts = Part::complete_to(partitions, slices, &start, numbers)?;
    let mut offset = start;
    for part in parts {
        part.pass(&mut offset);
    }
    Ok(offset)
}

async fn read_offset_of<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &EventQueryStatements,
    id: &PersistenceId,
    sequence_nr: SequenceNr,
) -> Result<Option<EventOffset>, SqlError> {
    let Some(number) = to_integer(sequence_nr) else {
        return Ok(None);
    };
    let mut values = Values::<D>::with_capacity(2);
    values.id(id);
    values.integer(number);
    let sql = statements.place_of.clone();
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let place = statements.position_of(get_integer::<D>(row, 0)?, id, sequence_nr);
    let mut offset = EventOffset::start();
    offset.advance(statements.partition_of(id.slice())?, place);
    Ok(Some(offset))
}
