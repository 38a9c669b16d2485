-- The transactions whose announcements lower the bound, by the locks that bound.sql looks at. A prepared transaction has no
-- process; the lock on its own number, which each transaction holds, leads to its name. The age of a transaction of another user
-- is NULL, and not 0, if the user may not see it.
SELECT DISTINCT COALESCE(l.pid::text, p.gid, l.virtualtransaction), a.application_name,
       CASE WHEN l.pid IS NULL THEN 'prepared'
            WHEN a.wait_event_type IN ('Client', 'Activity') THEN a.state
            ELSE a.state || COALESCE(', waits for ' || a.wait_event_type || ' ' || a.wait_event, '') END,
       (extract(epoch FROM GREATEST(statement_timestamp(), b.begun) - b.begun) * 1000000)::bigint AS age
FROM pg_catalog.pg_locks AS l
LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid
LEFT JOIN (
    SELECT t.virtualtransaction, x.gid, x.prepared
    FROM pg_catalog.pg_prepared_xacts AS x
    JOIN pg_catalog.pg_locks AS t ON t.locktype = 'transactionid' AND t.transactionid = x.transaction AND t.granted
) AS p ON l.pid IS NULL AND l.virtualtransaction = p.virtualtransaction
CROSS JOIN LATERAL (SELECT COALESCE(a.xact_start, p.prepared) AS begun) AS b
WHERE l.locktype = 'advisory' AND l.mode = 'ShareLock' AND l.objsubid = 1
  AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
  AND l.classid::bigint >> 16 IN ({class}, {any_store})
ORDER BY age DESC NULLS LAST
