-- Version 1 of the journal. The names in braces are settings, checked before they are put in.
-- Every statement can be repeated: making tables ends a transaction, so a step may break in the middle.

-- `ordering` is the offset of queries, which others store: in each partition of the slices numbers are in the order of
-- commits, and have gaps. Slices that follow on each other are together, as readers share them out.
-- `partition_nr` is what the store says: a generated column would fix the number of partitions for ever.
-- `bytes` counts both payloads, so that a page is cut without reading them.
CREATE TABLE IF NOT EXISTS {event_table} (
    persistence_id         VARBINARY(255) NOT NULL, -- UTF-8; bytes, because every collation takes some ids for equal
    sequence_nr            BIGINT         NOT NULL,
    ordering               BIGINT         NOT NULL,
    slice                  SMALLINT       NOT NULL,
    partition_nr           TINYINT        NOT NULL, -- slice * partitions / 1024
    entity_type            VARBINARY(255) GENERATED ALWAYS AS
        (LEFT(persistence_id, GREATEST(LOCATE(X'7C', persistence_id), 1) - 1)) VIRTUAL, -- up to the first '|'
    timestamp              BIGINT         NOT NULL, -- microseconds since 1970, UTC
    writer_uuid            BINARY(16)     NOT NULL,
    serializer_id          BIGINT         NOT NULL,
    event_manifest         VARCHAR(255)   NOT NULL,
    adapter_manifest       VARCHAR(255)   NOT NULL,
    tag_count              INT            NOT NULL,
    bytes                  BIGINT         NOT NULL,
    metadata_serializer_id BIGINT,                  -- all three of metadata or none
    metadata_manifest      VARCHAR(255),
    metadata_payload       LONGBLOB,
    checksum               BIGINT,                  -- over all that is read; NULL in rows of other tools
    payload                {payload_type},
    PRIMARY KEY (persistence_id, sequence_nr),
    UNIQUE KEY {event_index} (partition_nr, ordering),
    -- Only for queries of the events of an entity type.
    KEY {event_type_index} (entity_type, partition_nr, ordering)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- A tag names its event by the place in the order of commits, which is shorter than the id.
CREATE TABLE IF NOT EXISTS {tag_table} (
    tag          VARBINARY(255) NOT NULL, -- UTF-8
    partition_nr TINYINT        NOT NULL,
    ordering     BIGINT         NOT NULL,
    slice        SMALLINT       NOT NULL,
    PRIMARY KEY (tag, partition_nr, ordering),
    KEY {tag_index} (partition_nr, ordering)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- One row for each persistence id that was ever written or taken over; every number in it is only ever raised.
CREATE TABLE IF NOT EXISTS {metadata_table} (
    persistence_id VARBINARY(255) NOT NULL PRIMARY KEY,
    highest        BIGINT         NOT NULL, -- the number of the newest event ever stored
    deleted_to     BIGINT         NOT NULL, -- no event up to here is shown
    swept_to       BIGINT         NOT NULL, -- no row up to here is left
    epoch          BIGINT         NOT NULL,
    writer_uuid    BINARY(16)     NOT NULL, -- of that epoch
    unswept        TINYINT        GENERATED ALWAYS AS (CASE WHEN swept_to < deleted_to THEN 1 END) STORED,
    KEY {unswept_index} (unswept, persistence_id),
    CHECK (deleted_to <= highest),
    CHECK (swept_to <= deleted_to)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- How far each partition is numbered; each row has the number of all of them, too. A transaction raises the row just
-- before it stores events and holds it until its commit, so that the order of numbers is that of commits. Numbers are never
-- below the microseconds of the server's clock.
-- Whoever reads by them asks this table first: see docs/adr/0005-commit-order.md.
CREATE TABLE IF NOT EXISTS {ordering_table} (
    partition_nr TINYINT NOT NULL PRIMARY KEY,
    partitions   TINYINT NOT NULL,
    newest       BIGINT  NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- None if some are there, perhaps of another number: a step that broke is repeated by whoever comes next.
INSERT INTO {ordering_table} (partition_nr, partitions, newest)
SELECT tens.digit * 8 + ones.digit, {partitions}, 0
FROM (SELECT 0 AS digit UNION SELECT 1 UNION SELECT 2 UNION SELECT 3
      UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7) AS tens
CROSS JOIN (SELECT 0 AS digit UNION SELECT 1 UNION SELECT 2 UNION SELECT 3
            UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7) AS ones
WHERE tens.digit * 8 + ones.digit < {partitions} AND NOT EXISTS (SELECT 1 FROM {ordering_table} AS made);
