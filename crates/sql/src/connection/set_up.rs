//! Tables made ready before the first operation.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::BackOff;
use tokio::time::timeout;

use super::call::run;
use super::seats::{Lease, Seats};
use crate::schema::StoreSchema;
use crate::{ConnectionOf, Connector, ErrorDialect, Role, SqlError, TransactionDialect};

/// The number of attempts to initialise while others initialise.
const SET_UP_ATTEMPTS: u32 = 10;

/// The number of further attempts when an error looks lasting that one error of a disk can look like.
const MORE_LOOKS: u32 = 3;

/// The longest time for which a writer is kept from its stores to look at the tables: locks of a migration are waited for
/// elsewhere.
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// The part of the work that was done.
enum Progress {
    Done,
    /// A step beside writers, and all before it; a session of its own had no limits on time for it.
    OneStep,
}

/// The result of a look at the tables.
enum Look {
    /// There is nothing to make.
    Current,
    /// The tables are missing or older. The error, if there is one, says that they are not those of the store.
    Due(Option<SqlError>),
}

/// Makes the tables of a schema ready; tries again if other processes do the same at that moment.
pub(super) async fn set_up<C: Connector>(
    connector: &C,
    writers: &Arc<Seats<C>>,
    schema: &StoreSchema<C::Dialect>,
    auto_initialize: bool,
) -> Result<(), SqlError> {
    if C::WRITERS_LOOK_FIRST && is_set_up(connector, writers, schema, auto_initialize).await? {
        return Ok(());
    }
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

/// Returns whether a writer that is free finds the tables as they must be, and may write to them.
///
/// An error of the look is not reported: the session of its own has more time, and no store waits for it. Fails if the server
/// cannot be reached.
async fn is_set_up<C: Connector>(
    connector: &C,
    writers: &Arc<Seats<C>>,
    schema: &StoreSchema<C::Dialect>,
    auto_initialize: bool,
) -> Result<bool, SqlError> {
    let Some(seat) = writers.vacant_now() else {
        return Ok(false);
    };
    let mut lease = match writers.sit(seat).await {
        Ok(lease) => lease,
        Err(error) if C::Dialect::is_disturbed(&error) || connector.may_pass(&error) => {
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    let looked = look_with(connector, schema, &mut lease, auto_initialize);
    match timeout(LONGEST_LOOK, looked).await {
        Ok(Ok(is_current)) => {
            lease.give_back();
            Ok(is_current)
        }
        _ => {
            writers.close_idle();
            Ok(false)
        }
    }
}

/// Returns whether there is nothing to make, and leaves no transaction, whatever it meets. Fails if the connection is of no more
/// use.
async fn look_with<C: Connector>(
    connector: &C,
    schema: &StoreSchema<C::Dialect>,
    lease: &mut Lease<C>,
    auto_initialize: bool,
) -> Result<bool, SqlError> {
    let looking = async {
        lease.check().await?;
        let connection = lease.connection();
        if let Look::Due(_) = look::<C>(schema, connection, auto_initialize).await? {
            return Ok(false);
        }
        make_up_to_date(connector, schema, connection, true).await?;
        Ok::<_, SqlError>(true)
    };
    let looked = looking.await;
    if looked.is_err() {
        run::<C>(lease.connection(), C::Dialect::ROLLBACK).await?;
    }
    Ok(looked.unwrap_or(false))
}

/// Sets the store up on a connection of its own: nothing of it, not even what it prepared while there were no tables, is
/// used later.
async fn set_up_once<C: Connector>(
    connector: &C,
    schema: &StoreSchema<C::Dialect>,
    auto_initialize: bool,
) -> Result<Progress, SqlError> {
    let may_create = auto_initialize;
    let mut open = connector.open(Role::SetUp { may_create }).await?;
    let connection = C::connection(&mut open);
    let (is_current, doubt) = match look::<C>(schema, connection, auto_initialize).await? {
        Look::Current => (true, None),
        Look::Due(doubt) => (false, doubt),
    };
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

/// Looks at the tables, and changes nothing. Fails if they are not what they must be and may not be made.
async fn look<C: Connector>(
    schema: &StoreSchema<C::Dialect>,
    connection: &mut ConnectionOf<C::Dialect>,
    auto_initialize: bool,
) -> Result<Look, SqlError> {
    run::<C>(connection, C::Dialect::BEGIN_READING).await?;
    let look = match schema.is_current(connection).await {
        Ok(true) => Look::Current,
        Ok(false) if !auto_initialize => return Err(schema.refusal_to_make(connection).await?),
        Ok(false) => Look::Due(None),
        // Not every database shows one moment: others may be making the tables, so it is looked at again under the lock.
        Err(error) if auto_initialize && error.is_mismatch() => Look::Due(Some(error)),
        Err(error) => return Err(error),
    };
    run::<C>(connection, C::Dialect::ROLLBACK).await?;
    Ok(look)
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
