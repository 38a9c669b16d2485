//! Statements on the tables of projections, within a transaction.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    Epoch, Lease, Progress, ProgressCommit, ProjectionKey, ProjectionRecord, ShareClaim,
    ShareConflict, ShareRecord, Skipped, Sql, SqlRow, SqlValue, StorageErrorKind, TakenShare,
    Timestamp, kept_text, shares_of,
};

use super::queries;
use super::rows::{
    column, corrupt, integer, limit_of, millis, no_such_number, number, refused, share_of,
    to_lease, to_share,
};
use crate::session::{execute, select};
use crate::{ConnectionOf, Dialect, SqlError, SqlNames};

/// The names of the tables, and the statements on them.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    names: Arc<SqlNames>,
}

/// A transaction on the tables of one projection.
pub(super) struct Transaction<'t, D: Dialect> {
    tables: &'t Tables,
    connection: &'t mut ConnectionOf<D>,
    projection: &'t ProjectionKey,
}

impl Tables {
    pub(super) fn new<D: Dialect>(names: SqlNames) -> Self {
        let names = names.text("now", D::NOW).text("for_update", D::FOR_UPDATE);
        Self {
            names: Arc::new(names),
        }
    }

    pub(super) fn of<'t, D: Dialect>(
        &'t self,
        connection: &'t mut ConnectionOf<D>,
        projection: &'t ProjectionKey,
    ) -> Transaction<'t, D> {
        Transaction {
            tables: self,
            connection,
            projection,
        }
    }

    pub(super) async fn keys<D: Dialect>(
        &self,
        connection: &mut ConnectionOf<D>,
    ) -> Result<Vec<ProjectionKey>, SqlError> {
        let sql = self.statement(queries::SELECT_KEYS);
        let rows = select::<D>(connection, &sql, Vec::new()).await?;
        rows.iter()
            .map(|row| {
                let name: String = column(row, "name")?;
                let key = ProjectionKey::new(name).map_err(|error| corrupt(&error))?;
                Ok(key.with_version(number(row, "version")?))
            })
            .collect()
    }

    pub(super) fn statement(&self, text: &str) -> Sql {
        // The names are checked, and everything else is written here.
        Sql::assert_safe(self.names.fill(text).as_str().to_owned())
    }
}

