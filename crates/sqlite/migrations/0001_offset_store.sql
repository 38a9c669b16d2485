-- Version 1 of the offset store. The names in braces are settings, checked before they are put in.

CREATE TABLE {projection_table} (
    name    TEXT    NOT NULL,
    version INTEGER NOT NULL,
    epoch   INTEGER NOT NULL, -- the highest one of a share
    paused  INTEGER NOT NULL,
    live    INTEGER,          -- 1 for the version of the name that is live, or NULL
    PRIMARY KEY (name, version),
    UNIQUE (name, live)
) STRICT;

CREATE TABLE {share_table} (
    name       TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    share_nr   INTEGER NOT NULL,
    epoch      INTEGER NOT NULL, -- in which it was taken last
    attempts   INTEGER NOT NULL, -- since the progress was committed
    progress   TEXT    NOT NULL, -- slices and offsets
    halted     TEXT,             -- the reason
    handled    INTEGER NOT NULL, -- number of items
    reached_at INTEGER,          -- of the last item, microseconds since 1970, UTC
    PRIMARY KEY (name, version, share_nr)
) STRICT;

CREATE TABLE {lease_table} (
    name     TEXT    NOT NULL,
    version  INTEGER NOT NULL,
    share_nr INTEGER NOT NULL,
    owner    TEXT    NOT NULL,
    expires  INTEGER NOT NULL, -- milliseconds since 1970, UTC
    PRIMARY KEY (name, version, share_nr)
) STRICT;

CREATE TABLE {member_table} (
    name    TEXT    NOT NULL,
    version INTEGER NOT NULL,
    owner   TEXT    NOT NULL,
    expires INTEGER NOT NULL, -- milliseconds since 1970, UTC
    PRIMARY KEY (name, version, owner)
) STRICT;

CREATE TABLE {skipped_table} (
    nr         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    item       TEXT    NOT NULL,
    position   TEXT    NOT NULL, -- the offset after it
    reason     TEXT    NOT NULL,
    skipped_at INTEGER NOT NULL  -- microseconds since 1970, UTC
) STRICT;

CREATE TABLE {parked_table} (
    name           TEXT    NOT NULL,
    version        INTEGER NOT NULL,
    persistence_id TEXT    NOT NULL,
    slice          INTEGER NOT NULL,
    first_place    INTEGER NOT NULL, -- of the items that wait
    next_place     INTEGER NOT NULL, -- of the next one
    attempts       INTEGER NOT NULL, -- number of retries
    reason         TEXT    NOT NULL,
    since          INTEGER NOT NULL, -- microseconds since 1970, UTC
    request        INTEGER,          -- 1: retry, 2: drop the first, 3: drop all
    request_place  INTEGER,          -- the first place when it was asked for
    PRIMARY KEY (name, version, persistence_id)
) STRICT;

CREATE TABLE {waiting_table} (
    name           TEXT    NOT NULL,
    version        INTEGER NOT NULL,
    persistence_id TEXT    NOT NULL,
    place          INTEGER NOT NULL,
    item_nr        INTEGER NOT NULL, -- of the event, or the revision
    item           TEXT    NOT NULL,
    position       TEXT    NOT NULL, -- the offset after it
    reason         TEXT,
    content        BLOB    NOT NULL, -- as its source has encoded it
    parked_at      INTEGER NOT NULL, -- microseconds since 1970, UTC
    PRIMARY KEY (name, version, persistence_id, place)
) STRICT;
