//! The settings for events that two writers stored at the same time.

/// The check of replays of a journal for overlapping writers, as Akka's `replay-filter`.
///
/// A journal with a unique key and epochs cannot hold such events; the filter is for stores that were filled by other
/// programs, or damaged. A journal that has several events with one number must return them in one page, because the
/// next page begins at the next number.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayFilterSettings {
    /// The reaction to overlapping writers.
    pub mode: ReplayFilterMode,
    /// The number of events that are held back so that one can still be discarded; 0 counts as 1.
    pub window_size: usize,
    /// The number of replaced writers that are remembered; 0 counts as 1.
    pub max_old_writers: usize,
    /// True if each event is logged, at level debug, with its number and writer.
    pub debug: bool,
}

/// The reaction to overlapping writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ReplayFilterMode {
    /// The filter logs a warning for each issue, and leaves out the events of the older writer; Akka's default.
    RepairByDiscardOld,
    /// The recovery fails; the default, because an event that was stored is never left out unasked.
    #[default]
    Fail,
    /// The filter logs a warning for each issue, and every event is applied.
    Warn,
    /// The filter makes no check, and every event is applied.
    Off,
}

impl Default for ReplayFilterSettings {
    /// Fails, with Akka's sizes: 100 events, 10 writers.
    fn default() -> Self {
        Self {
            mode: ReplayFilterMode::default(),
            window_size: 100,
            max_old_writers: 10,
            debug: false,
        }
    }
}
