-- The states of an entity type in the order in which queries read them, after a change.
-- No number is given twice, but what was put there by hand may have one; then the id decides.
-- Sizes are summed up before anything large is read: of what does not fit into a page only the first state is.
-- Values: entity type, number of the last change that was read, number up to which changes are complete, number of the last
-- change again, its id, first and last slice, the most, and the most again: there is one partition; the most bytes.
SELECT s.persistence_id, s.ordering, s.revision, s.deleted, s.timestamp, s.tags, s.serializer_id, s.manifest, s.payload,
       s.checksum
FROM (
    SELECT sized.place, sized.bytes, sum(sized.bytes) OVER w AS total, row_number() OVER w AS row_nr
    FROM (
        SELECT rowid AS place, ordering, persistence_id, ifnull(length(payload), 0) AS bytes
        FROM {state_table}
        WHERE entity_type = ?1 AND ordering >= ?2 AND ordering <= ?3 AND (ordering > ?4 OR persistence_id > ?5)
          AND slice BETWEEN ?6 AND ?7
        ORDER BY ordering, persistence_id LIMIT min(?8, ?9)
    ) AS sized
    WINDOW w AS (ORDER BY sized.ordering, sized.persistence_id)
) AS page
CROSS JOIN {state_table} AS s ON s.rowid = page.place
WHERE page.total - page.bytes <= ?10 OR page.row_nr <= 2
ORDER BY page.row_nr
