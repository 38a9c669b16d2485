-- The states for which a condition holds, in the order of the bytes of their ids; no tombstones.
-- Sizes are summed up before anything large is read: of what does not fit into a page only the first state is.
-- Values: the lowest id, and the end, exclusive; the most; the most bytes.
SELECT s.persistence_id, s.revision, s.deleted, s.timestamp, CAST(s.tags AS CHAR), s.serializer_id,
       s.manifest, s.payload, s.checksum
FROM (
    SELECT found.persistence_id, found.payload_bytes,
           SUM(found.payload_bytes) OVER (ORDER BY found.persistence_id) AS total,
           ROW_NUMBER() OVER (ORDER BY found.persistence_id) AS row_nr
    FROM (
        SELECT persistence_id, payload_bytes FROM {state_table}
        WHERE persistence_id >= CAST($lowest_at AS BINARY) AND persistence_id < CAST($end_at AS BINARY)
          AND deleted = 0/*type*/ AND /*condition*/
        ORDER BY persistence_id LIMIT $limit_at
    ) AS found
) AS page
JOIN {state_table} AS s ON s.persistence_id = page.persistence_id
WHERE page.total - page.payload_bytes <= $bytes_at OR page.row_nr <= 2
ORDER BY page.persistence_id
