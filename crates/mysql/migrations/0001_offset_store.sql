-- Version 1 of the offset store. The names in braces are settings, checked before they are put in.
CREATE TABLE IF NOT EXISTS {projection_table} (
    name    VARBINARY(100) NOT NULL,
    version BIGINT         NOT NULL,
    epoch   BIGINT         NOT NULL, -- the highest one of a share
    paused  BIGINT         NOT NULL,
    live    BIGINT,                  -- 1 for the version of the name that is live, or NULL
    PRIMARY KEY (name, version),
    UNIQUE (name, live)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {share_table} (
    name       VARBINARY(100) NOT NULL,
    version    BIGINT         NOT NULL,
    share_nr   BIGINT         NOT NULL,
    epoch      BIGINT         NOT NULL, -- in which it was taken last
    attempts   BIGINT         NOT NULL, -- since the progress was committed
    progress   MEDIUMTEXT     NOT NULL, -- slices and offsets
    halted     MEDIUMTEXT,              -- the reason
    handled    BIGINT         NOT NULL, -- number of items
    reached_at BIGINT,                  -- of the last item, microseconds since 1970, UTC
    PRIMARY KEY (name, version, share_nr)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {lease_table} (
    name     VARBINARY(100) NOT NULL,
    version  BIGINT         NOT NULL,
    share_nr BIGINT         NOT NULL,
    owner    VARBINARY(255) NOT NULL,
    expires  BIGINT         NOT NULL, -- milliseconds since 1970, UTC
    PRIMARY KEY (name, version, share_nr)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {member_table} (
    name    VARBINARY(100) NOT NULL,
    version BIGINT         NOT NULL,
    owner   VARBINARY(255) NOT NULL,
    expires BIGINT         NOT NULL, -- milliseconds since 1970, UTC
    PRIMARY KEY (name, version, owner)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {skipped_table} (
    nr         BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name       VARBINARY(100) NOT NULL,
    version    BIGINT         NOT NULL,
    item       TEXT           NOT NULL,
    position   MEDIUMTEXT     NOT NULL, -- the offset after it
    reason     MEDIUMTEXT     NOT NULL,
    skipped_at BIGINT         NOT NULL  -- microseconds since 1970, UTC
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {parked_table} (
    name           VARBINARY(100) NOT NULL,
    version        BIGINT         NOT NULL,
    persistence_id VARBINARY(255) NOT NULL,
    slice          BIGINT         NOT NULL,
    first_place    BIGINT         NOT NULL, -- of the items that wait
    next_place     BIGINT         NOT NULL, -- of the next one
    attempts       BIGINT         NOT NULL, -- number of retries
    reason         MEDIUMTEXT     NOT NULL,
    since          BIGINT         NOT NULL, -- microseconds since 1970, UTC
    request        BIGINT,                  -- 1: retry, 2: drop the first, 3: drop all
    request_place  BIGINT,                  -- the first place when it was asked for
    PRIMARY KEY (name, version, persistence_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {waiting_table} (
    name           VARBINARY(100) NOT NULL,
    version        BIGINT         NOT NULL,
    persistence_id VARBINARY(255) NOT NULL,
    place          BIGINT         NOT NULL,
    item_nr        BIGINT         NOT NULL, -- of the event, or the revision
    item           MEDIUMTEXT     NOT NULL,
    position       MEDIUMTEXT     NOT NULL, -- the offset after it
    reason         MEDIUMTEXT,
    content        LONGBLOB       NOT NULL, -- as its source has encoded it
    parked_at      BIGINT         NOT NULL, -- microseconds since 1970, UTC
    PRIMARY KEY (name, version, persistence_id, place)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
