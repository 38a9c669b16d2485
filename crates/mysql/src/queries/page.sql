-- A page of events. Values: id, from, id, to, how many events at most, bytes, id, id.
--
-- One statement, so that the events and what is deleted are of one moment without a transaction around them.
-- Inside, numbers and sizes are read of at most so many events, without their payloads, and only those are kept before
-- which the page is not full; outside, their rows are fetched by their keys. The second is always kept, because the first
-- may be larger than a page and the next one tells that there is more.
-- The row without a number tells what is deleted where there is no event; nothing is, where the id was never taken over. It stands inside, so that numbers are sorted and
-- not rows: those would be put into a temporary table on the disk with their payloads.
SELECT COALESCE(m.deleted_to, 0), e.sequence_nr, e.timestamp, e.writer_uuid, e.adapter_manifest, e.tag_count,
       e.serializer_id, e.event_manifest,
       CASE WHEN OCTET_LENGTH(e.payload) + COALESCE(OCTET_LENGTH(e.metadata_payload), 0) <= {most_bytes}
            THEN e.payload END,
       e.metadata_serializer_id, e.metadata_manifest,
       CASE WHEN OCTET_LENGTH(e.payload) + OCTET_LENGTH(e.metadata_payload) <= {most_bytes} THEN e.metadata_payload END,
       e.checksum,
       CASE WHEN OCTET_LENGTH(e.payload) + COALESCE(OCTET_LENGTH(e.metadata_payload), 0) > {most_bytes}
            THEN OCTET_LENGTH(e.payload) + COALESCE(OCTET_LENGTH(e.metadata_payload), 0) END
FROM (
    SELECT NULL AS sequence_nr
    UNION ALL
    SELECT sized.sequence_nr
    FROM (
        SELECT numbered.sequence_nr, numbered.bytes,
               SUM(numbered.bytes) OVER (ORDER BY numbered.sequence_nr) AS total,
               ROW_NUMBER() OVER (ORDER BY numbered.sequence_nr) AS place
        FROM (
            SELECT sequence_nr, bytes FROM {event_table}
            WHERE persistence_id = ?
              AND sequence_nr >= GREATEST(?, COALESCE(
                  (SELECT deleted_to + 1 FROM {metadata_table} WHERE persistence_id = ?), 0))
              AND sequence_nr <= ?
            ORDER BY sequence_nr LIMIT ?
        ) AS numbered
    ) AS sized
    WHERE sized.total - sized.bytes <= ? OR sized.place <= 2
) AS page
LEFT JOIN {metadata_table} AS m ON m.persistence_id = ?
LEFT JOIN {event_table} AS e ON e.persistence_id = ? AND e.sequence_nr = page.sequence_nr
ORDER BY page.sequence_nr
