-- Version 1 of the snapshot store. The name in braces is a setting, checked before it is put in.

CREATE TABLE {snapshot_table} (
    persistence_id         TEXT COLLATE "C" NOT NULL,
    sequence_nr            BIGINT           NOT NULL,
    timestamp              BIGINT           NOT NULL, -- microseconds since 1970, UTC
    serializer_id          BIGINT           NOT NULL,
    metadata_serializer_id BIGINT,                    -- all three of metadata or none
    slice                  SMALLINT         NOT NULL,
    entity_type            TEXT COLLATE "C" NOT NULL
        GENERATED ALWAYS AS (left(persistence_id, greatest(strpos(persistence_id, '|') - 1, 0))) STORED,
    manifest               TEXT             NOT NULL,
    metadata_manifest      TEXT,
    metadata_payload       BYTEA,
    payload                {payload_type}   NOT NULL,
    checksum               BIGINT,                    -- over all that is read; NULL in rows of other tools
    PRIMARY KEY (persistence_id, sequence_nr)
);
