-- Version 1 of the journal. The names in braces are settings, checked before they are put in.
-- Ids and tags are compared byte by byte, whatever the database sorts by.

-- `ordering` is the base of the store plus the number of the transaction that stored the event: queries read up to the
-- oldest one that is still under way, in the order of (ordering, persistence_id, sequence_nr), and so never miss one that
-- commits late. See docs/adr/0014-base-and-bound.md, also for programs that insert rows by themselves.
CREATE TABLE {event_table} (
    persistence_id         TEXT COLLATE "C" NOT NULL,
    sequence_nr            BIGINT           NOT NULL,
    ordering               BIGINT           NOT NULL,
    timestamp              BIGINT           NOT NULL, -- microseconds since 1970, UTC
    serializer_id          BIGINT           NOT NULL,
    metadata_serializer_id BIGINT,                    -- all three of metadata or none
    slice                  SMALLINT         NOT NULL,
    tag_count              INTEGER          NOT NULL, -- how many rows it has in the table of tags
    writer_uuid            BYTEA            NOT NULL, -- 16 bytes
    entity_type            TEXT COLLATE "C" NOT NULL
        GENERATED ALWAYS AS (left(persistence_id, greatest(strpos(persistence_id, '|') - 1, 0))) STORED,
    event_manifest         TEXT             NOT NULL,
    adapter_manifest       TEXT             NOT NULL,
    metadata_manifest      TEXT,
    metadata_payload       BYTEA,
    payload                {payload_type}   NOT NULL,
    checksum               BIGINT,                    -- over all that is read; NULL in rows of other tools
    PRIMARY KEY (persistence_id, sequence_nr)
);

-- For queries only: readers of a range of slices look at no rows of others, and those of a type at no rows of other types.
-- See docs/adr/0015-indexes-on-postgresql.md.
CREATE INDEX {event_index} ON {event_table} (ordering, slice);
CREATE INDEX {type_index} ON {event_table} (entity_type, ordering, slice);

CREATE TABLE {tag_table} (
    persistence_id TEXT COLLATE "C" NOT NULL,
    sequence_nr    BIGINT           NOT NULL,
    tag            TEXT COLLATE "C" NOT NULL,
    slice          SMALLINT         NOT NULL,
    ordering       BIGINT           NOT NULL, -- that of the event
    PRIMARY KEY (persistence_id, sequence_nr, tag)
);

-- Rows of one number are sorted when they are read: the ids in this index would be most of it.
CREATE INDEX {tag_index} ON {tag_table} (tag, ordering);

-- One row for each persistence id that was ever written or taken over; every number in it is only ever raised.
-- Each append updates `highest`, which is in no index, so that the new row fits on the page of the old one.
CREATE TABLE {metadata_table} (
    persistence_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    highest        BIGINT           NOT NULL,
    deleted_to     BIGINT           NOT NULL CHECK (deleted_to <= highest),   -- no event up to here is shown
    swept_to       BIGINT           NOT NULL CHECK (swept_to <= deleted_to), -- no row up to here is left
    epoch          BIGINT           NOT NULL,
    writer_uuid    BYTEA            NOT NULL                                  -- of that epoch, 16 bytes
) WITH (fillfactor = 50);

-- The highest number of an event whose row was removed: readers may have it, and a restored dump must still tell so. A few
-- lower ones may lie beside it.
CREATE TABLE {removed_table} (
    ordering BIGINT NOT NULL PRIMARY KEY
);

-- What is added to the number of a transaction. It is raised where a dump was restored and transactions have lower
-- numbers than what is stored; then offsets that queries have kept stay what they were.
CREATE TABLE {ordering_table} (
    is_only BOOLEAN NOT NULL PRIMARY KEY CHECK (is_only),
    base    BIGINT  NOT NULL
);

INSERT INTO {ordering_table} (is_only, base) VALUES (true, 0);

CREATE INDEX {unswept_index} ON {metadata_table} (persistence_id) WHERE swept_to < deleted_to;
