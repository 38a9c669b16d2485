-- The keys of the states of an entity type in one partition, in the order in which queries read them, from behind a change on.
-- Values: entity type, number of the last change that was read, first and last slice, the most.
(SELECT persistence_id, partition_nr, ordering FROM {state_table}
 WHERE entity_type = ? AND partition_nr = {partition} AND ordering > ? AND slice BETWEEN ? AND ?
 ORDER BY ordering LIMIT ?)
