//! The table for a person, ratios first.

use super::outcome::Outcome;

/// Returns the table of a run.
pub(super) fn table(outcomes: &[Outcome]) -> String {
    let mut table = String::from(
        "ratio  of rounds    target  floor  verdict       work           backend    events/s  baseline/s  baseline\n",
    );
    let least =
        |least: Option<f64>| least.map_or_else(|| "-".to_owned(), |one| format!("{one:.2}"));
    for one in outcomes {
        let row = &one.row;
        table += &format!(
            "{:>5.2}  {:>5.2}-{:<5.2}  {:>6}  {:>5}  {:<12}  {:<13}  {:<8}  {:>9.0}  {:>10.0}  {}\n",
            one.ratio(),
            one.spread.0,
            one.spread.1,
            least(row.target),
            least(row.floor),
            one.verdict(),
            row.work,
            row.backend,
            one.rate,
            one.baseline_rate,
            row.baseline.name,
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::outcome::tests::{outcome, row};
    use super::*;

    #[test]
    fn a_line_shows_the_ratio_what_it_should_be_and_the_rates() {
        let outcomes = [
            outcome(row("persist-1000", None, Some(0.75)), 0.45),
            outcome(row("replay-one", Some(0.4), Some(0.7)), 1.125),
            outcome(row("queue", Some(0.5), None), 0.25),
        ];
        let expected = "\
ratio  of rounds    target  floor  verdict       work           backend    events/s  baseline/s  baseline
 0.45   0.23-0.90     0.75      -  below target  persist-1000   postgres      54000      120000  the better of two
 1.12   0.56-2.25     0.70   0.40  reached       replay-one     postgres     135000      120000  the better of two
 0.25   0.12-0.50        -   0.50  BELOW FLOOR   queue          postgres      30000      120000  the better of two
";
        assert_eq!(table(&outcomes), expected);
    }
}
