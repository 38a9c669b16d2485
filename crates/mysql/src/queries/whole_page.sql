-- A page of events as `page.sql` gives it; no rows if it would have more bytes, or has no event.
-- Values: id, id, from, id, to, how many events at most, bytes, id, from, id, to, how many events at most.
--
-- One statement, so that the events and what is deleted are of one moment. Sizes are added up once, of rows without their
-- payloads; then the rows are read in the order of the key, and nothing is sorted or fetched one by one.
SELECT COALESCE((SELECT deleted_to FROM {metadata_table} WHERE persistence_id = ?), 0),
       e.sequence_nr, e.timestamp, e.writer_uuid, e.adapter_manifest, e.tag_count, e.serializer_id, e.event_manifest,
       CASE WHEN OCTET_LENGTH(e.payload) + COALESCE(OCTET_LENGTH(e.metadata_payload), 0) <= {most_bytes}
            THEN e.payload END,
       e.metadata_serializer_id, e.metadata_manifest,
       CASE WHEN OCTET_LENGTH(e.payload) + OCTET_LENGTH(e.metadata_payload) <= {most_bytes} THEN e.metadata_payload END,
       e.checksum,
       CASE WHEN OCTET_LENGTH(e.payload) + COALESCE(OCTET_LENGTH(e.metadata_payload), 0) > {most_bytes}
            THEN OCTET_LENGTH(e.payload) + COALESCE(OCTET_LENGTH(e.metadata_payload), 0) END
FROM {event_table} AS e
WHERE (
    SELECT SUM(sized.bytes)
    FROM (
        SELECT bytes FROM {event_table}
        WHERE persistence_id = ?
          AND sequence_nr >= GREATEST(?, COALESCE(
              (SELECT deleted_to + 1 FROM {metadata_table} WHERE persistence_id = ?), 0))
          AND sequence_nr <= ?
        ORDER BY sequence_nr LIMIT ?
    ) AS sized
) <= ?
  AND e.persistence_id = ?
  AND e.sequence_nr >= GREATEST(?, COALESCE(
      (SELECT deleted_to + 1 FROM {metadata_table} WHERE persistence_id = ?), 0))
  AND e.sequence_nr <= ?
ORDER BY e.sequence_nr LIMIT ?
