//! A projection with its shares, and what it has skipped.

use std::time::Instant;

use actix_persistence::Builder;
use actix_persistence::projection::{Behind, ProjectionProgress, ProjectionRecord, ShareRecord};
use actix_persistence::query::EventOffset;
use anyhow::Context;
use serde::Serialize;

use super::Only;
use super::named::full;
use super::place::Journal;
use super::standing::{Standing, in_words};
use crate::moment::written;
use crate::outcome::Outcome;
use crate::output::{say, say_json};

/// The arguments of `show`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    only: Only,
    /// The plugin id of the journal of its events, to tell by what time it is behind.
    #[arg(long, value_name = "PLUGIN-ID")]
    journal: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The arguments of `skipped`.
#[derive(clap::Args)]
pub(crate) struct SkippedArguments {
    #[command(flatten)]
    only: Only,
    /// The most that is printed.
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    limit: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    standing: Standing,
    share: Vec<Share>,
}

/// A share as it is shown.
#[derive(Serialize)]
struct Share {
    nr: usize,
    /// The first and the last slice.
    slices: [u16; 2],
    /// The slices of each piece with the offset after which they continue.
    progress: Vec<Piece>,
    handled: u64,
    reached_time: Option<String>,
    caught_up: Option<bool>,
    holder: Option<String>,
    /// The seconds that are left of its lease.
    lease_seconds: Option<f64>,
    attempts: u32,
    halted: Option<String>,
}

#[derive(Serialize)]
struct Piece {
    slices: [u16; 2],
    offset: String,
}

pub(super) fn run(builder: Builder, arguments: Arguments) -> anyhow::Result<Outcome> {
    let journal = Journal::if_named(arguments.journal);
    let Only { name, place } = arguments.only;
    place.run(builder, &journal, async |opened| {
        let newest = opened.newest().await?;
        let projection = name.find(&opened.projections).await?;
        let key = projection.key();
        let record = projection.record().await;
        let record = record.with_context(|| format!("could not read {key}"))?;
        let record = record.with_context(|| format!("{key} was removed meanwhile"))?;
        let shown = Shown {
            standing: Standing::new(key, &record, newest.as_ref()),
            share: shares(&record, newest.as_ref()),
        };
        if arguments.json {
            say_json(&shown)?;
        } else {
            let name = full(key);
            shown.say(&name)?;
        }
        Ok(Outcome::Done)
    })
}

fn shares(record: &ProjectionRecord, newest: Option<&EventOffset>) -> Vec<Share> {
    let shares = record.shares.iter().enumerate();
    shares
        .map(|(nr, share)| Share::new(nr, share, newest))
        .collect()
}

impl Share {
    fn new(nr: usize, share: &ShareRecord, newest: Option<&EventOffset>) -> Self {
        let of_this = ProjectionRecord::new(false, vec![share.clone()], Vec::new());
        let progress = ProjectionProgress::new(&of_this, Instant::now());
        let pieces = share.progress.pieces().iter().map(|piece| Piece {
            slices: [*piece.slices.start(), *piece.slices.end()],
            offset: piece.offset.clone(),
        });
        let slices = share.progress.slices();
        let lease = share.lease.as_ref().filter(|lease| !lease.is_over());
        Self {
            nr,
            slices: [*slices.start(), *slices.end()],
            progress: pieces.collect(),
            handled: share.handled,
            reached_time: share.reached_time.map(written),
            caught_up: match super::standing::behind(&progress, newest) {
                Behind::Nothing => Some(true),
                Behind::By(_) => Some(false),
                _ => None,
            },
            holder: lease.map(|lease| lease.owner.to_string()),
            lease_seconds: lease.map(|lease| lease.left.as_secs_f64()),
            attempts: share.attempts,
            halted: share.halted.as_ref().map(ToString::to_string),
        }
    }

    fn say(&self) -> anyhow::Result<()> {
        let Self {
            nr,
            slices: [first, last],
            ..
        } = self;
        let holder = match (&self.holder, self.lease_seconds) {
            (Some(holder), Some(left)) => {
                let left = in_words(std::time::Duration::from_secs_f64(left));
                format!("held by {holder}, lease ends in {left}")
            }
            _ => "held by no process".to_owned(),
        };
        say(format_args!(
            "share {nr}, slices {first} to {last}: {holder}"
        ))?;
        let handled = self.handled;
        match &self.reached_time {
            Some(time) => say(format_args!("  handled {handled}, the last one of {time}"))?,
            None => say(format_args!("  handled {handled}"))?,
        }
        if self.attempts > 0 {
            say(format_args!(
                "  attempts since the last progress: {}",
                self.attempts
            ))?;
        }
        if let Some(reason) = &self.halted {
            say(format_args!("  halted: {reason}"))?;
        }
        for Piece {
            slices: [first, last],
            offset,
        } in &self.progress
        {
            let after = match &**offset {
                "" => "continues at the start".to_owned(),
                offset => format!("continues after {offset}"),
            };
            match self.progress.len() {
                1 => say(format_args!("  {after}"))?,
                _ => say(format_args!("  slices {first} to {last}: {after}"))?,
            }
        }
        Ok(())
    }
}

impl Shown {
    fn say(&self, name: &str) -> anyhow::Result<()> {
        let standing = &self.standing;
        let is = |is: bool, yes: &'static str, no: &'static str| if is { yes } else { no };
        let live = is(standing.live, "live", "not live");
        let paused = is(standing.paused, ", paused", "");
        let members = match standing.members.len() {
            0 => "no process runs it".to_owned(),
            1 => "1 process runs it".to_owned(),
            number => format!("{number} processes run it"),
        };
        say(format_args!("{name}: {live}{paused}; {members}"))?;
        if standing.parked > 0 {
            say(format_args!("parked ids: {}", standing.parked))?;
        }
        match standing.caught_up {
            Some(true) => say(format_args!("caught up with the journal"))?,
            Some(false) => say(format_args!("behind by {}", standing.behind()))?,
            None => {}
        }
        self.share.iter().try_for_each(Share::say)
    }
}

#[derive(Serialize)]
struct Skip {
    item: String,
    offset: String,
    reason: String,
    time: String,
}

pub(super) fn skipped(builder: Builder, arguments: SkippedArguments) -> anyhow::Result<Outcome> {
    let Only { name, place } = arguments.only;
    place.run(builder, &Journal::NotNeeded, async |opened| {
        let projection = name.find(&opened.projections).await?;
        let skipped = projection.skipped(arguments.limit).await;
        let skipped = skipped.with_context(|| format!("could not read {}", projection.key()))?;
        let skipped = skipped.into_iter().map(|skipped| Skip {
            item: skipped.item,
            offset: skipped.offset,
            reason: skipped.reason,
            time: written(skipped.timestamp),
        });
        let skipped: Vec<_> = skipped.collect();
        if arguments.json {
            say_json(&skipped)?;
        } else if skipped.is_empty() {
            eprintln!("nothing was skipped");
        } else {
            for Skip {
                item, reason, time, ..
            } in &skipped
            {
                say(format_args!("{time} {item}: {reason}"))?;
            }
        }
        Ok(Outcome::Done)
    })
}
