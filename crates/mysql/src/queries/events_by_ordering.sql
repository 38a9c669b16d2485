-- The events of a partition after an ordering, in the order of their commits. A reader keeps an ordering for each of the
-- partitions. Values: partition, ordering, number up to which events are complete, how many.
--
-- The last number is `newest` of the partition in {ordering_table}, from a statement of its own that is over by then: a view of
-- MariaDB may show a number and not the one before it, see docs/adr/0005-commit-order.md. Where fewer events are given than
-- were asked for, the reader goes on from there. Numbers have gaps.
SELECT e.ordering, e.persistence_id, e.sequence_nr
FROM {event_table} AS e
WHERE e.partition_nr = ? AND e.ordering > ? AND e.ordering <= ?
  AND e.sequence_nr > COALESCE((SELECT m.deleted_to FROM {metadata_table} AS m WHERE m.persistence_id = e.persistence_id), 0)
ORDER BY e.ordering
LIMIT ?
