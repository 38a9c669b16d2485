-- The states of an entity type in the order in which queries read them, from behind a change on.
-- Values: entity type, number of the last change that was read, number up to which changes are complete, first and last
-- slice, the most, and the most again: there is one partition.
SELECT persistence_id, ordering, revision, deleted, timestamp, tags, serializer_id, manifest, payload, checksum
FROM {state_table}
WHERE entity_type = ?1 AND ordering > ?2 AND ordering <= ?3 AND slice BETWEEN ?4 AND ?5
ORDER BY ordering LIMIT min(?6, ?7)
