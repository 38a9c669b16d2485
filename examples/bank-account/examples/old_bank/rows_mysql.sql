SELECT CONCAT('INSERT INTO event_journal (persistence_id, sequence_nr, ordering, slice, partition_nr, timestamp, writer_uuid, ',
    'serializer_id, event_manifest, adapter_manifest, tag_count, bytes, checksum, payload) VALUES (',
    CONCAT_WS(', ', QUOTE(CONVERT(persistence_id USING utf8mb4)), sequence_nr, ordering, slice, partition_nr, timestamp,
        CONCAT('0x', HEX(writer_uuid)), serializer_id, QUOTE(event_manifest), QUOTE(adapter_manifest), tag_count, bytes,
        checksum, CONCAT('0x', HEX(payload))), ')', CHAR(59 USING utf8mb4))
FROM event_journal ORDER BY event_journal.persistence_id, sequence_nr;

SELECT CONCAT('INSERT INTO journal_metadata (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid) VALUES (',
    CONCAT_WS(', ', QUOTE(CONVERT(persistence_id USING utf8mb4)), highest, deleted_to, swept_to, epoch,
        CONCAT('0x', HEX(writer_uuid))), ')', CHAR(59 USING utf8mb4))
FROM journal_metadata ORDER BY journal_metadata.persistence_id;

SELECT CONCAT('INSERT INTO snapshot (persistence_id, sequence_nr, slice, timestamp, serializer_id, manifest, checksum, ',
    'payload) VALUES (',
    CONCAT_WS(', ', QUOTE(CONVERT(persistence_id USING utf8mb4)), sequence_nr, slice, timestamp, serializer_id,
        QUOTE(manifest), checksum, CONCAT('0x', HEX(payload))), ')', CHAR(59 USING utf8mb4))
FROM snapshot ORDER BY snapshot.persistence_id, sequence_nr;
