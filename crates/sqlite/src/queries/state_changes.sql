-- The states of an entity type in the order in which queries read them, from behind a change on.
-- Values: entity type, number of the last change that was read, first and last slice, the most, and the most again: there is
-- one partition.
SELECT persistence_id, ordering, revision, deleted, timestamp, tags, serializer_id, manifest, payload, checksum
FROM {state_table}
WHERE entity_type = ?1 AND ordering > ?2 AND slice BETWEEN ?3 AND ?4
ORDER BY ordering LIMIT min(?5, ?6)
