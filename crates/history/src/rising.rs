//! The highest value up to a time.

/// Says of any time what the highest value was before it, and which line proves it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rising {
    /// Time, highest value until then, its line.
    points: Vec<(u64, u64, usize)>,
}

impl Rising {
    pub(crate) fn add(&mut self, at: u64, value: u64, line: usize) {
        self.points.push((at, value, line));
    }

    /// Prepares for questions. Must be called after the last `add` and before a question.
    pub(crate) fn settle(&mut self) {
        self.points.sort_unstable();
        let mut highest = (0, 0);
        self.points.retain_mut(|(_, value, line)| {
            let rises = *value > highest.0;
            if rises {
                highest = (*value, *line);
            }
            rises
        });
    }

    /// Returns the times at which it rose.
    pub(crate) fn times(&self) -> impl Iterator<Item = u64> {
        self.points.iter().map(|point| point.0)
    }

    /// Returns the highest value with a time below this one, and its line.
    pub(crate) fn before(&self, at: u64) -> Option<(u64, usize)> {
        let next = self.points.partition_point(|point| point.0 < at);
        let (_, value, line) = self.points.get(next.checked_sub(1)?)?;
        Some((*value, *line))
    }

    /// Returns the highest value with a time up to this one, or 0.
    pub(crate) fn up_to(&self, at: u64) -> u64 {
        at.checked_add(1)
            .map_or(self.points.last().map(|point| point.1), |after| {
                self.before(after).map(|(value, _)| value)
            })
            .unwrap_or(0)
    }
}
