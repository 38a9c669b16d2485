-- Version 1 of the offset store. The names in braces are settings, checked before they are put in.

CREATE TABLE {projection_table} (
    name    TEXT COLLATE "C" NOT NULL,
    version BIGINT           NOT NULL,
    epoch   BIGINT           NOT NULL, -- the highest one of a share
    paused  BIGINT           NOT NULL,
    PRIMARY KEY (name, version)
);

-- A row is changed by each commit: with room on its page it needs no new entry in the index.
CREATE TABLE {share_table} (
    name     TEXT COLLATE "C" NOT NULL,
    version  BIGINT           NOT NULL,
    share_nr BIGINT           NOT NULL,
    epoch    BIGINT           NOT NULL, -- in which it was taken last
    attempts BIGINT           NOT NULL, -- since the progress was committed
    progress TEXT COLLATE "C" NOT NULL, -- slices and offsets
    halted   TEXT,                      -- the reason
    PRIMARY KEY (name, version, share_nr)
) WITH (fillfactor = 50);

CREATE TABLE {lease_table} (
    name     TEXT COLLATE "C" NOT NULL,
    version  BIGINT           NOT NULL,
    share_nr BIGINT           NOT NULL,
    owner    TEXT COLLATE "C" NOT NULL,
    expires  BIGINT           NOT NULL, -- milliseconds since 1970, UTC
    PRIMARY KEY (name, version, share_nr)
);

CREATE TABLE {member_table} (
    name    TEXT COLLATE "C" NOT NULL,
    version BIGINT           NOT NULL,
    owner   TEXT COLLATE "C" NOT NULL,
    expires BIGINT           NOT NULL, -- milliseconds since 1970, UTC
    PRIMARY KEY (name, version, owner)
);

CREATE TABLE {skipped_table} (
    nr         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL,
    version    BIGINT           NOT NULL,
    item       TEXT             NOT NULL,
    position   TEXT             NOT NULL, -- the offset after it
    reason     TEXT             NOT NULL,
    skipped_at BIGINT           NOT NULL  -- microseconds since 1970, UTC
);
