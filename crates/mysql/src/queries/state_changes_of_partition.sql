-- The keys of the states of an entity type in one partition, in the order in which queries read them, from behind a change on.
-- No number is given twice, but what was put there by hand may have one; then the id decides.
-- Values: entity type, number of the last change that was read, the same again, its id, first and last slice, the most.
(SELECT persistence_id, partition_nr, ordering FROM {state_table}
 WHERE entity_type = ? AND partition_nr = {partition} AND ordering >= ? AND (ordering > ? OR persistence_id > ?)
   AND slice BETWEEN ? AND ?
 ORDER BY ordering, persistence_id LIMIT ?)
