//! Parked ids, and requests about them.

use actix_persistence::projection::{
    ParkedRequest, ProjectionRecord, ShareRecord, StoredProjection,
};
use actix_persistence::{Builder, PersistenceId};
use anyhow::Context;
use serde::Serialize;

use super::Only;
use super::named::full;
use super::place::Journal;
use crate::moment::written;
use crate::outcome::Outcome;
use crate::output::{say, say_json};

/// The arguments of `parked`.
#[derive(clap::Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    only: Only,
    /// The parked id whose items are printed; every parked id with its first item if none is given.
    #[arg(value_name = "PERSISTENCE-ID")]
    id: Option<String>,
    /// The most that is printed.
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    limit: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The parked ids that a request is about.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Ids {
    /// The parked ids.
    #[arg(value_name = "PERSISTENCE-ID")]
    ids: Vec<String>,
    /// Every id that is parked now.
    #[arg(long)]
    all: bool,
}

/// The arguments of `retry`.
#[derive(clap::Args)]
pub(crate) struct RetryArguments {
    #[command(flatten)]
    only: Only,
    #[command(flatten)]
    ids: Ids,
}

/// The arguments of `drop`.
#[derive(clap::Args)]
pub(crate) struct DropArguments {
    #[command(flatten)]
    only: Only,
    #[command(flatten)]
    ids: Ids,
    /// Skip only the first item of each id, and hand the others to the handler.
    #[arg(long)]
    first: bool,
    /// Skip it, for good.
    #[arg(long)]
    yes: bool,
}

#[derive(Serialize)]
struct Id {
    persistence_id: String,
    waiting: u64,
    first: String,
    reason: String,
    retries: u32,
    since: String,
    request: Option<&'static str>,
}

#[derive(Serialize)]
struct Item {
    item: String,
    offset: String,
    reason: Option<String>,
    time: String,
}

pub(super) fn list(builder: Builder, arguments: ListArguments) -> anyhow::Result<Outcome> {
    let Only { name, place } = arguments.only;
    let id = arguments.id.as_deref().map(parse).transpose()?;
    place.run(builder, &Journal::NotNeeded, async |opened| {
        let projection = name.find(&opened.projections).await?;
        match &id {
            None => {
                let ids = parked_ids(&projection, arguments.limit).await?;
                match arguments.json {
                    true => say_json(&ids)?,
                    false if ids.is_empty() => eprintln!("no id is parked"),
                    false => ids.iter().try_for_each(Id::say)?,
                }
                if ids.iter().any(|id| id.request.is_some())
                    && let Some(record) = projection.record().await?
                {
                    say_what_holds_up(&full(projection.key()), &record, |_| true);
                }
            }
            Some(id) => {
                let items = items(&projection, id, arguments.limit).await?;
                match arguments.json {
                    true => say_json(&items)?,
                    false => items.iter().try_for_each(Item::say)?,
                }
            }
        }
        Ok(Outcome::Done)
    })
}

pub(super) fn retry(builder: Builder, arguments: RetryArguments) -> anyhow::Result<Outcome> {
    let Only { name, place } = arguments.only;
    let ids = arguments.ids.parse()?;
    place.run(builder, &Journal::NotNeeded, async |opened| {
        let projection = name.find(&opened.projections).await?;
        ask(&projection, &ids, ParkedRequest::Retry).await
    })
}

pub(super) fn drop(builder: Builder, arguments: DropArguments) -> anyhow::Result<Outcome> {
    let Only { name, place } = arguments.only;
    let ids = arguments.ids.parse()?;
    let request = match arguments.first {
        true => ParkedRequest::DropFirst,
        false => ParkedRequest::DropAll,
    };
    place.run(builder, &Journal::NotNeeded, async |opened| {
        let projection = name.find(&opened.projections).await?;
        if arguments.yes {
            return ask(&projection, &ids, request).await;
        }
        let what = match arguments.first {
            true => "the first item of each of these ids",
            false => "every item of these ids that waits",
        };
        eprintln!("nothing was done: {what} would be skipped for good:");
        for id in parked_ids(&projection, usize::MAX).await? {
            let is_meant = |meant: &PersistenceId| meant.as_str() == id.persistence_id;
            if ids.is_empty() || ids.iter().any(is_meant) {
                eprintln!("{id}");
            }
        }
        eprintln!("add --yes to do it");
        Ok(Outcome::Refused)
    })
}

