//! Statements on parked ids, within a transaction.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use actix_persistence_storage_api::{
    ParkedId, ParkedItem, ParkedRequest, PersistenceId, ProgressCommit, ShareClaim, ShareConflict,
    SqlRow, StorageErrorKind, Timestamp, Unparked, kept_text,
};
use bytes::Bytes;

use super::queries;
use super::rows::{column, corrupt, integer, limit_of, number, refused_until, share_of, to_share};
use super::tables::Transaction;
use crate::{Dialect, SqlError};

/// The changes of one id by a commit.
#[derive(Default)]
struct Changes<'c> {
    unparked: Option<&'c Unparked>,
    items: Vec<&'c ParkedItem>,
}

impl<D: Dialect> Transaction<'_, D> {
    /// Removes and adds what a commit says, one id after the other: in the order in which all transactions lock them. The row of
    /// the share is locked.
    pub(super) async fn change_parked(&mut self, commit: &ProgressCommit) -> Result<(), SqlError> {
        let mut ids: BTreeMap<&PersistenceId, Changes<'_>> = BTreeMap::new();
        if let Some(unparked) = &commit.unparked {
            ids.entry(&unparked.persistence_id).or_default().unparked = Some(unparked);
        }
        for item in &commit.parked {
            let of_id = ids.entry(&item.persistence_id).or_default();
            of_id.items.push(item);
        }
        for (id, changes) in ids {
            self.change_one(&commit.claim, id, &changes).await?;
        }
        Ok(())
    }

    async fn change_one(
        &mut self,
        claim: &ShareClaim,
        id: &PersistenceId,
        changes: &Changes<'_>,
    ) -> Result<(), SqlError> {
        let mut places = self.lock_parked(id).await?;
        if let Some(unparked) = changes.unparked {
            let (first, last) = (*unparked.places.start(), *unparked.places.end());
            let (begin, end) = places.unwrap_or_default();
            if first != begin || !(begin..end).contains(&last) {
                let owner = Some(claim.owner.clone());
                let conflict = ShareConflict::new(claim, owner, claim.epoch);
                let message = format!("look again at what waits of {id:?}: it begins elsewhere");
                return Err(refused_until(conflict, &message));
            }
            let values = [id.as_str().into(), integer(last)];
            self.run(queries::DELETE_WAITING_TO, values).await?;
            places = Some((last + 1, end)).filter(|_| last + 1 < end);
            if places.is_none() {
                let id = id.as_str().into();
                self.run(queries::DELETE_PARKED_ID, [id]).await?;
            }
        }
        let (begin, end) = places.unwrap_or((1, 1));
        let new_end = end + changes.items.len() as u64;
        if places.is_some() {
            let values = [id.as_str().into(), integer(begin), integer(new_end)];
            self.run(queries::SET_PLACES, values).await?;
        } else if let Some(first) = changes.items.first() {
            let reason = kept_text(first.reason.as_deref().unwrap_or_default());
            let values = [
                id.as_str().into(),
                i64::from(id.slice()).into(),
                integer(new_end),
                reason.as_ref().into(),
                first.timestamp.as_micros().into(),
            ];
            self.run(queries::INSERT_PARKED, values).await?;
        }
        for (place, item) in (end..).zip(&changes.items) {
            let reason = item.reason.as_deref().map(kept_text);
            let values = [
                id.as_str().into(),
                integer(place),
                integer(item.number),
                kept_text(&item.item).as_ref().into(),
                item.offset.as_str().into(),
                reason.as_deref().into(),
                item.record.clone().into(),
                item.timestamp.as_micros().into(),
            ];
            self.run(queries::INSERT_WAITING, values).await?;
        }
        Ok(())
    }

    /// Locks a parked id; returns the places of its items, the second one excluded, or `None` if it is not parked.
    async fn lock_parked(&mut self, id: &PersistenceId) -> Result<Option<(u64, u64)>, SqlError> {
        let id = id.as_str().into();
        let rows = self.select(queries::LOCK_PARKED, [id]).await?;
        let places = rows
            .first()
            .map(|row| Ok((number(row, "first_place")?, number(row, "next_place")?)));
        places.transpose()
    }

    pub(super) async fn parked(
        &mut self,
        slices: &RangeInclusive<u16>,
        after: Option<&PersistenceId>,
        limit: usize,
    ) -> Result<Vec<ParkedId>, SqlError> {
        let values = [
            i64::from(*slices.start()).into(),
            i64::from(*slices.end()).into(),
            after.map_or("", PersistenceId::as_str).into(),
            limit_of(limit),
        ];
        let rows = self.select(queries::SELECT_PARKED, values).await?;
        rows.iter().map(to_parked_id).collect()
    }

    pub(super) async fn parked_items(
        &mut self,
        id: &PersistenceId,
        limit: usize,
    ) -> Result<Vec<ParkedItem>, SqlError> {
        let values = [id.as_str().into(), limit_of(limit)];
        let rows = self.select(queries::SELECT_WAITING, values).await?;
        rows.iter().map(|row| to_item(id, row)).collect()
    }

    pub(super) async fn begin_retry(
        &mut self,
        claim: &ShareClaim,
        id: &PersistenceId,
    ) -> Result<u32, SqlError> {
        self.lock_share_of(claim, id).await?;
        let counted = self.run(queries::BEGIN_RETRY, [id.as_str().into()]).await?;
        let rows = self
            .select(queries::SELECT_RETRIES, [id.as_str().into()])
            .await?;
        match rows.first() {
            Some(row) if counted > 0 => number(row, "attempts"),
            _ => Err(self.is_not_parked(id)),
        }
    }

    pub(super) async fn note_parked(
        &mut self,
        claim: &ShareClaim,
        id: &PersistenceId,
        reason: &str,
    ) -> Result<(), SqlError> {
        self.lock_share_of(claim, id).await?;
        let values = [id.as_str().into(), kept_text(reason).as_ref().into()];
        match self.run(queries::NOTE_PARKED, values).await? {
            0 => Err(self.is_not_parked(id)),
            _ => Ok(()),
        }
    }

    /// Sets the request of an id, or of all, in their order; the projection is locked first, as by all that lock several ids.
    pub(super) async fn request_parked(
        &mut self,
        id: Option<&PersistenceId>,
        request: ParkedRequest,
    ) -> Result<(), SqlError> {
        if self.select(queries::LOCK_PROJECTION, []).await?.is_empty() {
            return Err(self.is_missing());
        }
        let request = number_of(request)?;
        match id {
            Some(id) => {
                let values = [id.as_str().into(), request.into()];
                match self.run(queries::REQUEST_PARKED, values).await? {
                    0 => Err(self.is_not_parked(id)),
                    _ => Ok(()),
                }
            }
            None => {
                self.select(queries::LOCK_ALL_PARKED, []).await?;
                self.run(queries::REQUEST_ALL_PARKED, [request.into()])
                    .await?;
                Ok(())
            }
        }
    }

    /// Asks for a retry of an id that is parked and has no request.
    pub(super) async fn retry_again(&mut self, id: &PersistenceId) -> Result<(), SqlError> {
        if self.select(queries::LOCK_PROJECTION, []).await?.is_empty() {
            return Err(self.is_missing());
        }
        let values = [id.as_str().into(), queries::RETRY.into()];
        self.run(queries::REQUEST_UNASKED, values).await?;
        Ok(())
    }

    /// Locks the share of a claim, as a commit does, if the claim is the latest and the id is one of its slices.
    async fn lock_share_of(
        &mut self,
        claim: &ShareClaim,
        id: &PersistenceId,
    ) -> Result<(), SqlError> {
        let rows = self.select(queries::LOCK_SHARE, [share_of(claim)]).await?;
        let share = rows.first().map(to_share).transpose()?;
        let latest = share.filter(|share| share.epoch == claim.epoch);
        self.check(claim, latest.iter().len() as u64).await?;
        let slices = latest.map(|share| share.progress.slices());
        match slices.is_some_and(|slices| slices.contains(&id.slice())) {
            true => Ok(()),
            false => Err(self.is_not_parked(id)),
        }
    }

    fn is_not_parked(&self, id: &PersistenceId) -> SqlError {
        let message = format!("{id:?} is not parked in projection {}", self.projection());
        SqlError::refused(StorageErrorKind::Unsupported, message)
    }
}

