-- Version 1 of the journal. The names in braces are settings, checked before they are put in.

-- `ordering` is the offset of queries, which others store: AUTOINCREMENT, so that it is never used again after the
-- newest events were deleted. There is one writer at a time, so its order is the order of commits.
-- `payload` is last, so that the columns before it are read without touching its overflow pages.
CREATE TABLE {event_table} (
    ordering               INTEGER PRIMARY KEY AUTOINCREMENT,
    persistence_id         TEXT    NOT NULL,
    sequence_nr            INTEGER NOT NULL,
    slice                  INTEGER NOT NULL,
    entity_type            TEXT    NOT NULL
        GENERATED ALWAYS AS (substr(persistence_id, 1, instr(persistence_id, '|') - 1)) VIRTUAL,
    timestamp              INTEGER NOT NULL, -- microseconds since 1970, UTC
    writer_uuid            BLOB    NOT NULL, -- 16 bytes
    serializer_id          INTEGER NOT NULL,
    event_manifest         TEXT    NOT NULL,
    adapter_manifest       TEXT    NOT NULL,
    metadata_serializer_id INTEGER,          -- all three of metadata or none
    metadata_manifest      TEXT,
    metadata_payload       BLOB,
    checksum               INTEGER,          -- over all that is read; NULL in rows of other tools
    payload                BLOB    NOT NULL,
    UNIQUE (persistence_id, sequence_nr)
) STRICT;

-- Only for queries of the events of an entity type; in it those of a type are in the order of `ordering`, the rowid.
CREATE INDEX {event_type_index} ON {event_table} (entity_type);

CREATE TABLE {tag_table} (
    tag      TEXT    NOT NULL,
    ordering INTEGER NOT NULL,
    PRIMARY KEY (tag, ordering)
) STRICT, WITHOUT ROWID;

CREATE INDEX {tag_index} ON {tag_table} (ordering);

-- One row for each persistence id that was ever written or taken over; every number in it is only ever raised.
-- The highest number of an id is the larger one of `highest` and of its events: appending does not touch this table.
CREATE TABLE {metadata_table} (
    persistence_id TEXT    NOT NULL PRIMARY KEY,
    highest        INTEGER NOT NULL,                                -- as of the last take-over or delete
    deleted_to     INTEGER NOT NULL CHECK (deleted_to <= highest),  -- no event up to here is shown
    swept_to       INTEGER NOT NULL CHECK (swept_to <= deleted_to), -- no row up to here is left
    swept_ordering INTEGER NOT NULL DEFAULT 0, -- the highest `ordering` of the rows that were removed
    epoch          INTEGER NOT NULL,
    writer_uuid    BLOB    NOT NULL                                 -- of that epoch, 16 bytes
) STRICT, WITHOUT ROWID;

CREATE INDEX {unswept_index} ON {metadata_table} (persistence_id) WHERE swept_to < deleted_to;
