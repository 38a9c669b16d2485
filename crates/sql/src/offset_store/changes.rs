//! Changes of projections from outside, within a transaction.

use actix_persistence_storage_api::{Epoch, Progress, ShareRecord, divided, shares_of};

use super::queries;
use super::rows::{integer, no_such_number, to_share};
use super::tables::Transaction;
use crate::{Dialect, SqlError};

impl<D: Dialect> Transaction<'_, D> {
    pub(super) async fn set_paused(&mut self, paused: bool) -> Result<(), SqlError> {
        let found = self
            .run(queries::SET_PAUSED, [i64::from(paused).into()])
            .await?;
        if found == 0 {
            return Err(self.is_missing());
        }
        if !paused {
            self.run(queries::RESUME_SHARES, []).await?;
        }
        Ok(())
    }

    /// Ends the pause of a version if it is live. Waits for a transaction that replaces it, which has locked its row.
    pub(super) async fn resume_live(&mut self) -> Result<(), SqlError> {
        if self.run(queries::RESUME_LIVE, []).await? == 0 && self.epoch().await?.is_none() {
            return Err(self.is_missing());
        }
        Ok(())
    }

    /// Lets all shares continue after an offset, free and in a new epoch, and removes what is parked.
    pub(super) async fn set_offset(&mut self, offset: &str) -> Result<(), SqlError> {
        self.replace_shares(|shares| {
            let set = |share: &ShareRecord| {
                let mut new = ShareRecord::new(Progress::new(share.progress.slices(), offset));
                new.handled = share.handled;
                new
            };
            Some(shares.iter().map(set).collect())
        })
        .await?;
        self.run(queries::DELETE_ALL_WAITING, []).await?;
        self.run(queries::DELETE_ALL_PARKED, []).await?;
        Ok(())
    }

    /// Divides the slices into so many shares, free and in a new epoch.
    pub(super) async fn divide(&mut self, number: u16) -> Result<(), SqlError> {
        if shares_of(number).is_none() {
            return Err(no_such_number(number));
        }
        self.replace_shares(|shares| divided(shares, number)).await
    }

    /// Makes the shares anew, free and in a new epoch, of what they were.
    async fn replace_shares(
        &mut self,
        new: impl FnOnce(&[ShareRecord]) -> Option<Vec<ShareRecord>>,
    ) -> Result<(), SqlError> {
        let (epoch, old) = self.free_all().await?;
        let new = new(&old)
            .ok_or_else(|| SqlError::corrupt("the shares do not hold all slices between them"))?;
        self.run(queries::DELETE_SHARES, []).await?;
        self.insert_shares(new, epoch).await
    }

    /// Ends the claims to all shares, whose rows stay locked, and returns their progress.
    pub(super) async fn end_claims(&mut self) -> Result<Vec<Progress>, SqlError> {
        let (epoch, shares) = self.free_all().await?;
        self.run(queries::SET_ALL_EPOCHS, [integer(epoch)]).await?;
        Ok(shares.into_iter().map(|share| share.progress).collect())
    }

    /// Releases and locks all shares: the projection, the leases and then the shares, as all do. Returns a new epoch as well.
    async fn free_all(&mut self) -> Result<(Epoch, Vec<ShareRecord>), SqlError> {
        let epoch = self.raise_epoch().await?;
        self.run(queries::DELETE_LEASES, []).await?;
        let rows = self.select(queries::LOCK_ALL_SHARES, []).await?;
        let shares = rows.iter().map(to_share).collect::<Result<_, _>>()?;
        Ok((epoch, shares))
    }

    pub(super) async fn remove(&mut self) -> Result<(), SqlError> {
        self.raise_epoch().await?;
        // Those who attend lock members before leases, and those who commit lock shares before what is parked.
        self.run(queries::DELETE_MEMBERS, []).await?;
        self.free_all().await?;
        for delete in [
            queries::DELETE_SHARES,
            queries::DELETE_ALL_WAITING,
            queries::DELETE_ALL_PARKED,
            queries::DELETE_SKIPPED,
            queries::DELETE_PROJECTION,
        ] {
            self.run(delete, []).await?;
        }
        Ok(())
    }
}
