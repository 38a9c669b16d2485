//! Tables made ready before the first operation.

use std::time::Duration;

use actix_persistence_storage_api::BackOff;

use super::call::run;
use crate::schema::StoreSchema;
use crate::{ConnectionOf, Connector, ErrorDialect, Role, SqlError, TransactionDialect};

/// The number of attempts to initialise while others initialise.
const SET_UP_ATTEMPTS: u32 = 10;

/// The number of further attempts when an error looks lasting that one error of a disk can look like.
const MORE_LOOKS: u32 = 3;

/// The part of the work that was done.
enum Progress {
    Done,
    /// A step beside writers, and all before it; a session of its own had no limits on time for it.
    OneStep,
}

/// Makes the tables of a schema ready; tries again if other processes do the same at that moment.
pub(super) async fn set_up<C: Connector>(
    connector: &C,
    schema: &StoreSchema<C::Dialect>,
    auto_initialize: bool,
) -> Result<(), SqlError> {
    let mut back_off = BackOff::new(Duration::from_millis(10), Duration::from_millis(500), 0.5);
    loop {
        match set_up_once(connector, schema, auto_initialize).await {
            Ok(Progress::Done) => return Ok(()),
            Ok(Progress::OneStep) => {
                back_off.reset();
                continue;
            }
            Err(error)
                if C::Dialect::is_disturbed(&error) && back_off.attempts() < SET_UP_ATTEMPTS => {}
            Err(error) if connector.may_pass(&error) && back_off.attempts() < MORE_LOOKS => {}
            Err(error) => return Err(error),
        }
        tokio::time::sleep(back_off.next_delay()).await;
    }
}

/// Sets the store up on a connection of its own: nothing of it, not even what it prepared before there were tables, is
/// used later.
async fn set_up_once<C: Connector>(
    connector: &C,
    schema: &StoreSchema<C::Dialect>,
    auto_initialize: bool,
) -> Result<Progress, SqlError> {
    let may_create = auto_initialize;
    let mut open = connector.open(Role::SetUp { may_create }).await?;
    let connection = C::connection(&mut open);
    run::<C>(connection, C::Dialect::BEGIN_READING).await?;
    let look = schema.is_current(connection).await;
    let (is_current, doubt) = match look {
        Ok(true) => (true, None),
        Ok(false) if !auto_initialize => return Err(schema.refusal_to_make(connection).await?),
        Ok(false) => (false, None),
        // Not every database shows one moment: others may be making the tables, so it is looked at again under the lock.
        Err(error) if auto_initialize && error.is_mismatch() => (false, Some(error)),
        Err(error) => return Err(error),
    };
    // Nothing was changed.
    run::<C>(connection, C::Dialect::ROLLBACK).await?;
    let made = make_up_to_date(connector, schema, connection, is_current).await;
    match (made, doubt) {
        (Ok(progress), _) => {
            connector.close(open, Role::SetUp { may_create }).await;
            Ok(progress)
        }
        // What cannot be written to says nothing new.
        (Err(error), Some(doubt)) if error.is_refusal::<C::Dialect>() => Err(doubt),
        (made, _) => made,
    }
}

/// Waits for others only where there is something to make: they may be at it for hours, beside writers.
async fn make_up_to_date<C: Connector>(
    connector: &C,
    schema: &StoreSchema<C::Dialect>,
    connection: &mut ConnectionOf<C::Dialect>,
    is_current: bool,
) -> Result<Progress, SqlError> {
    connector.prepare(connection).await?;
    if !is_current {
        schema.lock(connection).await?;
    }
    run::<C>(connection, C::Dialect::BEGIN).await?;
    let next = match is_current {
        true => None,
        // Looked at again: between the look and the lock others may have made it.
        false => schema.advance(connection).await?,
    };
    if next.is_none() {
        // A database that can only be read is found now, not at the first write.
        schema.check_writable(connection).await?;
    }
    run::<C>(connection, C::Dialect::COMMIT_SET_UP).await?;
    let Some(step) = next else {
        return Ok(Progress::Done);
    };
    schema.run_beside_writers(connection, step).await?;
    Ok(Progress::OneStep)
}
