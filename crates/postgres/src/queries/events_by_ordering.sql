-- The events of all ids in the order in which queries read them, after a place.
-- Values: ordering, id and number of the last event that was read; the most events; the bound, exclusive, which was asked
-- in a statement of its own. See docs/adr/0014-base-and-bound.md. What is deleted is not given, whether or not its rows are left.
SELECT e.ordering, e.persistence_id, e.sequence_nr
FROM {event_table} AS e
WHERE (e.ordering, e.persistence_id, e.sequence_nr) > ($1::bigint, $2::text, $3::bigint)
  AND e.ordering < $5::bigint
  AND e.sequence_nr > COALESCE((SELECT m.deleted_to FROM {metadata_table} AS m
                                WHERE m.persistence_id = e.persistence_id), 0)
ORDER BY e.ordering, e.persistence_id, e.sequence_nr
LIMIT $4::bigint
