//! The list of projections.

use actix_persistence::Builder;
use anyhow::Context;

use super::place::{Journal, Place};
use super::standing::Standing;
use crate::outcome::Outcome;
use crate::output::{say_json, say_table};

/// The arguments of `list`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,
    /// The plugin id of the journal of their events, to tell by what time they are behind.
    #[arg(long, value_name = "PLUGIN-ID")]
    journal: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const TITLES: [&str; 10] = [
    "NAME", "VERSION", "LIVE", "SHARES", "MEMBERS", "PAUSED", "HALTED", "PARKED", "REACHED",
    "BEHIND",
];

pub(super) fn run(builder: Builder, arguments: Arguments) -> anyhow::Result<Outcome> {
    let journal = Journal::if_named(arguments.journal);
    arguments.place.run(builder, &journal, async |opened| {
        let newest = opened.newest().await?;
        let keys = opened.projections.keys().await;
        let mut standings = Vec::new();
        for key in keys.context("could not list the projections")? {
            let projection = opened.projections.projection(key.clone());
            let record = projection.record().await;
            // One that was removed meanwhile is left out.
            if let Some(record) = record.with_context(|| format!("could not read {key}"))? {
                standings.push(Standing::new(&key, &record, newest.as_ref()));
            }
        }
        if arguments.json {
            say_json(&standings)?;
        } else if standings.is_empty() {
            eprintln!("there is no projection in this offset store");
        } else {
            let rows: Vec<_> = standings.iter().map(row).collect();
            say_table(TITLES, &rows)?;
            if newest.is_none() {
                eprintln!("add --journal to see by what time those of its events are behind");
            }
        }
        Ok(Outcome::Done)
    })
}

fn row(standing: &Standing) -> [String; 10] {
    let yes = |is: bool| if is { "yes" } else { "-" }.to_owned();
    let number = |number: u64| match number {
        0 => "-".to_owned(),
        number => number.to_string(),
    };
    let reached = standing.reached_time.clone();
    [
        standing.name.clone(),
        standing.version.to_string(),
        yes(standing.live),
        standing.shares.to_string(),
        standing.members.len().to_string(),
        yes(standing.paused),
        number(standing.halted as u64),
        number(standing.parked),
        reached.unwrap_or_else(|| "-".to_owned()),
        standing.behind(),
    ]
}
