-- The states for which a condition holds, in the order of the bytes of their ids; no tombstones.
-- Sizes are summed up before anything large is read: of what does not fit into a page only the first state is.
-- Values: the lowest id, and the end, exclusive; the most; the most bytes.
SELECT s.persistence_id, s.revision, s.deleted, s.timestamp, s.tags, s.serializer_id, s.manifest, s.payload, s.checksum
FROM (
    SELECT found.place, found.bytes, sum(found.bytes) OVER w AS total, row_number() OVER w AS row_nr
    FROM (
        SELECT rowid AS place, persistence_id, length(payload) AS bytes
        FROM {state_table}
        WHERE persistence_id >= $lowest_at AND persistence_id < $end_at AND deleted = 0/*type*/ AND /*condition*/
        ORDER BY persistence_id LIMIT $limit_at
    ) AS found
    WINDOW w AS (ORDER BY found.persistence_id)
) AS page
CROSS JOIN {state_table} AS s ON s.rowid = page.place
WHERE page.total - page.bytes <= $bytes_at OR page.row_nr <= 2
ORDER BY page.row_nr
