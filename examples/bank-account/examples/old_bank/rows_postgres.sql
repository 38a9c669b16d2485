SELECT format('INSERT INTO event_journal (persistence_id, sequence_nr, ordering, timestamp, serializer_id, slice, tag_count, '
    'writer_uuid, event_manifest, adapter_manifest, payload, checksum) VALUES (%L, %s, %s, %s, %s, %s, %s, %L, %L, %L, %L, %s)%s',
    persistence_id, sequence_nr, ordering, timestamp, serializer_id, slice, tag_count, writer_uuid, event_manifest, adapter_manifest,
    payload, checksum, chr(59))
FROM event_journal ORDER BY persistence_id, sequence_nr;

SELECT format('INSERT INTO journal_metadata (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid) '
    'VALUES (%L, %s, %s, %s, %s, %L)%s', persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid, chr(59))
FROM journal_metadata ORDER BY persistence_id;

SELECT format('INSERT INTO snapshot (persistence_id, sequence_nr, timestamp, serializer_id, slice, manifest, payload, '
    'checksum) VALUES (%L, %s, %s, %s, %s, %L, %L, %s)%s', persistence_id, sequence_nr, timestamp, serializer_id, slice,
    manifest, payload, checksum, chr(59))
FROM snapshot ORDER BY persistence_id, sequence_nr;
