-- Makes the row anew in which SQLite keeps the newest ordering, if a program has removed it: rows that are gone by a delete had
-- higher ones than those that are left.
INSERT INTO sqlite_sequence (name, seq)
SELECT t.name, MAX(COALESCE((SELECT MAX(ordering) FROM {event_table}), 0),
                   COALESCE((SELECT MAX(swept_ordering) FROM {metadata_table}), 0))
FROM sqlite_schema AS t
WHERE t.type = 'table' AND '"' || t.name || '"' = '{event_table}' COLLATE NOCASE
  AND NOT EXISTS (SELECT 1 FROM sqlite_sequence AS s WHERE s.name = t.name)
