-- Version 1 of a table of states. The names in braces are settings, checked before they are put in.
-- Every statement can be repeated: making tables ends a transaction, so a step may break in the middle.

-- `ordering` is the place of the last change in the order of commits, the offset of queries, which others store: in each
-- partition of the slices numbers are in that order.
CREATE TABLE IF NOT EXISTS {state_table} (
    persistence_id VARBINARY(255) NOT NULL, -- UTF-8; bytes, because every collation takes some ids for equal
    revision       BIGINT         NOT NULL,
    ordering       BIGINT         NOT NULL,
    deleted        TINYINT        NOT NULL CHECK (deleted IN (0, 1)), -- 1: a tombstone, which keeps the revision
    slice          SMALLINT       NOT NULL,
    partition_nr   TINYINT        NOT NULL, -- slice * partitions / 1024
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

-- How far each partition is numbered; each row has the number of all of them, too. A transaction raises the row just
-- before its commit and holds it until then, so that the order of numbers is that of commits. Numbers are never below the
-- microseconds of the server's clock.
-- Whoever reads by them asks this table first: see docs/adr/0005-commit-order.md.
CREATE TABLE IF NOT EXISTS {state_ordering_table} (
    partition_nr TINYINT NOT NULL PRIMARY KEY,
    partitions   TINYINT NOT NULL,
    newest       BIGINT  NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- None if some are there, perhaps of another number: a step that broke is repeated by whoever comes next.
INSERT INTO {state_ordering_table} (partition_nr, partitions, newest)
SELECT tens.digit * 8 + ones.digit, {partitions}, 0
FROM (SELECT 0 AS digit UNION SELECT 1 UNION SELECT 2 UNION SELECT 3
      UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7) AS tens
CROSS JOIN (SELECT 0 AS digit UNION SELECT 1 UNION SELECT 2 UNION SELECT 3
            UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7) AS ones
WHERE tens.digit * 8 + ones.digit < {partitions} AND NOT EXISTS (SELECT 1 FROM {state_ordering_table} AS made);
