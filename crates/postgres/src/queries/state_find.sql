-- The states for which a condition holds, in the order of the bytes of their ids; no tombstones.
-- Sizes are summed up before anything large is read: of what does not fit into a page only the first state is.
-- Values: the lowest id, and the end, exclusive; the most; the most bytes.
SELECT e.persistence_id, e.revision, e.deleted::integer::bigint, e.timestamp, e.tags::text, e.serializer_id,
       e.manifest, {payload_read}, e.checksum
FROM (
    SELECT e.*, row_number() OVER w AS row_nr, sum(e.bytes) OVER w - e.bytes AS bytes_before
    FROM (
        SELECT e.persistence_id, e.revision, e.deleted, e.timestamp, e.tags, e.serializer_id, e.manifest, e.payload,
               e.checksum, {payload_size} AS bytes
        FROM {state_table} AS e
        WHERE e.persistence_id >= $lowest_at::text AND e.persistence_id < $end_at::text AND NOT e.deleted/*type*/
          AND /*condition*/
        ORDER BY e.persistence_id LIMIT $limit_at::bigint
    ) AS e
    WINDOW w AS (ORDER BY e.persistence_id ROWS UNBOUNDED PRECEDING)
) AS e
WHERE e.row_nr <= 2 OR e.bytes_before <= $bytes_at::bigint
ORDER BY e.persistence_id
