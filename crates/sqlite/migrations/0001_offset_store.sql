-- Version 1 of the offset store. The names in braces are settings, checked before they are put in.

CREATE TABLE {projection_table} (
    name    TEXT    NOT NULL,
    version INTEGER NOT NULL,
    epoch   INTEGER NOT NULL, -- the highest one of a share
    paused  INTEGER NOT NULL,
    PRIMARY KEY (name, version)
) STRICT;

CREATE TABLE {share_table} (
    name     TEXT    NOT NULL,
    version  INTEGER NOT NULL,
    share_nr INTEGER NOT NULL,
    epoch    INTEGER NOT NULL, -- in which it was taken last
    attempts INTEGER NOT NULL, -- since the progress was committed
    progress TEXT    NOT NULL, -- slices and offsets
    halted   TEXT,             -- the reason
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
