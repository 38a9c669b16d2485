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
    /// The projections that had not ended, such as `balances@2`: a handler was at work, or the offset store had not answered.
    pub busy_projections: Vec<String>,
    /// The stores that had not answered everything, such as `journal 'sqlite'`.
    pub busy_stores: Vec<String>,
}

impl StopReport {
    pub(crate) fn new(
        actors: usize,
        mut unfinished: Vec<UnfinishedActor>,
        busy_projections: Vec<String>,
        busy_stores: Vec<String>,
    ) -> Self {
        unfinished.sort_by(|one, other| one.persistence_id.cmp(&other.persistence_id));
        Self {
            actors,
            unfinished,
            busy_projections,
            busy_stores,
        }
    }

    /// Returns whether everything was done.
    pub fn is_complete(&self) -> bool {
        self.unfinished.is_empty() && self.busy().next().is_none()
    }

    /// Returns the names of what had not ended beside actors.
    fn busy(&self) -> impl Iterator<Item = String> {
        let projections = self.busy_projections.iter();
        let projections = projections.map(|key| format!("projection '{key}'"));
        projections.chain(self.busy_stores.iter().cloned())
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
        for (nr, busy) in self.busy().enumerate() {
            let before = if nr == 0 { "still busy: " } else { "" };
            write!(f, ", {before}{busy}")?;
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
        let report = StopReport::new(3, Vec::new(), Vec::new(), Vec::new());
        assert!(report.is_complete());
        assert_eq!(report.to_string(), "3 of 3 actors stopped");
    }

    #[test]
    fn busy_projections_and_stores_are_named() {
        let [words, journal] = ["words@2", "journal 'sqlite'"].map(|name| vec![name.to_owned()]);
        let report = StopReport::new(3, Vec::new(), words, journal);
        assert!(!report.is_complete());
        assert_eq!(
            report.to_string(),
            "3 of 3 actors stopped, still busy: projection 'words@2', journal 'sqlite'"
        );
    }
}
