-- Version 1 of a table of states. The names in braces are settings, checked before they are put in.

-- `ordering` is the place of the last change in the order of commits, the offset of queries, which others store.
-- `payload` is last, so that the columns before it are read without touching its overflow pages.
CREATE TABLE {state_table} (
    persistence_id TEXT    NOT NULL PRIMARY KEY,
    revision       INTEGER NOT NULL,
    ordering       INTEGER NOT NULL,
    deleted        INTEGER NOT NULL CHECK (deleted IN (0, 1)), -- 1: a tombstone, which keeps the revision
    slice          INTEGER NOT NULL,
    entity_type    TEXT    NOT NULL
        GENERATED ALWAYS AS (substr(persistence_id, 1, instr(persistence_id, '|') - 1)) VIRTUAL,
    timestamp      INTEGER NOT NULL, -- microseconds since 1970, UTC
    tags           TEXT    NOT NULL, -- a JSON array of texts
    serializer_id  INTEGER NOT NULL,
    manifest       TEXT    NOT NULL,
    checksum       INTEGER,          -- over all that is read; NULL in rows of other tools
    payload        BLOB,             -- NULL in a tombstone
    CHECK ((payload IS NULL) = deleted)
) STRICT;

-- Only for queries of changes: whoever has none may drop it, which makes writes a little cheaper.
CREATE INDEX {state_index} ON {state_table} (entity_type, ordering, slice);

-- The newest number: raised with every change, so that none is used again after the newest row was removed.
-- There is one writer at a time, so the order of numbers is the order of commits.
CREATE TABLE {state_ordering_table} (
    partition_nr INTEGER NOT NULL PRIMARY KEY,
    newest       INTEGER NOT NULL
) STRICT;

INSERT INTO {state_ordering_table} (partition_nr, newest) VALUES (0, 0);
