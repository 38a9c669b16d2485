//! Changes of a projection as a whole.

use actix_persistence::Builder;
use actix_persistence::projection::StoredProjection;
use anyhow::Context;

use super::Only;
use super::named::full;
use super::place::Journal;
use crate::outcome::Outcome;
use crate::output::say;

pub(super) fn pause(builder: Builder, only: Only) -> anyhow::Result<Outcome> {
    change(builder, only, async |projection| {
        let key = full(projection.key());
        let paused = projection.pause().await;
        paused.with_context(|| format!("could not pause {key}"))?;
        say(format_args!(
            "{key} is paused; processes notice it at their next look"
        ))
    })
}

pub(super) fn resume(builder: Builder, only: Only) -> anyhow::Result<Outcome> {
    change(builder, only, async |projection| {
        let key = full(projection.key());
        let resumed = projection.resume().await;
        resumed.with_context(|| format!("could not resume {key}"))?;
        say(format_args!(
            "{key} is resumed; processes notice it at their next look"
        ))
    })
}

pub(super) fn divide(builder: Builder, only: Only, shares: u16) -> anyhow::Result<Outcome> {
    change(builder, only, async |projection| {
        let key = full(projection.key());
        let divided = projection.divide(shares).await;
        divided.with_context(|| format!("could not divide {key}"))?;
        say(format_args!("{key} has {shares} shares"))
    })
}

pub(super) fn remove(builder: Builder, only: Only, yes: bool) -> anyhow::Result<Outcome> {
    let Only { name, place } = only;
    place.run(builder, &Journal::NotNeeded, async |opened| {
        let projection = name.find(&opened.projections).await?;
        let key = full(projection.key());
        if !yes {
            let record = projection.record().await?;
            let record = record.with_context(|| format!("{key} was removed meanwhile"))?;
            let live = if record.live { ", which is live" } else { "" };
            let (shares, parked) = (record.shares.len(), record.parked);
            eprintln!(
                "nothing was done: {key}{live}, would be removed for good, with the progress of {shares} shares, {parked} \
                 parked ids and all that it has skipped; its read model stays"
            );
            if !record.members.is_empty() {
                let members = record.members.len();
                eprintln!("{members} processes run it; they would wait until it is started anew");
            }
            eprintln!("add --yes to do it");
            return Ok(Outcome::Refused);
        }
        let removed = projection.remove().await;
        removed.with_context(|| format!("could not remove {key}"))?;
        say(format_args!("{key} is removed; its read model stays"))?;
        Ok(Outcome::Done)
    })
}

fn change(
    builder: Builder,
    only: Only,
    change: impl AsyncFnOnce(&StoredProjection) -> anyhow::Result<()>,
) -> anyhow::Result<Outcome> {
    let Only { name, place } = only;
    place.run(builder, &Journal::NotNeeded, async |opened| {
        let projection = name.find(&opened.projections).await?;
        change(&projection).await?;
        Ok(Outcome::Done)
    })
}
