-- Moves the counter of states on if it is behind the rows, whose newest are found for each entity type by the index.
WITH RECURSIVE found (entity_type, ordering) AS (
    SELECT * FROM (SELECT entity_type, ordering FROM {state_table} ORDER BY entity_type DESC, ordering DESC LIMIT 1)
    UNION ALL
    SELECT s.entity_type, s.ordering
    FROM found JOIN {state_table} AS s ON s.rowid = (
        SELECT rowid FROM {state_table} AS n WHERE n.entity_type < found.entity_type
        ORDER BY n.entity_type DESC, n.ordering DESC LIMIT 1)
)
UPDATE {state_ordering_table} SET newest = (SELECT max(ordering) FROM found)
WHERE partition_nr = 0 AND newest < (SELECT max(ordering) FROM found)
