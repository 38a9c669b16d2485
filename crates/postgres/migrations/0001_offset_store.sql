-- Version 1 of the offset store. The names in braces are settings, checked before they are put in.

CREATE TABLE {projection_table} (
    name    TEXT COLLATE "C" NOT NULL,
    version BIGINT           NOT NULL,
    epoch   BIGINT           NOT NULL, -- the highest one of a share
    paused  BIGINT           NOT NULL,
    live    BIGINT,                    -- 1 for the version of the name that is live, or NULL
    PRIMARY KEY (name, version),
    UNIQUE (name, live)
);

-- A row is changed by each commit: with room on its page it needs no new entry in the index.
CREATE TABLE {share_table} (
    name       TEXT COLLATE "C" NOT NULL,
    version    BIGINT           NOT NULL,
    share_nr   BIGINT           NOT NULL,
    epoch      BIGINT           NOT NULL, -- in which it was taken last
    attempts   BIGINT           NOT NULL, -- since the progress was committed
    progress   TEXT COLLATE "C" NOT NULL, -- slices and offsets
    halted     TEXT,                      -- the reason
    handled    BIGINT           NOT NULL, -- number of items
    reached_at BIGINT,                    -- of the last item, microseconds since 1970, UTC
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

CREATE TABLE {parked_table} (
    name           TEXT COLLATE "C" NOT NULL,
    version        BIGINT           NOT NULL,
    persistence_id TEXT COLLATE "C" NOT NULL,
    slice          BIGINT           NOT NULL,
    first_place    BIGINT           NOT NULL, -- of the items that wait
    next_place     BIGINT           NOT NULL, -- of the next one
    attempts       BIGINT           NOT NULL, -- number of retries
    reason         TEXT             NOT NULL,
    since          BIGINT           NOT NULL, -- microseconds since 1970, UTC
    request        BIGINT,                    -- 1: retry, 2: drop the first, 3: drop all
    request_place  BIGINT,                    -- the first place when it was asked for
    PRIMARY KEY (name, version, persistence_id)
);

CREATE TABLE {waiting_table} (
    name           TEXT COLLATE "C" NOT NULL,
    version        BIGINT           NOT NULL,
    persistence_id TEXT COLLATE "C" NOT NULL,
    place          BIGINT           NOT NULL,
    item_nr        BIGINT           NOT NULL, -- of the event, or the revision
    item           TEXT             NOT NULL,
    position       TEXT             NOT NULL, -- the offset after it
    reason         TEXT,
    content        BYTEA            NOT NULL, -- as its source has encoded it
    parked_at      BIGINT           NOT NULL, -- microseconds since 1970, UTC
    PRIMARY KEY (name, version, persistence_id, place)
);
