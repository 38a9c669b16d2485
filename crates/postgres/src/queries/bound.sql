-- The number below which nothing is added any more: a statement that begins after this one sees all that was committed
-- there. That is not so for other parts of the same statement, nor in a transaction of one snapshot.
--
-- The snapshot is older than the look at the locks. So a transaction with a number below the end of the snapshot had
-- announced itself by then, and is found now, or has ended. No transaction is below the oldest one of the snapshot, whoever
-- holds what lock; and on a standby no locks of writers are seen. See docs/adr/0014-base-and-bound.md.
SELECT o.base + CASE WHEN pg_is_in_recovery() THEN s.oldest ELSE GREATEST(s.oldest, LEAST(s.next, (
    SELECT min(((l.classid::bigint & 65535) << 32) | l.objid::bigint) FROM pg_catalog.pg_locks AS l
    WHERE l.locktype = 'advisory' AND l.mode = 'ShareLock' AND l.objsubid = 1
      AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
      AND l.classid::bigint >> 16 IN ({class}, {any_store})))) END AS bound
FROM {ordering} AS o
CROSS JOIN (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest,
                   pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next) AS s
WHERE o.is_only
