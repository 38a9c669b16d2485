//! The result of a stop.

use std::fmt;

use actix_persistence_persistent_actor::UnfinishedActor;

/// The number of actors that a printed report names.
const NAMED: usize = 20;

/// The actors that ended before the deadline of [`Persistence::stop`](crate::Persistence::stop), and those that did
/// not.
///
/// Printed, it is one line if all is well, else a line more for each actor, up to twenty.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StopReport {
    /// The number of actors that were live.
    pub actors: usize,
    /// The actors that could not do everything, in the order of their persistence ids.
    pub unfinished: Vec<UnfinishedActor>,
    /// The stores that had not answered everything, such as `journal 'sqlite'`.
    pub busy_stores: Vec<String>,
}

impl StopReport {
    pub(crate) fn new(
        actors: usize,
        mut unfinished: Vec<UnfinishedActor>,
        busy_stores: Vec<String>,
    ) -> Self {
        unfinished.sort_by(|one, other| one.persistence_id.cmp(&other.persistence_id));
        Self {
            actors,
            unfinished,
            busy_stores,
        }
    }

    /// Returns whether everything was done.
    pub fn is_complete(&self) -> bool {
        self.unfinished.is_empty() && self.busy_stores.is_empty()
    }
}

impl fmt::Display for StopReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unfinished = self.unfinished.len();
        if unfinished == 0 {
            write!(f, "{0} of {0} actors stopped", self.actors)?;
        } else {
            write!(f, "{unfinished} of {} actors could not finish", self.actors)?;
        }
        if !self.busy_stores.is_empty() {
            write!(f, ", still busy: {}", self.busy_stores.join(", "))?;
        }
        for actor in self.unfinished.iter().take(NAMED) {
            write!(f, "\n  {actor}")?;
        }
        match unfinished.saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_one_line_if_all_is_well() {
        let report = StopReport::new(3, Vec::new(), Vec::new());
        assert!(report.is_complete());
        assert_eq!(report.to_string(), "3 of 3 actors stopped");
    }

    #[test]
    fn a_busy_store_is_named() {
        let report = StopReport::new(3, Vec::new(), vec!["journal 'sqlite'".to_owned()]);
        assert!(!report.is_complete());
        assert_eq!(
            report.to_string(),
            "3 of 3 actors stopped, still busy: journal 'sqlite'"
        );
    }
}
