//! The sums of the long runs of the torture, from their ledger into the page that shows them.

use std::collections::BTreeMap;

use serde_json::Value;

/// The ledger in which the torture enters its long runs.
pub(crate) const LEDGER: &str = "docs/reliability/ledger.jsonl";

const HEAD: &str = "\
| Kind | Backend | Runs | Hours | Cycles | Acknowledged | Lost | Violations | Last |
|---|---|--:|--:|--:|--:|--:|--:|---|
";

/// The sums over all runs of one kind of torture on one backend.
#[derive(Default)]
struct Sums {
    runs: u64,
    seconds: u64,
    cycles: u64,
    acknowledged: u64,
    lost: u64,
    violations: u64,
    /// The date of the last run.
    last: String,
}

/// Returns the table of the sums over a ledger.
pub(crate) fn table(ledger: &str) -> String {
    let mut all = BTreeMap::<(String, String), Sums>::new();
    // A line that a torn write has left counts for nothing.
    let runs = ledger
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for run in runs {
        let text = |name: &str| run[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| run[name].as_u64().unwrap_or_default();
        let sums = all.entry((text("kind"), text("backend"))).or_default();
        sums.runs += 1;
        sums.seconds += number("seconds");
        sums.cycles += number("cycles");
        sums.acknowledged += number("acknowledged");
        sums.lost += number("lost");
        sums.violations += number("violations");
        sums.last = sums
            .last
            .clone()
            .max(text("date").chars().take(10).collect());
    }
    let mut table = HEAD.to_owned();
    for ((kind, backend), sums) in all {
        let Sums {
            runs,
            seconds,
            cycles,
            acknowledged,
            lost,
            violations,
            last,
        } = sums;
        let hours = seconds as f64 / 3600.0;
        table += &format!(
            "| `{kind}` | {backend} | {runs} | {hours:.1} | {cycles} | {acknowledged} | {lost} | {violations} | {last} |\n"
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_kind_on_a_backend_are_added_up() {
        let run = |kind: &str, date: &str| {
            format!(
                "{{\"date\":\"{date}T01:02:03Z\",\"commit\":\"abc\",\"kind\":\"{kind}\",\"backend\":\"sqlite\",\
                 \"cycles\":10,\"acknowledged\":100,\"lost\":0,\"violations\":1,\"seed\":1,\"seconds\":1800}}\n"
            )
        };
        let ledger = [run("fight", "2026-11-22"), run("kill-app", "2026-11-22")].concat()
            + &run("fight", "2026-11-21")
            + "{\"kind\":\"fi";
        let expected = format!(
            "{HEAD}\
             | `fight` | sqlite | 2 | 1.0 | 20 | 200 | 0 | 2 | 2026-11-22 |\n\
             | `kill-app` | sqlite | 1 | 0.5 | 10 | 100 | 0 | 1 | 2026-11-22 |\n"
        );
        assert_eq!(table(&ledger), expected);
    }
}
