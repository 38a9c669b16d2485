//! Reads events as they are stored, from an offset on, and says which it was shown.

use std::ops::RangeInclusive;
use std::time::Duration;

use actix_persistence::Persistence;
use actix_persistence::query::{
    EventOffset, EventQuery, EventSelection, QueryError, QuerySettings,
};
use anyhow::{Context, anyhow};
use fastrand::Rng;
use futures_util::stream::{StreamExt, select_all};
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

use super::writing::{THIRD, Ticked};
use crate::Line;
use crate::workers::{Told, count, tell};

/// The time for which live queries are asked before a look whether the process is to end.
const LIVE_WAIT: Duration = Duration::from_millis(20);
/// A reader is begun anew at its offset after one in so many events.
const BEGUN_ANEW: u32 = 100;
/// The delay after an error that waiting cures.
const AFTER_TROUBLE: Duration = Duration::from_millis(50);

/// A reader, from an offset on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// The number of the reader.
    pub(crate) number: usize,
    /// The first and the last slice, both inclusive.
    pub(crate) slices: (u16, u16),
    /// True if it reads those with the tag [`THIRD`] only.
    pub(crate) of_tag: bool,
    /// The text of the offset.
    pub(crate) offset: String,
}

/// An event that a reader was shown, and the offset after it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Shown {
    pub(crate) reader: usize,
    pub(crate) id: String,
    pub(crate) nr: i64,
    pub(crate) offset: String,
}

impl Reading {
    fn selection(&self) -> EventSelection {
        let slices: RangeInclusive<u16> = self.slices.0..=self.slices.1;
        let selection = EventSelection::all().of_slices(slices);
        match self.of_tag {
            true => selection.with_tag(THIRD),
            false => selection,
        }
    }

    fn offset(&self) -> anyhow::Result<EventOffset> {
        let text = &self.offset;
        text.parse()
            .with_context(|| format!("{text:?} was the text of an offset"))
    }
}

/// Follows what is stored until it is told to end, and then reads until there is no more.
pub(super) async fn read(
    persistence: &Persistence,
    mut readings: Vec<Reading>,
    seed: u64,
    told: &Told,
) -> anyhow::Result<()> {
    let mut rng = Rng::with_seed(seed);
    let settings = QuerySettings::default()
        .with_page_size(rng.usize(1..=60))
        .with_max_back_off(Duration::from_millis(200))
        .with_refresh_interval(Duration::from_millis(rng.u64(1..=50)));
    let queries = persistence.event_queries_with(None, settings)?;
    while !told.is_told() {
        follow(&queries, &mut readings, &mut rng, told).await?;
    }
    for reading in &mut readings {
        while !ends(&queries, reading).await? {
            sleep(AFTER_TROUBLE).await;
        }
    }
    Ok(())
}

/// Takes what live queries return, for a while.
async fn follow(
    queries: &EventQuery,
    readings: &mut [Reading],
    rng: &mut Rng,
    told: &Told,
) -> anyhow::Result<()> {
    let mut streams = Vec::new();
    for (place, reading) in readings.iter().enumerate() {
        let stream = queries.events::<Ticked>(reading.selection(), reading.offset()?);
        streams.push(stream.map(move |event| (place, event)).boxed());
    }
    let mut all = select_all(streams);
    while !told.is_told() && rng.u32(..BEGUN_ANEW) > 0 {
        let Ok(next) = timeout(LIVE_WAIT, all.next()).await else {
            continue;
        };
        let (place, event) = next.ok_or_else(|| anyhow!("all live queries have ended"))?;
        let event = event.context("a live query failed")?;
        let (id, nr) = (event.persistence_id.to_string(), event.sequence_nr);
        show(&mut readings[place], id, nr, &event.offset);
    }
    Ok(())
}

/// Takes what a query returns until it ends; returns false after trouble that waiting cures.
async fn ends(queries: &EventQuery, reading: &mut Reading) -> anyhow::Result<bool> {
    let mut events = queries.current_events::<Ticked>(reading.selection(), reading.offset()?);
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                let (id, nr) = (event.persistence_id.to_string(), event.sequence_nr);
                show(reading, id, nr, &event.offset);
            }
            Err(QueryError::Store(error)) if error.kind().is_transient() => {
                count("reads begun again");
                return Ok(false);
            }
            Err(error) => return Err(error).context("a query failed"),
        }
    }
    Ok(true)
}

/// Says what was shown, and goes on after it, from the text of the offset.
fn show(reading: &mut Reading, id: String, nr: u64, offset: &EventOffset) {
    reading.offset = offset.to_string();
    let shown = Shown {
        reader: reading.number,
        id,
        nr: nr as i64,
        offset: reading.offset.clone(),
    };
    let other = serde_json::to_value(shown).expect("what was shown is JSON");
    tell(&Line::Other { other });
}
