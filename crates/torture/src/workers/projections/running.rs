//! Runs the projections, and manages them at random.

use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix_persistence::Persistence;
use actix_persistence::projection::{OnFailure, Projection, ProjectionSettings};
use actix_persistence::query::{EventOffset, EventSelection, StateOffset};
use actix_persistence::storage_api::{NUMBER_OF_SLICES, StorageError};
use anyhow::Context;
use fastrand::Rng;
use futures_util::TryStreamExt;
use tokio::time::{Instant, sleep};

use super::read_models::{AT_LEAST_ONCE, AtLeastOnce, CHANGES, Changes, ONCE, Once, refuse};
use super::writing::{THIRD, Ticked};
use super::{TALLIED, TALLY};
use crate::workers::kept::KeptState;
use crate::workers::{Told, count, fault};

/// A projection that has not got all advances within this time, on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The numbers of shares.
const SHARES: [u16; 4] = [1, 4, 2, 7];
/// The longest time between two changes.
const LONGEST_PAUSE: Duration = Duration::from_millis(120);
/// The numbers of items of a group.
const GROUPS: RangeInclusive<usize> = 1..=60;

/// Each of the projections.
const NAMES: [&str; 3] = [ONCE, AT_LEAST_ONCE, CHANGES];

/// Projects until it is told to end; changes something now and then.
pub(super) async fn project(
    persistence: &Persistence,
    lease: Duration,
    bad: Option<u64>,
    seed: u64,
    told: &Told,
) -> anyhow::Result<()> {
    let mut rng = Rng::with_seed(seed);
    fastrand::seed(rng.u64(..));
    refuse(bad);
    let parks = bad.is_some();
    let mut running = Vec::new();
    for name in NAMES {
        let projection = start(persistence, name, lease, parks, GROUPS, &mut rng)?;
        // Someone may have been killed who had paused it.
        hear("resume", projection.resume().await);
        running.push(projection);
    }
    while !told.is_told() {
        sleep(LONGEST_PAUSE.mul_f64(rng.f64())).await;
        let place = rng.usize(..running.len());
        match rng.u32(..12) {
            0 | 1 => {
                let shares = SHARES[rng.usize(..SHARES.len())];
                if hear("divide", running[place].divide(shares).await) {
                    count("divisions");
                }
            }
            2 => {
                if hear("pause", running[place].pause().await) {
                    count("pauses");
                    sleep(LONGEST_PAUSE.mul_f64(rng.f64())).await;
                }
                while !hear("resume", running[place].resume().await) && !told.is_told() {}
            }
            3 => {
                let name = NAMES[place];
                let next = start(persistence, name, lease, parks, GROUPS, &mut rng)?;
                // Two of one process, for a while.
                sleep(LONGEST_PAUSE.mul_f64(rng.f64())).await;
                std::mem::replace(&mut running[place], next).stop().await;
                count("clean stops");
            }
            4..=6 if parks => ask(&running[place], &mut rng).await,
            _ => {}
        }
    }
    for projection in running {
        projection.stop().await;
    }
    Ok(())
}

/// Asks for something about an id that is parked, or about all of them.
async fn ask(projection: &Projection, rng: &mut Rng) {
    let Ok(parked) = projection.parked(None, 100).await else {
        return;
    };
    if parked.is_empty() {
        return;
    }
    let id = &parked[rng.usize(..parked.len())].persistence_id;
    let id = (rng.u32(..4) > 0).then_some(id);
    let asked = match rng.u32(..8) {
        0 => projection.drop_all(id).await,
        1 | 2 => projection.drop_first(id).await,
        _ => projection.retry(id).await,
    };
    match asked {
        Err(error) if error.to_string().contains("is not parked") => {}
        asked => {
            if hear("ask about what is parked", asked) {
                count("requests about what is parked");
            }
        }
    }
}

