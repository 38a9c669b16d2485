-- Version 1 of the offset store. The names in braces are settings, checked before they are put in.
CREATE TABLE IF NOT EXISTS {projection_table} (
    name    VARBINARY(100) NOT NULL,
    version BIGINT         NOT NULL,
    epoch   BIGINT         NOT NULL, -- the highest one of a share
    paused  BIGINT         NOT NULL,
    PRIMARY KEY (name, version)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {share_table} (
    name     VARBINARY(100) NOT NULL,
    version  BIGINT         NOT NULL,
    share_nr BIGINT         NOT NULL,
    epoch    BIGINT         NOT NULL, -- in which it was taken last
    attempts BIGINT         NOT NULL, -- since the progress was committed
    progress MEDIUMTEXT     NOT NULL, -- slices and offsets
    halted   MEDIUMTEXT,              -- the reason
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
