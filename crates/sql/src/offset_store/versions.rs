//! Statements on the versions of a projection, within a transaction.

use actix_persistence_storage_api::{Replacement, StorageErrorKind, VersionConflict};

use super::queries;
use super::rows::{column, number};
use super::tables::Tables;
use crate::session::select;
use crate::{ConnectionOf, Dialect, SqlError};

/// A version of a projection.
struct Version {
    version: u32,
    paused: bool,
    live: bool,
}

impl Tables {
    /// Returns the version of a name that is live.
    pub(super) async fn live_version<D: Dialect>(
        &self,
        connection: &mut ConnectionOf<D>,
        name: &str,
    ) -> Result<Option<u32>, SqlError> {
        let sql = self.statement(queries::SELECT_LIVE);
        let rows = select::<D>(connection, &sql, vec![name.into()]).await?;
        rows.first().map(|row| number(row, "version")).transpose()
    }

    /// Makes a version live in the place of another. All versions of the name stay locked until the transaction ends, and so do
    /// the shares of the old one.
    pub(super) async fn replace<D: Dialect>(
        &self,
        connection: &mut ConnectionOf<D>,
        replacement: &Replacement,
    ) -> Result<(), SqlError> {
        let Replacement {
            projection, old, ..
        } = replacement;
        let versions = self
            .lock_versions::<D>(connection, projection.name())
            .await?;
        let mut new = self.of::<D>(connection, projection);
        if !versions.iter().any(|it| it.version == projection.version()) {
            return Err(new.is_missing());
        }
        let live = versions.iter().find(|version| version.live);
        let expected = old.as_ref().map(|old| old.projection.version());
        if live.map(|live| live.version) != expected {
            return Err(refused(VersionConflict::OtherLive {
                name: projection.name().to_owned(),
                live: live.map(|live| live.version),
            }));
        }
        if let (Some(old), Some(live)) = (old, live) {
            let key = || old.projection.clone();
            if !live.paused {
                return Err(refused(VersionConflict::NotPaused { old: key() }));
            }
            let mut on_old = self.of::<D>(connection, &old.projection);
            let progress = on_old.end_claims().await?;
            if progress != old.progress {
                return Err(refused(VersionConflict::OtherProgress { old: key() }));
            }
            on_old.run(queries::END_LIVE, []).await?;
            new = self.of::<D>(connection, projection);
        }
        new.run(queries::BEGIN_LIVE, []).await?;
        Ok(())
    }
    /// Locks all versions of a name, in their order.
    async fn lock_versions<D: Dialect>(
        &self,
        connection: &mut ConnectionOf<D>,
        name: &str,
    ) -> Result<Vec<Version>, SqlError> {
        let sql = self.statement(queries::LOCK_VERSIONS);
        let rows = select::<D>(connection, &sql, vec![name.into()]).await?;
        let versions = rows.iter().map(|row| {
            Ok(Version {
                version: number(row, "version")?,
                paused: column::<i64>(row, "paused")? != 0,
                live: column::<Option<i64>>(row, "live")?.is_some(),
            })
        });
        versions.collect()
    }
}

fn refused(conflict: VersionConflict) -> SqlError {
    SqlError::Refused {
        kind: StorageErrorKind::VersionConflict,
        message: "look at both versions again".to_owned(),
        source: Some(conflict.into()),
    }
}
