//! Large histories are checked in a time that grows as they do.
