//! The plan of a run: which sides are measured of which work, in which order.

use super::measurements::Measurement;
use super::rows::{Backend, Row};

/// The sides of one kind of work on one database, which are measured in turn.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Series {
    pub(super) work: &'static str,
    pub(super) backend: Backend,
    /// The baselines, then ours.
    pub(super) sides: Vec<&'static str>,
}

impl Series {
    /// Returns the argument of the program that measures.
    pub(super) fn argument(&self) -> String {
        let sides = self.sides.join(",");
        format!("{}@{}={sides}", self.work, self.backend)
    }

    /// Returns whether a measurement belongs to the series.
    pub(super) fn has(&self, measurement: &Measurement) -> bool {
        measurement.work == self.work
            && measurement.backend == self.backend.to_string()
            && self.sides.contains(&&*measurement.side)
    }
}

/// Returns what has to be measured for some rows: each side once.
pub(super) fn series(rows: &[Row]) -> Vec<Series> {
    let mut plan = Vec::<Series>::new();
    for row in rows {
        let index = plan
            .iter()
            .position(|series| (series.work, series.backend) == (row.work, row.backend));
        let index = index.unwrap_or_else(|| {
            plan.push(Series {
                work: row.work,
                backend: row.backend,
                sides: Vec::new(),
            });
            plan.len() - 1
        });
        let sides = &mut plan[index].sides;
        for side in row.baseline.sides.iter().chain([&row.side]) {
            if !sides.contains(side) {
                sides.push(side);
            }
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::super::rows::{Choice, rows};
    use super::*;

    #[test]
    fn rows_of_one_work_share_what_is_measured() {
        let mut rows = rows(Choice::All);
        rows.retain(|row| (row.work, row.backend) == ("persist-1000", Backend::Postgres));
        assert_eq!(rows.len(), 3);
        let plan = series(&rows);
        let [series] = plan.as_slice() else {
            panic!("{plan:?}");
        };
        assert_eq!(
            series.argument(),
            "persist-1000@postgres=group-commit,group-commit-2,actors,singles,batches"
        );
    }

    #[test]
    fn every_row_finds_its_sides_in_the_plan() {
        let rows = rows(Choice::All);
        let plan = series(&rows);
        for row in &rows {
            let mut of_row = plan
                .iter()
                .filter(|series| (series.work, series.backend) == (row.work, row.backend));
            let series = of_row.next().unwrap();
            assert!(of_row.next().is_none(), "{row:?}");
            assert!(series.sides.contains(&row.side));
            assert!(
                row.baseline
                    .sides
                    .iter()
                    .all(|side| series.sides.contains(side))
            );
        }
    }
}