impl<D: Dialect> Transaction<'_, D> {
    pub(super) async fn register(&mut self, shares: u16, offset: &str) -> Result<(), SqlError> {
        if self.epoch().await?.is_some() {
            return Ok(());
        }
        let name = self.projection.name();
        let live = self.tables.live_version::<D>(self.connection, name).await?;
        let is_live = live.is_none().then_some(1_i64);
        self.run(queries::INSERT_PROJECTION, [is_live.into()])
            .await?;
        let slices = shares_of(shares).ok_or_else(|| no_such_number(shares))?;
        let shares = slices
            .into_iter()
            .map(|slices| ShareRecord::new(Progress::new(slices, offset)));
        self.insert_shares(shares, 0).await
    }

    pub(super) async fn record(&mut self) -> Result<Option<ProjectionRecord>, SqlError> {
        let rows = self.select(queries::SELECT_SHARES, []).await?;
        let Some(first) = rows.first() else {
            return Ok(None);
        };
        let paused = column::<i64>(first, "paused")? != 0;
        let live = column::<Option<i64>>(first, "live")?.is_some();
        let parked = number(first, "parked")?;
        let shares = rows.iter().map(to_share).collect::<Result<_, _>>()?;
        let members = self.select(queries::SELECT_MEMBERS, []).await?;
        let members = members
            .iter()
            .map(|row| Ok(Arc::from(column::<String>(row, "owner")?)))
            .collect::<Result<_, SqlError>>()?;
        let mut record = ProjectionRecord::new(paused, shares, members);
        (record.live, record.parked) = (live, parked);
        Ok(Some(record))
    }

    pub(super) async fn attend(
        &mut self,
        owner: &str,
        lease: Duration,
    ) -> Result<ProjectionRecord, SqlError> {
        let values = || [owner.into(), millis(lease)];
        if self.run(queries::RENEW_MEMBER, values()).await? == 0 {
            // Nobody removes the projection before the row is there; first of all locks, as where shares are taken.
            self.select(queries::LOCK_PROJECTION, []).await?;
            self.run(queries::INSERT_MEMBER, values()).await?;
        }
        self.run(queries::RENEW_LEASES, values()).await?;
        // Found without a lock: two that delete what the other one renews would wait for each other.
        let old = self.select(queries::SELECT_OLD_MEMBERS, []).await?;
        for row in &old {
            let member = column::<String>(row, "owner")?;
            self.run(queries::DELETE_MEMBER, [member.into()]).await?;
        }
        let mut record = self.record().await?.ok_or_else(|| self.is_missing())?;
        // Even if its time is zero, or has passed meanwhile.
        if let Err(place) = record
            .members
            .binary_search_by(|member| (**member).cmp(owner))
        {
            record.members.insert(place, owner.into());
        }
        Ok(record)
    }

    pub(super) async fn leave(&mut self, owner: &str) -> Result<(), SqlError> {
        // In the order in which those who attend lock them.
        self.run(queries::DELETE_MEMBER, [owner.into()]).await?;
        self.run(queries::DELETE_LEASES_OF, [owner.into()]).await?;
        Ok(())
    }

    /// Takes a share; the locks are those of the projection, of the lease and of the share, in this order.
    pub(super) async fn take(
        &mut self,
        share: u16,
        owner: &Arc<str>,
        lease: Duration,
    ) -> Result<TakenShare, SqlError> {
        let epoch = self.raise_epoch().await?;
        // A pause that comes later waits for the row.
        let is_paused = self.is_paused().await?;
        let nr = || i32::from(share).into();
        let leases = self.select(queries::LOCK_LEASE, [nr()]).await?;
        let holder = leases.first().map(to_lease).transpose()?;
        let rows = self.select(queries::LOCK_SHARE, [nr()]).await?;
        let Some(row) = rows.first() else {
            return Err(self.has_no_share(share));
        };
        let stored = to_share(row)?;
        let is_held = |lease: &&Lease| !lease.is_over() && lease.owner != *owner;
        let other = holder.as_ref().filter(is_held);
        if is_paused || other.is_some() || stored.halted.is_some() {
            let wanted = ShareClaim::new(self.projection.clone(), share, Arc::clone(owner), 0);
            let other = holder.as_ref().map(|lease| Arc::clone(&lease.owner));
            let conflict = ShareConflict::new(&wanted, other, stored.epoch);
            let conflict = conflict.halted(stored.halted).paused(is_paused);
            return Err(refused(conflict));
        }
        self.run(queries::SET_EPOCH, [nr(), integer(epoch)]).await?;
        self.run(queries::DELETE_LEASE, [nr()]).await?;
        let values = [nr(), Arc::clone(owner).into(), millis(lease)];
        self.run(queries::INSERT_LEASE, values).await?;
        let claim = ShareClaim::new(self.projection.clone(), share, Arc::clone(owner), epoch);
        let was_released = holder.is_none();
        Ok(TakenShare::new(
            claim,
            stored.progress,
            stored.attempts,
            was_released,
        ))
    }

    pub(super) async fn release(&mut self, claim: &ShareClaim) -> Result<(), SqlError> {
        // Who takes the share at the same time waits for the lock of the lease, or has changed its row before.
        let is_mine = self.lock_own_lease(claim).await?;
        let holder = self.holder(claim).await?;
        if is_mine && holder.is_ok_and(|epoch| epoch == claim.epoch) {
            self.run(queries::DELETE_LEASE, [share_of(claim)]).await?;
        }
        Ok(())
    }

    /// Locks the lease of a share, before the share, as all do; returns whether it is that of the claim's owner.
    async fn lock_own_lease(&mut self, claim: &ShareClaim) -> Result<bool, SqlError> {
        let rows = self.select(queries::LOCK_LEASE, [share_of(claim)]).await?;
        let lease = rows.first().map(to_lease).transpose()?;
        Ok(lease.is_some_and(|lease| lease.owner == claim.owner))
    }

    pub(super) async fn count_attempt(&mut self, claim: &ShareClaim) -> Result<u32, SqlError> {
        let values = [share_of(claim), integer(claim.epoch)];
        let counted = self.run(queries::COUNT_ATTEMPT, values).await?;
        self.check(claim, counted).await?;
        let rows = self.select(queries::LOCK_SHARE, [share_of(claim)]).await?;
        let row = rows.first();
        number(
            row.ok_or_else(|| self.has_no_share(claim.share))?,
            "attempts",
        )
    }

    /// Sets the progress; its row stays locked until the transaction ends, so works come one after the other.
    pub(super) async fn commit(&mut self, commit: &ProgressCommit) -> Result<(), SqlError> {
        let claim = &commit.claim;
        let values = [
            share_of(claim),
            integer(claim.epoch),
            commit.from.to_string().into(),
            commit.to.to_string().into(),
            integer(commit.handled),
            commit.reached_time.map(Timestamp::as_micros).into(),
        ];
        let set = self.run(queries::SET_PROGRESS, values).await?;
        self.check(claim, set).await?;
        self.change_parked(commit).await?;
        for skipped in &commit.skipped {
            let values = [
                kept_text(&skipped.item).as_ref().into(),
                skipped.offset.as_str().into(),
                kept_text(&skipped.reason).as_ref().into(),
                skipped.timestamp.as_micros().into(),
            ];
            self.run(queries::INSERT_SKIPPED, values).await?;
        }
        Ok(())
    }

    pub(super) async fn halt(&mut self, claim: &ShareClaim, reason: &str) -> Result<(), SqlError> {
        self.lock_own_lease(claim).await?;
        let values = [
            share_of(claim),
            integer(claim.epoch),
            kept_text(reason).as_ref().into(),
        ];
        let halted = self.run(queries::HALT, values).await?;
        self.check(claim, halted).await?;
        self.run(queries::DELETE_LEASE, [share_of(claim)]).await?;
        Ok(())
    }

    pub(super) async fn skipped(&mut self, limit: usize) -> Result<Vec<Skipped>, SqlError> {
        let rows = self
            .select(queries::SELECT_SKIPPED, [limit_of(limit)])
            .await?;
        let skipped = rows.iter().map(|row| {
            let micros = column(row, "skipped_at")?;
            Ok(Skipped::new(
                column::<String>(row, "item")?,
                column::<String>(row, "position")?,
                column::<String>(row, "reason")?,
                Timestamp::from_micros(micros),
            ))
        });
        skipped.collect()
    }

    pub(super) async fn insert_shares(
        &mut self,
        shares: impl IntoIterator<Item = ShareRecord>,
        epoch: Epoch,
    ) -> Result<(), SqlError> {
        for (nr, share) in (0_i64..).zip(shares) {
            let values = [
                nr.into(),
                share.progress.to_string().into(),
                integer(epoch),
                integer(share.handled),
                share.reached_time.map(Timestamp::as_micros).into(),
                share.halted.as_deref().into(),
            ];
            self.run(queries::INSERT_SHARE, values).await?;
        }
        Ok(())
    }

    pub(super) async fn raise_epoch(&mut self) -> Result<Epoch, SqlError> {
        if self.run(queries::RAISE_EPOCH, []).await? == 0 {
            return Err(self.is_missing());
        }
        let epoch = self.epoch().await?;
        epoch.ok_or_else(|| self.is_missing())
    }

    /// Returns the highest epoch of the projection; `None` if there is no such projection.
    pub(super) async fn epoch(&mut self) -> Result<Option<Epoch>, SqlError> {
        let rows = self.select(queries::SELECT_EPOCH, []).await?;
        rows.first().map(|row| number(row, "epoch")).transpose()
    }

    async fn is_paused(&mut self) -> Result<bool, SqlError> {
        let rows = self.select(queries::SELECT_PAUSED, []).await?;
        let row = rows.first().ok_or_else(|| self.is_missing())?;
        Ok(column::<i64>(row, "paused")? != 0)
    }

    /// Fails unless a statement has found the share of the claim.
    pub(super) async fn check(&mut self, claim: &ShareClaim, found: u64) -> Result<(), SqlError> {
        if found > 0 {
            return Ok(());
        }
        match self.holder(claim).await? {
            Ok(epoch) => {
                let conflict = ShareConflict::new(claim, Some(Arc::clone(&claim.owner)), epoch);
                Err(refused(conflict))
            }
            Err(conflict) => Err(refused(conflict)),
        }
    }

    /// Returns the epoch of a share if the owner of the claim holds it, or the conflict with who does.
    async fn holder(
        &mut self,
        claim: &ShareClaim,
    ) -> Result<Result<Epoch, ShareConflict>, SqlError> {
        let rows = self
            .select(queries::SELECT_HOLDER, [share_of(claim)])
            .await?;
        let Some(row) = rows.first() else {
            return Ok(Err(ShareConflict::new(claim, None, 0)));
        };
        let epoch = number(row, "epoch")?;
        let owner: Option<String> = column(row, "owner")?;
        let halted: Option<String> = column(row, "halted")?;
        if owner.as_deref() == Some(&*claim.owner) {
            return Ok(Ok(epoch));
        }
        let conflict = ShareConflict::new(claim, owner.map(Arc::from), epoch);
        Ok(Err(conflict.halted(halted.map(Arc::from))))
    }

    pub(super) async fn run(
        &mut self,
        text: &str,
        values: impl IntoIterator<Item = SqlValue>,
    ) -> Result<u64, SqlError> {
        let (sql, values) = (self.tables.statement(text), self.with_key(values));
        execute::<D>(self.connection, &sql, values).await
    }

    pub(super) async fn select(
        &mut self,
        text: &str,
        values: impl IntoIterator<Item = SqlValue>,
    ) -> Result<Vec<SqlRow>, SqlError> {
        let (sql, values) = (self.tables.statement(text), self.with_key(values));
        select::<D>(self.connection, &sql, values).await
    }

    pub(super) fn projection(&self) -> &ProjectionKey {
        self.projection
    }

    fn with_key(&self, values: impl IntoIterator<Item = SqlValue>) -> Vec<SqlValue> {
        let (name, version) = (self.projection.name(), self.projection.version());
        let key = [name.into(), version.into()];
        key.into_iter().chain(values).collect()
    }

    pub(super) fn is_missing(&self) -> SqlError {
        let message = format!("there is no projection {}", self.projection);
        SqlError::refused(StorageErrorKind::Unsupported, message)
    }

    fn has_no_share(&self, share: u16) -> SqlError {
        let message = format!("the projection {} has no share {share}", self.projection);
        SqlError::refused(StorageErrorKind::Unsupported, message)
    }
}
