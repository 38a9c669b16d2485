-- Version 1 of a table of states. The names in braces are settings, checked before they are put in.
-- Ids are compared byte by byte, whatever the database sorts by.

-- `ordering` is the base of the table plus the number of the transaction that made the last change: queries read up to the
-- oldest one that is still under way, in the order of (ordering, persistence_id), and so never miss one that commits late.
-- See docs/adr/0014-base-and-bound.md, also for programs that insert rows by themselves.
CREATE TABLE {state_table} (
    persistence_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    revision       BIGINT           NOT NULL,
    ordering       BIGINT           NOT NULL,
    timestamp      BIGINT           NOT NULL, -- microseconds since 1970, UTC
    serializer_id  BIGINT           NOT NULL,
    slice          SMALLINT         NOT NULL,
    deleted        BOOLEAN          NOT NULL, -- a tombstone, which keeps the revision
    entity_type    TEXT COLLATE "C" NOT NULL
        GENERATED ALWAYS AS (left(persistence_id, greatest(strpos(persistence_id, '|') - 1, 0))) STORED,
    manifest       TEXT             NOT NULL,
    tags           JSONB            NOT NULL, -- an array of texts
    payload        {payload_type},            -- NULL in a tombstone
    checksum       BIGINT,                    -- over all that is read; NULL in rows of other tools
    CHECK ((payload IS NULL) = deleted)
);

-- Only for queries of changes: whoever has none may drop it, which makes writes a little cheaper.
CREATE INDEX {state_index} ON {state_table} (entity_type, ordering, slice);

-- The highest number of a state whose row was removed: readers may have it, and a restored dump must still tell so. A few lower
-- ones may lie beside it.
CREATE TABLE {state_removed_table} (
    ordering BIGINT NOT NULL PRIMARY KEY
);

-- What is added to the number of a transaction. It is raised where a dump was restored and transactions have lower
-- numbers than what is stored; then offsets that queries have kept stay what they were.
CREATE TABLE {state_ordering_table} (
    is_only BOOLEAN NOT NULL PRIMARY KEY CHECK (is_only),
    base    BIGINT  NOT NULL
);

INSERT INTO {state_ordering_table} (is_only, base) VALUES (true, 0);
