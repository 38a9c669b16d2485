-- Version 1 of the snapshot store. The name in braces is a setting, checked before it is put in.

-- `payload` is last, so that the columns before it are read without touching its overflow pages.
CREATE TABLE {snapshot_table} (
    persistence_id         TEXT    NOT NULL,
    sequence_nr            INTEGER NOT NULL,
    slice                  INTEGER NOT NULL,
    entity_type            TEXT    NOT NULL
        GENERATED ALWAYS AS (substr(persistence_id, 1, instr(persistence_id, '|') - 1)) VIRTUAL,
    timestamp              INTEGER NOT NULL, -- microseconds since 1970, UTC
    serializer_id          INTEGER NOT NULL,
    manifest               TEXT    NOT NULL,
    metadata_serializer_id INTEGER,          -- all three of metadata or none
    metadata_manifest      TEXT,
    metadata_payload       BLOB,
    checksum               INTEGER,          -- over all that is read; NULL in rows of other tools
    payload                BLOB    NOT NULL,
    PRIMARY KEY (persistence_id, sequence_nr)
) STRICT;
