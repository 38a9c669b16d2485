//! The bookings of a month, read from the events with its tag.

use std::collections::BTreeMap;

use actix_persistence::Persistence;
use actix_persistence::query::EventOffset;
use futures_util::TryStreamExt;

use crate::{Decided, Kind, Month};

/// The bookings on an account in a month.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turnover {
    /// The cents that came to the account.
    pub deposited: u128,
    /// The cents that went from the account.
    pub withdrawn: u128,
    /// The number of bookings, without those that were refused.
    pub bookings: u64,
}

/// Returns what was booked in a month by now, on each account. Events of programs that had no tags are in no month.
///
/// # Errors
/// If the journal cannot be read.
///
/// # Cancel safety
/// Has no effect that could be lost.
pub async fn statement(
    persistence: &Persistence,
    month: &Month,
) -> anyhow::Result<BTreeMap<String, Turnover>> {
    let queries = persistence.event_queries(None)?;
    let month = month.to_string();
    let mut booked = queries.current_events_by_tag::<Decided>(&month, EventOffset::start());
    let mut statement = BTreeMap::<_, Turnover>::new();
    while let Some(envelope) = booked.try_next().await? {
        let account = envelope.persistence_id.entity_id();
        for decided in envelope.events.iter().filter(|decided| decided.applied) {
            let turnover = statement.entry(account.to_owned()).or_default();
            match decided.kind {
                Kind::Deposit => turnover.deposited += u128::from(decided.cents),
                Kind::Withdraw => turnover.withdrawn += u128::from(decided.cents),
            }
            turnover.bookings += 1;
        }
    }
    Ok(statement)
}