/// Asks it for these ids, or for all for none.
async fn ask(
    projection: &StoredProjection,
    ids: &[PersistenceId],
    request: ParkedRequest,
) -> anyhow::Result<Outcome> {
    let key = full(projection.key());
    let all = [None];
    let some: Vec<_> = ids.iter().map(Some).collect();
    for id in if ids.is_empty() { &all[..] } else { &some } {
        let asked = match request {
            ParkedRequest::Retry => projection.retry(*id).await,
            ParkedRequest::DropFirst => projection.drop_first(*id).await,
            _ => projection.drop_all(*id).await,
        };
        let about = id.map_or_else(|| "all parked ids".to_owned(), ToString::to_string);
        asked.with_context(|| format!("could not ask {key} about {about}"))?;
        say(format_args!("{key} is asked to {} {about}", verb(request)))?;
    }
    let Some(record) = projection.record().await? else {
        return Ok(Outcome::Done);
    };
    if record.members.is_empty() {
        eprintln!("no process runs {key}: it is done once one does");
    }
    let is_about = |share: &ShareRecord| {
        let slices = share.progress.slices();
        ids.is_empty() || ids.iter().any(|id| slices.contains(&id.slice()))
    };
    say_what_holds_up(&key, &record, is_about);
    Ok(Outcome::Done)
}

/// Says for which of these shares no request is carried out, because nothing goes on with them.
fn say_what_holds_up(
    key: &str,
    record: &ProjectionRecord,
    is_about: impl Fn(&ShareRecord) -> bool,
) {
    if record.paused {
        eprintln!("{key} is paused: requests wait until it is resumed");
    }
    for (nr, share) in record.shares.iter().enumerate() {
        if share.halted.is_some() && is_about(share) {
            eprintln!(
                "share {nr} of {key} is halted: requests about its ids wait until {key} is resumed"
            );
        }
    }
}

fn verb(request: ParkedRequest) -> &'static str {
    match request {
        ParkedRequest::Retry => "retry",
        ParkedRequest::DropFirst => "drop the first item of",
        _ => "drop",
    }
}

async fn parked_ids(projection: &StoredProjection, limit: usize) -> anyhow::Result<Vec<Id>> {
    const PAGE: usize = 1_000;
    let mut found = Vec::new();
    let mut after = None;
    while found.len() < limit {
        let page = PAGE.min(limit - found.len());
        let parked = projection.parked(after.as_ref(), page).await;
        let parked = parked.with_context(|| format!("could not read {}", projection.key()))?;
        let is_last = parked.len() < page;
        after = parked.last().map(|last| last.persistence_id.clone());
        found.extend(parked.into_iter().map(|parked| Id {
            persistence_id: parked.persistence_id.to_string(),
            waiting: parked.waiting,
            first: parked.item,
            reason: parked.reason,
            retries: parked.attempts,
            since: written(parked.since),
            request: parked.request.map(verb),
        }));
        if is_last {
            break;
        }
    }
    Ok(found)
}

async fn items(
    projection: &StoredProjection,
    id: &PersistenceId,
    limit: usize,
) -> anyhow::Result<Vec<Item>> {
    let items = projection.parked_items(id, limit).await;
    let items = items.with_context(|| format!("could not read {}", projection.key()))?;
    if items.is_empty() {
        anyhow::bail!("{id} is not parked");
    }
    let items = items.into_iter().map(|item| Item {
        item: item.item,
        offset: item.offset,
        reason: item.reason,
        time: written(item.timestamp),
    });
    Ok(items.collect())
}

impl Ids {
    /// Returns the ids, none for all.
    fn parse(&self) -> anyhow::Result<Vec<PersistenceId>> {
        self.ids.iter().map(|id| parse(id)).collect()
    }
}

fn parse(id: &str) -> anyhow::Result<PersistenceId> {
    let id = PersistenceId::of_unique(id);
    id.validate()
        .with_context(|| format!("{id:?} is no persistence id; nothing was done"))?;
    Ok(id)
}

impl Id {
    fn say(&self) -> anyhow::Result<()> {
        say(format_args!("{self}"))
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            persistence_id,
            waiting,
            first,
            reason,
            retries,
            since,
            ..
        } = self;
        write!(
            f,
            "{persistence_id}: {waiting} waiting since {since}, retries: {retries}; {first}: {reason}"
        )?;
        match self.request {
            Some(request) => write!(f, "; is asked to {request}"),
            None => Ok(()),
        }
    }
}

impl Item {
    fn say(&self) -> anyhow::Result<()> {
        let Self { item, time, .. } = self;
        match &self.reason {
            Some(reason) => say(format_args!("{time} {item}: {reason}")),
            None => say(format_args!("{time} {item}")),
        }
    }
}
