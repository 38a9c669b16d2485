-- Version 1 of a table of states. The names in braces are settings, checked before they are put in.
-- Every statement can be repeated: making tables ends a transaction, so a step may break in the middle.

-- `ordering` is the place of the last change in the order of commits, the offset of queries, which others store: in each of
-- eight partitions of the slices numbers are in that order.
CREATE TABLE IF NOT EXISTS {state_table} (
    persistence_id VARBINARY(255) NOT NULL, -- UTF-8; bytes, because every collation takes some ids for equal
    revision       BIGINT         NOT NULL,
    ordering       BIGINT         NOT NULL,
    deleted        TINYINT        NOT NULL CHECK (deleted IN (0, 1)), -- 1: a tombstone, which keeps the revision
    slice          SMALLINT       NOT NULL,
    partition_nr   TINYINT        GENERATED ALWAYS AS (slice % 8) STORED,
    entity_type    VARBINARY(255) GENERATED ALWAYS AS
        (LEFT(persistence_id, GREATEST(LOCATE(X'7C', persistence_id), 1) - 1)) STORED, -- up to the first '|'
    timestamp      BIGINT         NOT NULL, -- microseconds since 1970, UTC
    tags           JSON           NOT NULL, -- an array of texts
    serializer_id  BIGINT         NOT NULL,
    manifest       VARCHAR(255)   NOT NULL,
    checksum       BIGINT,                  -- over all that is read; NULL in rows of other tools
    payload        {payload_type_or_null},  -- NULL in a tombstone
    payload_bytes  BIGINT         GENERATED ALWAYS AS (IFNULL(OCTET_LENGTH(payload), 0)) STORED, -- a large one need not be read
    PRIMARY KEY (persistence_id),
    -- Only for queries of changes: whoever has none may drop it, which makes writes a little cheaper.
    KEY {state_index} (entity_type, partition_nr, ordering, persistence_id, slice),
    CHECK ((payload IS NULL) = deleted)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- How far each partition is numbered. A transaction raises the row just before its commit and holds it until then, so that
-- the order of numbers is that of commits. Numbers are never below the microseconds of the server's clock.
-- Whoever reads by them asks this table first: see docs/adr/0005-commit-order.md.
CREATE TABLE IF NOT EXISTS {state_ordering_table} (
    partition_nr TINYINT NOT NULL PRIMARY KEY,
    newest       BIGINT  NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT IGNORE INTO {state_ordering_table} (partition_nr, newest)
VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0);
