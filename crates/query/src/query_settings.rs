//! The settings of queries.

use std::time::Duration;

/// The interval and the page size with which a query reads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuerySettings {
    /// The time that a live query waits, when there is nothing more to read, until it looks again; as
    /// `refresh-interval` of Akka's `query` section. A live query notices a write of the same process at once, but looks
    /// no sooner than 3 to 7 ms after it last did, or 10 ms if the last three such writes brought nothing. Live queries over events that share an
    /// [`EventTail`](crate::EventTail) look together, as often as the shortest of theirs says.
    pub refresh_interval: Duration,
    /// The most changes, events or ids that are read at once, from 1. A query of the events of many ids reads one page ahead, so it
    /// holds two pages at most; others hold one.
    pub page_size: usize,
    /// The longest delay of a live query after trouble of the database, which begins with 100 ms and doubles.
    pub max_back_off: Duration,
    /// The longest time for which a query over current events waits, without reading on, for a transaction under way that
    /// holds back what was confirmed before.
    pub held_back_timeout: Duration,
}

impl Default for QuerySettings {
    /// Returns 3 s, 1,000 states, events or ids, 30 s, 30 s.
    fn default() -> Self {
        Self {
            refresh_interval: Duration::from_secs(3),
            page_size: 1_000,
            max_back_off: Duration::from_secs(30),
            held_back_timeout: Duration::from_secs(30),
        }
    }
}

impl QuerySettings {
    /// Returns the same value, looking again after this time.
    #[must_use]
    pub fn with_refresh_interval(mut self, refresh_interval: Duration) -> Self {
        self.refresh_interval = refresh_interval;
        self
    }

    /// Returns the same with pages of this many; 0 counts as 1.
    #[must_use]
    pub fn with_page_size(mut self, page_size: usize) -> Self {
        self.page_size = page_size.max(1);
        self
    }

    /// Returns the same with no longer delay after trouble.
    #[must_use]
    pub fn with_max_back_off(mut self, max_back_off: Duration) -> Self {
        self.max_back_off = max_back_off;
        self
    }

    /// Returns the same with no longer wait for what a transaction under way holds back.
    #[must_use]
    pub fn with_held_back_timeout(mut self, held_back_timeout: Duration) -> Self {
        self.held_back_timeout = held_back_timeout;
        self
    }
}
