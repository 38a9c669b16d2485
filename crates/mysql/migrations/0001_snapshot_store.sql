-- Version 1 of the snapshot store. The name in braces is a setting, checked before it is put in.
CREATE TABLE IF NOT EXISTS {snapshot_table} (
    persistence_id         VARBINARY(255) NOT NULL, -- UTF-8; bytes, because every collation takes some ids for equal
    sequence_nr            BIGINT         NOT NULL,
    slice                  SMALLINT       NOT NULL,
    entity_type            VARBINARY(255) GENERATED ALWAYS AS
        (LEFT(persistence_id, GREATEST(LOCATE(X'7C', persistence_id), 1) - 1)) VIRTUAL, -- up to the first '|'
    timestamp              BIGINT         NOT NULL, -- microseconds since 1970, UTC
    serializer_id          BIGINT         NOT NULL,
    manifest               VARCHAR(255)   NOT NULL,
    metadata_serializer_id BIGINT,                  -- all three of metadata or none
    metadata_manifest      VARCHAR(255),
    metadata_payload       LONGBLOB,
    checksum               BIGINT,                  -- over all that is read; NULL in rows of other tools
    payload                {payload_type},
    PRIMARY KEY (persistence_id, sequence_nr)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
