-- The states of an entity type in the order in which queries read them, after a change.
-- Values: entity type; number of the last change that was read; the number up to which changes are complete; id of the
-- last change; first and last slice; the most; the most bytes.
--
-- How far changes are complete was asked in a statement of its own. See docs/adr/0014-base-and-bound.md.
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
        WHERE e.entity_type = $1::text AND (e.ordering, e.persistence_id) > ($2::bigint, $4::text)
          AND e.ordering <= $3::bigint
          AND e.slice BETWEEN $5::bigint AND $6::bigint
        ORDER BY e.ordering, e.persistence_id
        LIMIT $7::bigint
    ) AS e
    WINDOW w AS (ORDER BY e.ordering, e.persistence_id ROWS UNBOUNDED PRECEDING)
) AS e
WHERE e.row_nr <= 2 OR e.bytes_before <= $8::bigint
ORDER BY e.ordering, e.persistence_id
