//! The standard output.

use std::fmt::Arguments;
use std::io::{self, Write};

use anyhow::Context;
use serde::Serialize;

/// Writes a line.
pub(crate) fn say(line: Arguments<'_>) -> anyhow::Result<()> {
    writeln!(io::stdout(), "{line}").context("could not write to the standard output")
}

/// Writes a value as JSON, on lines for people.
pub(crate) fn say_json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value).context("could not write JSON")?;
    say(format_args!("{text}"))
}

/// Writes rows under their titles, in columns.
pub(crate) fn say_table<const N: usize>(
    titles: [&str; N],
    rows: &[[String; N]],
) -> anyhow::Result<()> {
    let mut widths = titles.map(|title| title.chars().count());
    for row in rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = (*width).max(text.chars().count());
        }
    }
    let titles = titles.map(str::to_owned);
    for row in std::iter::once(&titles).chain(rows) {
        let columns = row.iter().zip(widths);
        let columns: Vec<_> = columns
            .map(|(text, width)| format!("{text:width$}"))
            .collect();
        say(format_args!("{}", columns.join("  ").trim_end()))?;
    }
    Ok(())
}