/// Projects until all that is stored is projected.
pub(super) async fn finish(
    persistence: &Persistence,
    lease: Duration,
    parks: bool,
) -> anyhow::Result<()> {
    let queries = persistence.event_queries(None)?;
    let all = EventSelection::all().of_entity_type(TALLY);
    let mut events = queries.current_event_records(all, EventOffset::start());
    while events.try_next().await?.is_some() {}
    let newest = events.offset().clone();
    let queries = persistence.state_queries(None)?;
    let all = 0..=NUMBER_OF_SLICES - 1;
    let mut changes =
        queries.current_changes_by_slices::<KeptState>(TALLIED, all, StateOffset::start());
    let mut last = StateOffset::start();
    while let Some(change) = changes.try_next().await? {
        last = change.offset().clone();
    }
    let mut rng = Rng::with_seed(0);
    let mut running = Vec::new();
    for name in NAMES {
        let large = *GROUPS.end()..=*GROUPS.end();
        running.push(start(persistence, name, lease, parks, large, &mut rng)?);
    }
    for projection in running {
        let is_done = async |within| match projection.key().name() {
            CHANGES => projection.applied(&last, within).await,
            _ => projection.applied(&newest, within).await,
        };
        let is_done = async |within| {
            is_done(within).await.map_err(|error| error.to_string())?;
            match projection.parked(None, 1).await {
                Ok(parked) if parked.is_empty() => Ok(()),
                Ok(parked) => {
                    let _ = projection.retry(None).await;
                    sleep(LONGEST_PAUSE).await;
                    Err(format!("{parked:?}"))
                }
                Err(error) => Err(error.to_string()),
            }
        };
        let (mut reached, mut advanced) = (None, Instant::now());
        while let Err(error) = is_done(Duration::from_millis(500)).await {
            count("looks in the end");
            // Someone may have been killed who had paused it.
            hear("resume", projection.resume().await);
            let record = projection.record().await.ok().flatten();
            let progress = record.as_ref().map(|record| {
                let shares = record.shares.iter();
                let shares: Vec<_> = shares.map(|share| share.progress.clone()).collect();
                (shares, record.parked)
            });
            if progress != reached {
                (reached, advanced) = (progress, Instant::now());
            }
            if advanced.elapsed() > PATIENCE {
                fault(format!(
                    "{} has not advanced for {PATIENCE:?}: {error}: {:?}, {record:?}",
                    projection.key(),
                    projection.status()
                ));
                break;
            }
        }
        projection.stop().await;
    }
    Ok(())
}

fn start(
    persistence: &Persistence,
    name: &'static str,
    lease: Duration,
    parks: bool,
    groups: RangeInclusive<usize>,
    rng: &mut Rng,
) -> anyhow::Result<Projection> {
    let change = settings(lease, parks, groups, rng);
    let new = persistence.projection(name);
    let events = EventSelection::all().of_entity_type(TALLY);
    let started = match name {
        ONCE => {
            let new = new.of_events::<Ticked>(None, events)?;
            new.with(change).exactly_once(Once)
        }
        AT_LEAST_ONCE => {
            let owner = Arc::new(OnceLock::new());
            let handler = AtLeastOnce {
                persistence: persistence.clone(),
                owner: Arc::clone(&owner),
            };
            let new = new.of_events::<Ticked>(None, events.with_tag(THIRD))?;
            let started = new.with(change).at_least_once(handler);
            started.inspect(|projection| {
                let _ = owner.set(projection.status().owner);
            })
        }
        _ => {
            let new = new.of_changes::<KeptState>(None, TALLIED)?;
            new.with(change).exactly_once(Changes)
        }
    };
    started.with_context(|| format!("{name} cannot be started"))
}

fn settings(
    lease: Duration,
    parks: bool,
    groups: RangeInclusive<usize>,
    rng: &mut Rng,
) -> impl FnOnce(&mut ProjectionSettings) + use<> {
    let (shares, group_size) = (SHARES[rng.usize(..SHARES.len())], rng.usize(groups));
    let within = Duration::from_millis(if rng.bool() { 0 } else { rng.u64(1..=20) });
    move |settings| {
        settings.shares = shares;
        settings.group_size = group_size;
        settings.group_within = within;
        settings.lease = lease;
        settings.min_back_off = Duration::from_millis(5);
        settings.max_back_off = Duration::from_millis(100);
        settings.idle_progress = Duration::from_millis(50);
        // Kills and refusals come again and again, and none of it is to halt anything.
        (settings.on_failure, settings.max_attempts) = match parks {
            true => (OnFailure::Park, 2),
            false => (OnFailure::Stop, 1_000),
        };
        settings.max_parked_ids = 10_000;
    }
}

/// Returns whether a change worked. Trouble of the database passes, and so may an unknown projection: it is registered soon.
fn hear(what: &str, outcome: Result<(), StorageError>) -> bool {
    match outcome {
        Ok(()) => true,
        Err(error) => {
            if !error.kind().is_transient() && !error.to_string().contains("no projection") {
                fault(format!("could not {what}: {error:?}"));
            }
            false
        }
    }
}
