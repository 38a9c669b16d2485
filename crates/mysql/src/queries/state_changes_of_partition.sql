-- The keys of the states of an entity type in one partition, in the order in which queries read them, after a change.
-- A state without a number, which is 0, is not there yet. No number is given twice, but what was put there by hand may have one; then the id decides.
-- Values: entity type, partition, number of the last change that was read, number up to which changes are complete, number of the last
-- change again, its id, first and last slice, the most.
--
-- A view of MariaDB may show a number and not the one before it: see docs/adr/0005-commit-order.md. So the second number comes
-- from a statement of its own, which is over by then.
(SELECT persistence_id, partition_nr, ordering FROM {state_table}
 WHERE entity_type = ? AND partition_nr = ? AND ordering >= GREATEST(?, 1) AND ordering <= ?
   AND (ordering > ? OR persistence_id > ?) AND slice BETWEEN ? AND ?
 ORDER BY ordering, persistence_id LIMIT ?)
