-- The states of an entity type in the order in which queries read them, after a change.
-- Values: entity type; number and id of the last change that was read; first and last slice; the most; the most bytes.
--
-- What a transaction below the oldest one under way has stored is visible and complete; nothing will ever be added
-- there. See docs/adr/0005-commit-order.md.
--
-- The server sums up sizes before it fetches anything large: of what does not fit into a page only the first state is.
SELECT e.persistence_id, e.ordering, e.revision, e.deleted::integer::bigint, e.timestamp, e.tags::text, e.serializer_id,
       e.manifest, {payload_read}, e.checksum
FROM (
    SELECT e.*, row_number() OVER w AS row_nr, sum(e.bytes) OVER w - e.bytes AS bytes_before
    FROM (
        SELECT e.persistence_id, e.ordering, e.revision, e.deleted, e.timestamp, e.tags, e.serializer_id, e.manifest, e.payload,
               e.checksum, COALESCE({payload_size}, 0) AS bytes
        FROM {state_table} AS e
        WHERE e.entity_type = $1::text AND (e.ordering, e.persistence_id) > ($2::bigint, $3::text)
          AND e.ordering < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
          AND e.slice BETWEEN $4::bigint AND $5::bigint
        ORDER BY e.ordering, e.persistence_id
        LIMIT $6::bigint
    ) AS e
    WINDOW w AS (ORDER BY e.ordering, e.persistence_id ROWS UNBOUNDED PRECEDING)
) AS e
WHERE e.row_nr <= 2 OR e.bytes_before <= $7::bigint
ORDER BY e.ordering, e.persistence_id
