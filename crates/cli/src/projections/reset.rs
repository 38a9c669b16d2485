//! Handling everything after a place again.

use std::fmt;

use actix_persistence::Builder;
use actix_persistence::projection::{ProjectionProgress, ResetError, StoredProjection};
use actix_persistence::query::{EventOffset, StateOffset};
use anyhow::{Context, bail};

use super::Only;
use super::named::full;
use super::place::{Journal, Opened};
use crate::moment::Moment;
use crate::outcome::Outcome;
use crate::output::say;

/// The arguments of `reset`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    only: Only,
    #[command(flatten)]
    to: To,
    /// The plugin id of the journal in which a time is looked for, if it is not the default one.
    #[arg(long, value_name = "PLUGIN-ID")]
    journal: Option<String>,
    /// Reset it.
    #[arg(long)]
    yes: bool,
}

/// The place after which it continues.
#[derive(Clone, clap::Args)]
#[group(required = true, multiple = false)]
struct To {
    /// Continue at the start of everything.
    #[arg(long)]
    to_start: bool,
    /// Continue after this offset, as `show` prints it.
    #[arg(long, value_name = "TEXT")]
    to_offset: Option<String>,
    /// Continue with the events that were written at this moment or later, in UTC: 2026-01-31 or 2026-01-31T12:00:00Z. Some
    /// of up to two minutes before it come as well, because clocks differ.
    #[arg(long, value_name = "MOMENT")]
    to_time: Option<Moment>,
}

/// An offset of any kind.
enum AnyOffset {
    Events(EventOffset),
    States(StateOffset),
}

pub(super) fn run(builder: Builder, arguments: Arguments) -> anyhow::Result<Outcome> {
    let Only { name, place } = arguments.only;
    // The parser does not see it beside another place.
    if arguments.journal.is_some() && arguments.to.to_time.is_none() {
        eprintln!("nothing was done: --journal is for --to-time only");
        return Ok(Outcome::Refused);
    }
    let journal = match arguments.to.to_time {
        Some(_) => Journal::Needed(arguments.journal),
        None => Journal::NotNeeded,
    };
    place.run(builder, &journal, async |opened| {
        let projection = name.find(&opened.projections).await?;
        let key = full(projection.key());
        let record = projection.record().await?;
        let record = record.with_context(|| format!("{key} was removed meanwhile"))?;
        let progress = ProjectionProgress::new(&record, std::time::Instant::now());
        let offset = arguments.to.offset(opened, &progress).await;
        let fits = offset.and_then(|offset| {
            offset.check(&progress)?;
            Ok(offset)
        });
        let offset = fits.with_context(|| format!("could not reset {key}; nothing was done"))?;
        if !arguments.yes {
            eprintln!(
                "nothing was done: {key} would continue {offset}, and its handler would get everything from there on, again \
                 or for the first time; what it has stored stays, so empty its read model after it, before you resume it, where that matters"
            );
            if record.parked > 0 {
                eprintln!("{} parked ids would be forgotten, with what waits", record.parked);
            }
            if !record.paused && !record.members.is_empty() {
                let members = record.members.len();
                eprintln!("{members} processes run it; pause it first, and wait until `show` names no holder");
            }
            eprintln!("add --yes to do it");
            return Ok(Outcome::Refused);
        }
        let reset = offset.reset(&projection).await;
        reset.with_context(|| format!("could not reset {key}"))?;
        say(format_args!("{key} continues {offset}"))?;
        Ok(Outcome::Done)
    })
}

impl To {
    async fn offset(
        &self,
        opened: &Opened,
        progress: &ProjectionProgress,
    ) -> anyhow::Result<AnyOffset> {
        match (&self.to_offset, self.to_time, &opened.events) {
            (Some(text), ..) => AnyOffset::parse(text),
            (None, Some(moment), Some(events)) => {
                progress.check(&opened.newest().await?.unwrap_or_default())?;
                let offset = events.offset_at(moment.into()).await;
                let offset = offset.context("could not find the moment in the journal")?;
                Ok(AnyOffset::Events(offset))
            }
            _ => Ok(AnyOffset::Events(EventOffset::start())),
        }
    }
}

impl AnyOffset {
    fn parse(text: &str) -> anyhow::Result<Self> {
        if let Ok(offset) = text.parse() {
            return Ok(Self::Events(offset));
        }
        match text.parse() {
            Ok(offset) => Ok(Self::States(offset)),
            Err(_) => bail!("{text:?} is no offset; `show` prints those of the shares"),
        }
    }

    fn check(&self, progress: &ProjectionProgress) -> Result<(), ResetError> {
        match self {
            Self::Events(offset) => progress.check(offset),
            Self::States(offset) => progress.check(offset),
        }
    }

    async fn reset(&self, projection: &StoredProjection) -> Result<(), ResetError> {
        match self {
            Self::Events(offset) => projection.reset(offset).await,
            Self::States(offset) => projection.reset(offset).await,
        }
    }
}

impl fmt::Display for AnyOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Events(offset) => offset.to_string(),
            Self::States(offset) => offset.to_string(),
        };
        match &*text {
            "" => f.write_str("at the start"),
            text => write!(f, "after {text}"),
        }
    }
}
