//! The statements about projections: the same on every database, but for the time and for locks.
//!
//! `{now}` and `{for_update}` are those of the dialect. Values are `$1`, `$2` and so on, as in statements of an application;
//! the first two are always the name and the version of the projection.

/// Values: 1 if it is live, or NULL. Only one version of a name can have the 1.
pub(super) const INSERT_PROJECTION: &str = "INSERT INTO {projection_table} (name, version, epoch, paused, live) VALUES ($1, $2, {now}, 0, $3)";

pub(super) const SELECT_KEYS: &str =
    "SELECT name, version FROM {projection_table} ORDER BY name, version";

/// Locks the projection, so that shares are taken and divided one after the other.
pub(super) const RAISE_EPOCH: &str =
    "UPDATE {projection_table} SET epoch = epoch + 1 WHERE name = $1 AND version = $2";

pub(super) const SELECT_EPOCH: &str =
    "SELECT epoch FROM {projection_table} WHERE name = $1 AND version = $2";

pub(super) const SELECT_PAUSED: &str =
    "SELECT paused FROM {projection_table} WHERE name = $1 AND version = $2";

pub(super) const LOCK_PROJECTION: &str =
    "SELECT epoch FROM {projection_table} WHERE name = $1 AND version = $2{for_update}";

/// Values: paused.
pub(super) const SET_PAUSED: &str =
    "UPDATE {projection_table} SET paused = $3 WHERE name = $1 AND version = $2";

/// Ends the pause of a version that is live.
pub(super) const RESUME_LIVE: &str =
    "UPDATE {projection_table} SET paused = 0 WHERE name = $1 AND version = $2 AND live = 1";

/// Values: share, progress, epoch, number of handled items, time, reason of a halt.
pub(super) const INSERT_SHARE: &str =
    "INSERT INTO {share_table} (name, version, share_nr, progress, epoch, attempts, handled, reached_at, halted)
     VALUES ($1, $2, $3, $4, $5, 0, $6, $7, $8)";

/// The shares of a projection with their leases, in the order of their numbers.
pub(super) const SELECT_SHARES: &str =
    "SELECT p.paused AS paused, p.live AS live,
         (SELECT COUNT(*) FROM {parked_table} k WHERE k.name = $1 AND k.version = $2) AS parked,
         s.progress AS progress, s.epoch AS epoch, s.attempts AS attempts, s.halted AS halted,
         s.handled AS handled, s.reached_at AS reached_at,
         l.owner AS owner, l.expires - {now} AS time_left
     FROM {projection_table} p
     JOIN {share_table} s ON s.name = p.name AND s.version = p.version
     LEFT JOIN {lease_table} l ON l.name = s.name AND l.version = s.version AND l.share_nr = s.share_nr
     WHERE p.name = $1 AND p.version = $2
     ORDER BY s.share_nr";

pub(super) const SELECT_MEMBERS: &str = "SELECT owner FROM {member_table}
     WHERE name = $1 AND version = $2 AND expires > {now} ORDER BY owner";

pub(super) const LOCK_ALL_SHARES: &str =
    "SELECT progress, epoch, attempts, halted, handled, reached_at FROM {share_table}
     WHERE name = $1 AND version = $2 ORDER BY share_nr{for_update}";

/// Values: share.
pub(super) const LOCK_SHARE: &str =
    "SELECT progress, epoch, attempts, halted, handled, reached_at FROM {share_table}
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

/// Values: epoch.
pub(super) const SET_ALL_EPOCHS: &str =
    "UPDATE {share_table} SET epoch = $3 WHERE name = $1 AND version = $2";

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

/// The fence of a commit. Values: share, epoch, progress before, progress after, number of handled items, time or NULL.
///
/// MySQL computes each column with the new values of those that stand before it.
pub(super) const SET_PROGRESS: &str = "UPDATE {share_table}
     SET attempts = CASE WHEN progress = $6 THEN attempts ELSE 0 END, progress = $6, handled = handled + $7,
         reached_at = COALESCE($8, reached_at)
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

/// Requests about parked ids, as they are stored.
pub(super) const RETRY: i64 = 1;
pub(super) const DROP_FIRST: i64 = 2;
pub(super) const DROP_ALL: i64 = 3;

/// Values: id.
pub(super) const LOCK_PARKED: &str = "SELECT first_place, next_place FROM {parked_table}
     WHERE name = $1 AND version = $2 AND persistence_id = $3{for_update}";

/// Locks all parked ids, in their order.
pub(super) const LOCK_ALL_PARKED: &str = "SELECT persistence_id FROM {parked_table}
     WHERE name = $1 AND version = $2 ORDER BY persistence_id{for_update}";