/// Returns the number by which a request is stored.
fn number_of(request: ParkedRequest) -> Result<i64, SqlError> {
    match request {
        ParkedRequest::Retry => Ok(queries::RETRY),
        ParkedRequest::DropFirst => Ok(queries::DROP_FIRST),
        ParkedRequest::DropAll => Ok(queries::DROP_ALL),
        _ => {
            let message = "the request is of a kind that this plugin does not know";
            Err(SqlError::refused(StorageErrorKind::Unsupported, message))
        }
    }
}

fn to_parked_id(row: &SqlRow) -> Result<ParkedId, SqlError> {
    let id: String = column(row, "persistence_id")?;
    let since = Timestamp::from_micros(column(row, "since")?);
    let first = ParkedItem::new(
        PersistenceId::of_unique(&id),
        number(row, "item_nr")?,
        column::<String>(row, "item")?,
        "",
        Bytes::new(),
        since,
    );
    let (first_place, next_place): (u64, u64) =
        (number(row, "first_place")?, number(row, "next_place")?);
    let mut parked = ParkedId::new(&first, next_place.saturating_sub(first_place));
    parked.reason = column(row, "reason")?;
    parked.attempts = number(row, "attempts")?;
    let request: Option<i64> = column(row, "request")?;
    let asked_at: Option<i64> = column(row, "request_place")?;
    let is_first = asked_at.is_some_and(|place| u64::try_from(place) == Ok(first_place));
    parked.request = match request {
        None => None,
        Some(queries::DROP_FIRST) if is_first => Some(ParkedRequest::DropFirst),
        Some(queries::RETRY | queries::DROP_FIRST) => Some(ParkedRequest::Retry),
        Some(queries::DROP_ALL) => Some(ParkedRequest::DropAll),
        Some(other) => return Err(corrupt(&format_args!("there is no request {other}"))),
    };
    Ok(parked)
}

fn to_item(id: &PersistenceId, row: &SqlRow) -> Result<ParkedItem, SqlError> {
    let item = ParkedItem::new(
        id.clone(),
        number(row, "item_nr")?,
        column::<String>(row, "item")?,
        column::<String>(row, "position")?,
        column(row, "content")?,
        Timestamp::from_micros(column(row, "parked_at")?),
    );
    let item = item.with_place(number(row, "place")?);
    Ok(match column::<Option<String>>(row, "reason")? {
        Some(reason) => item.with_reason(reason),
        None => item,
    })
}
