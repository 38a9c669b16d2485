//! Sums up a run, for programs and for people.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The sum of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The name of the kind.
    pub kind: String,
    /// The backend that it ran on.
    pub backend: String,
    /// The number of repetitions of what the kind repeats: kills, lives, histories.
    pub cycles: u64,
    /// The number of acknowledged writes.
    pub acknowledged: u64,
    /// The number of them that were lost.
    pub lost: u64,
    /// The number of sentences that say what is wrong, the lost ones included.
    pub violations: u64,
    /// The seed of all its decisions.
    pub seed: u64,
    /// The seconds that it took.
    pub seconds: u64,
    /// The other figures that the kind counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, u64>,
    /// The first of the sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<String>,
    /// True if it was interrupted: what it had not yet checked is not checked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            backend,
            cycles,
            acknowledged,
            lost,
            violations,
            seed,
            seconds,
            ..
        } = self;
        write!(
            f,
            "{kind} on {backend}: {cycles} cycles, {acknowledged} acknowledged, {lost} lost, {violations} violations, \
             seed {seed}, {seconds} s"
        )?;
        for (name, count) in &self.figures {
            write!(f, ", {count} {name}")?;
        }
        if self.interrupted {
            write!(f, ", interrupted")?;
        }
        Ok(())
    }
}
