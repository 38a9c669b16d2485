-- The events of a partition after an ordering, in the order of their commits. A reader keeps an ordering for each of the
-- eight partitions: numbers have no gaps, and none appears before a lower one. Values: partition, ordering, how many.
SELECT ordering, persistence_id, sequence_nr
FROM {event_table}
WHERE partition_nr = ? AND ordering > ?
ORDER BY ordering
LIMIT ?
