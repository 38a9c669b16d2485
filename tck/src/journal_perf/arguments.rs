//! The arguments of a bench target.

use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use super::Scale;

/// The amount of work without `--bench`.
const TEST: (u64, usize) = (100, 1);

/// Measures a journal, and checks what it stored and reads.
#[derive(Parser)]
#[command(disable_version_flag = true)]
pub(super) struct Arguments {
    /// Measure only works whose names contain one of these texts.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Take filters as whole names.
    #[arg(long)]
    exact: bool,
    /// Leave out works whose names contain this text; may be repeated.
    #[arg(long, value_name = "FILTER")]
    skip: Vec<String>,
    /// List the works, and measure nothing.
    #[arg(long)]
    pub(super) list: bool,
    /// The number of events of a round.
    #[arg(long, value_name = "N")]
    events: Option<NonZero<u64>>,
    /// The number of rounds, without the one to warm up.
    #[arg(long, value_name = "N")]
    rounds: Option<NonZero<usize>>,
    /// The longest time of a round, in seconds.
    #[arg(long, value_name = "SECONDS")]
    limit: Option<NonZero<u64>>,
    /// Write a list with an object for each work to this file.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Measure; without it, which only `cargo bench` passes, a short test is made of it.
    #[arg(long)]
    bench: bool,

    // What runners of tests pass.
    #[arg(long, hide = true)]
    ignored: bool,
    #[arg(long, hide = true)]
    nocapture: bool,
    #[arg(long, hide = true)]
    format: Option<String>,
}

impl Arguments {
    /// Returns whether a work of this name is to be measured.
    pub(super) fn select(&self, name: &str) -> bool {
        let fits = |filter: &String| {
            if self.exact {
                name == filter
            } else {
                name.contains(filter)
            }
        };
        let wanted = self.filters.is_empty() || self.filters.iter().any(fits);
        // No work is ignored, so a runner that asks for the ignored ones gets none.
        wanted && !self.skip.iter().any(fits) && !self.ignored
    }

    /// Returns what the arguments say, and for the rest what the program says.
    pub(super) fn scale(&self, program: Scale) -> Scale {
        let (events, rounds) = if self.bench {
            (program.events, program.rounds)
        } else {
            TEST
        };
        Scale {
            events: self.events.map_or(events, NonZero::get),
            rounds: self.rounds.map_or(rounds, NonZero::get),
            round_limit: self.limit.map_or(program.round_limit, |seconds| {
                Duration::from_secs(seconds.get())
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Arguments {
        Arguments::try_parse_from([&["journal"], arguments].concat()).unwrap()
    }

    fn selected(arguments: &[&str]) -> Vec<&'static str> {
        let arguments = parsed(arguments);
        let mut names = vec!["persist", "persist_all", "proxied::persist", "recovering"];
        names.retain(|name| arguments.select(name));
        names
    }

    #[test]
    fn filters_are_parts_of_names_or_whole_names() {
        assert_eq!(selected(&[]).len(), 4);
        assert_eq!(
            selected(&["--bench", "persist"]),
            ["persist", "persist_all", "proxied::persist"]
        );
        assert_eq!(
            selected(&["_all", "recover"]),
            ["persist_all", "recovering"]
        );
        assert_eq!(selected(&["persist", "--exact"]), ["persist"]);
        assert_eq!(
            selected(&["persist", "--skip", "proxied", "--skip", "_all"]),
            ["persist"]
        );
    }

    #[test]
    fn a_runner_that_asks_for_ignored_works_gets_none() {
        let none: [&str; 0] = [];
        assert_eq!(
            selected(&["--list", "--format", "terse", "--ignored"]),
            none
        );
    }

    #[test]
    fn arguments_stand_above_the_program_and_only_a_bench_is_long() {
        let program = Scale::default();
        let scale = parsed(&["--bench"]).scale(program);
        assert_eq!((scale.events, scale.rounds), (10_000, 10));
        assert_eq!(scale.round_limit, Duration::from_secs(60));
        let scale = parsed(&[]).scale(program);
        assert_eq!((scale.events, scale.rounds), TEST);
        for bench in [&["--bench"] as &[_], &[]] {
            let given = ["--events", "7", "--rounds", "3", "--limit", "9"];
            let scale = parsed(&[bench, &given].concat()).scale(program);
            assert_eq!((scale.events, scale.rounds), (7, 3));
            assert_eq!(scale.round_limit, Duration::from_secs(9));
        }
    }

    #[test]
    fn no_events_and_no_rounds_are_refused() {
        for argument in ["--events", "--rounds", "--limit"] {
            assert!(Arguments::try_parse_from(["journal", argument, "0"]).is_err());
        }
    }
}