/// Values: id, slice, next place, reason, time.
pub(super) const INSERT_PARKED: &str =
    "INSERT INTO {parked_table} (name, version, persistence_id, slice, first_place, next_place, attempts, reason, since)
     VALUES ($1, $2, $3, $4, 1, $5, 0, $6, $7)";

/// Values: id, first place, next place.
pub(super) const SET_PLACES: &str = "UPDATE {parked_table} SET first_place = $4, next_place = $5
     WHERE name = $1 AND version = $2 AND persistence_id = $3";

/// Values: id, place, number, item, offset, reason, record, time.
pub(super) const INSERT_WAITING: &str =
    "INSERT INTO {waiting_table} (name, version, persistence_id, place, item_nr, item, position, reason, content, parked_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

/// Values: id, last place.
pub(super) const DELETE_WAITING_TO: &str = "DELETE FROM {waiting_table}
     WHERE name = $1 AND version = $2 AND persistence_id = $3 AND place <= $4";

/// Values: id.
pub(super) const DELETE_PARKED_ID: &str =
    "DELETE FROM {parked_table} WHERE name = $1 AND version = $2 AND persistence_id = $3";

/// Values: first slice, last slice, id after which it begins, limit.
pub(super) const SELECT_PARKED: &str =
    "SELECT k.persistence_id AS persistence_id, k.first_place AS first_place, k.next_place AS next_place,
         k.attempts AS attempts, k.reason AS reason, k.since AS since, k.request AS request,
         k.request_place AS request_place, w.item_nr AS item_nr, w.item AS item
     FROM {parked_table} k
     LEFT JOIN {waiting_table} w ON w.name = k.name AND w.version = k.version AND w.persistence_id = k.persistence_id
         AND w.place = k.first_place
     WHERE k.name = $1 AND k.version = $2 AND k.slice >= $3 AND k.slice <= $4 AND k.persistence_id > $5
     ORDER BY k.persistence_id LIMIT $6";

/// Values: id, limit.
pub(super) const SELECT_WAITING: &str =
    "SELECT place, item_nr, item, position, reason, content, parked_at FROM {waiting_table}
     WHERE name = $1 AND version = $2 AND persistence_id = $3 ORDER BY place LIMIT $4";

/// Takes a request for a retry away, and leaves another one. Values: id.
pub(super) const BEGIN_RETRY: &str = "UPDATE {parked_table} SET attempts = attempts + 1,
         request = CASE WHEN request = 1 OR request = 2 AND request_place <> first_place THEN NULL ELSE request END
     WHERE name = $1 AND version = $2 AND persistence_id = $3";

/// Values: id.
pub(super) const SELECT_RETRIES: &str = "SELECT attempts FROM {parked_table}
     WHERE name = $1 AND version = $2 AND persistence_id = $3";

/// Values: id, reason.
pub(super) const NOTE_PARKED: &str = "UPDATE {parked_table} SET reason = $4
     WHERE name = $1 AND version = $2 AND persistence_id = $3";

/// Values: id, request.
pub(super) const REQUEST_PARKED: &str =
    "UPDATE {parked_table} SET request = $4, request_place = first_place
     WHERE name = $1 AND version = $2 AND persistence_id = $3";

/// Values: id, request.
pub(super) const REQUEST_UNASKED: &str =
    "UPDATE {parked_table} SET request = $4, request_place = first_place
     WHERE name = $1 AND version = $2 AND persistence_id = $3 AND request IS NULL";

/// Values: request.
pub(super) const REQUEST_ALL_PARKED: &str =
    "UPDATE {parked_table} SET request = $3, request_place = first_place
     WHERE name = $1 AND version = $2";

pub(super) const DELETE_ALL_PARKED: &str =
    "DELETE FROM {parked_table} WHERE name = $1 AND version = $2";

pub(super) const DELETE_ALL_WAITING: &str =
    "DELETE FROM {waiting_table} WHERE name = $1 AND version = $2";

/// Values: only the name.
pub(super) const SELECT_LIVE: &str =
    "SELECT version FROM {projection_table} WHERE name = $1 AND live = 1";

/// Values: only the name.
pub(super) const LOCK_VERSIONS: &str = "SELECT version, paused, live FROM {projection_table}
     WHERE name = $1 ORDER BY version{for_update}";

pub(super) const BEGIN_LIVE: &str =
    "UPDATE {projection_table} SET live = 1 WHERE name = $1 AND version = $2";

pub(super) const END_LIVE: &str =
    "UPDATE {projection_table} SET live = NULL WHERE name = $1 AND version = $2";
