//! The statements about projections: the same on every database, but for the time and for locks.
//!
//! `{now}` and `{for_update}` are those of the dialect. Values are `$1`, `$2` and so on, as in statements of an application;
//! the first two are always the name and the version of the projection.

pub(super) const INSERT_PROJECTION: &str =
    "INSERT INTO {projection_table} (name, version, epoch, paused) VALUES ($1, $2, {now}, 0)";

pub(super) const SELECT_KEYS: &str =
    "SELECT name, version FROM {projection_table} ORDER BY name, version";

/// Locks the projection, so that shares are taken and divided one after the other.
pub(super) const RAISE_EPOCH: &str =
    "UPDATE {projection_table} SET epoch = epoch + 1 WHERE name = $1 AND version = $2";

pub(super) const SELECT_EPOCH: &str =
    "SELECT epoch FROM {projection_table} WHERE name = $1 AND version = $2";

pub(super) const LOCK_PROJECTION: &str =
    "SELECT epoch FROM {projection_table} WHERE name = $1 AND version = $2{for_update}";

/// Values: paused.
pub(super) const SET_PAUSED: &str =
    "UPDATE {projection_table} SET paused = $3 WHERE name = $1 AND version = $2";

/// Values: share, progress, epoch.
pub(super) const INSERT_SHARE: &str =
    "INSERT INTO {share_table} (name, version, share_nr, progress, epoch, attempts)
     VALUES ($1, $2, $3, $4, $5, 0)";

/// The shares of a projection with their leases, in the order of their numbers.
pub(super) const SELECT_SHARES: &str =
    "SELECT p.paused AS paused, s.progress AS progress, s.epoch AS epoch, s.attempts AS attempts, s.halted AS halted,
         l.owner AS owner, l.expires - {now} AS time_left
     FROM {projection_table} p
     JOIN {share_table} s ON s.name = p.name AND s.version = p.version
     LEFT JOIN {lease_table} l ON l.name = s.name AND l.version = s.version AND l.share_nr = s.share_nr
     WHERE p.name = $1 AND p.version = $2
     ORDER BY s.share_nr";

pub(super) const SELECT_MEMBERS: &str = "SELECT owner FROM {member_table}
     WHERE name = $1 AND version = $2 AND expires > {now} ORDER BY owner";

pub(super) const LOCK_ALL_PROGRESS: &str = "SELECT progress FROM {share_table}
     WHERE name = $1 AND version = $2 ORDER BY share_nr{for_update}";

/// Values: share.
pub(super) const LOCK_SHARE: &str = "SELECT progress, epoch, attempts, halted FROM {share_table}
     WHERE name = $1 AND version = $2 AND share_nr = $3{for_update}";

/// Values: share.
pub(super) const LOCK_LEASE: &str = "SELECT owner, expires - {now} AS time_left FROM {lease_table}
     WHERE name = $1 AND version = $2 AND share_nr = $3{for_update}";

/// Values: share. Rows: epoch and halted of the share, owner of its lease.
pub(super) const SELECT_HOLDER: &str = "SELECT s.epoch AS epoch, s.halted AS halted, l.owner AS owner
     FROM {share_table} s
     LEFT JOIN {lease_table} l ON l.name = s.name AND l.version = s.version AND l.share_nr = s.share_nr
     WHERE s.name = $1 AND s.version = $2 AND s.share_nr = $3";

/// Values: share, epoch.
pub(super) const SET_EPOCH: &str =
    "UPDATE {share_table} SET epoch = $4 WHERE name = $1 AND version = $2 AND share_nr = $3";

/// Values: share, owner, milliseconds.
pub(super) const INSERT_LEASE: &str =
    "INSERT INTO {lease_table} (name, version, share_nr, owner, expires)
     VALUES ($1, $2, $3, $4, {now} + $5)";

/// Values: owner, milliseconds.
pub(super) const RENEW_LEASES: &str = "UPDATE {lease_table} SET expires = {now} + $4
     WHERE name = $1 AND version = $2 AND owner = $3";

/// Values: share.
pub(super) const DELETE_LEASE: &str =
    "DELETE FROM {lease_table} WHERE name = $1 AND version = $2 AND share_nr = $3";

/// Values: owner.
pub(super) const DELETE_LEASES_OF: &str =
    "DELETE FROM {lease_table} WHERE name = $1 AND version = $2 AND owner = $3";

/// Values: owner, milliseconds.
pub(super) const RENEW_MEMBER: &str = "UPDATE {member_table} SET expires = {now} + $4
     WHERE name = $1 AND version = $2 AND owner = $3";

/// Values: owner, milliseconds.
pub(super) const INSERT_MEMBER: &str =
    "INSERT INTO {member_table} (name, version, owner, expires) VALUES ($1, $2, $3, {now} + $4)";

/// Values: owner.
pub(super) const DELETE_MEMBER: &str =
    "DELETE FROM {member_table} WHERE name = $1 AND version = $2 AND owner = $3";

/// The members whose time has long passed.
pub(super) const SELECT_OLD_MEMBERS: &str = "SELECT owner FROM {member_table}
     WHERE name = $1 AND version = $2 AND expires < {now} - 60000";

/// Values: share, epoch.
pub(super) const COUNT_ATTEMPT: &str = "UPDATE {share_table} SET attempts = attempts + 1
     WHERE name = $1 AND version = $2 AND share_nr = $3 AND epoch = $4";

/// The fence of a commit. Values: share, epoch, progress before, progress after.
pub(super) const SET_PROGRESS: &str = "UPDATE {share_table} SET progress = $6, attempts = 0
     WHERE name = $1 AND version = $2 AND share_nr = $3 AND epoch = $4 AND progress = $5";

/// Values: share, epoch, reason.
pub(super) const HALT: &str = "UPDATE {share_table} SET halted = $5
     WHERE name = $1 AND version = $2 AND share_nr = $3 AND epoch = $4";

/// Shares that were halted begin with no attempt.
pub(super) const RESUME_SHARES: &str = "UPDATE {share_table} SET halted = NULL, attempts = 0
     WHERE name = $1 AND version = $2 AND halted IS NOT NULL";

/// Values: item, offset, reason, time.
pub(super) const INSERT_SKIPPED: &str =
    "INSERT INTO {skipped_table} (name, version, item, position, reason, skipped_at)
     VALUES ($1, $2, $3, $4, $5, $6)";

/// Values: limit.
pub(super) const SELECT_SKIPPED: &str =
    "SELECT item, position, reason, skipped_at FROM {skipped_table}
     WHERE name = $1 AND version = $2 ORDER BY nr DESC LIMIT $3";

pub(super) const DELETE_SHARES: &str = "DELETE FROM {share_table} WHERE name = $1 AND version = $2";

pub(super) const DELETE_LEASES: &str = "DELETE FROM {lease_table} WHERE name = $1 AND version = $2";

pub(super) const DELETE_MEMBERS: &str =
    "DELETE FROM {member_table} WHERE name = $1 AND version = $2";

pub(super) const DELETE_SKIPPED: &str =
    "DELETE FROM {skipped_table} WHERE name = $1 AND version = $2";

pub(super) const DELETE_PROJECTION: &str =
    "DELETE FROM {projection_table} WHERE name = $1 AND version = $2";
