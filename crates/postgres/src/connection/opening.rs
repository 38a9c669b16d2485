//! A new session: checked, and made independent of what the server, the database or the role is set to.

use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_persistence_sql::{Role, SqlError};
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::{Executor, PgConnection, Row};

use crate::queries::{END_SESSION, RESTORE_SESSION, SESSION, SET_SESSION};
use crate::{PostgresOptions, SynchronousCommit};

use super::PostgresConnector;

/// The oldest that has transaction numbers of 64 bits under the names used here.
const OLDEST_VERSION: i64 = 130_000;
/// The longest time of a migration: making tables larger or other takes as long as it takes.
const MIGRATION: Duration = Duration::from_secs(3_600);

/// A session, as the server distinguishes it from all others.
#[derive(Debug)]
pub(crate) struct SessionId {
    number: i32,
    /// Numbers are used again. Empty where the session may not see it, as with a role that plays another one from its login
    /// on (`ALTER ROLE .. SET role`): nothing can end that session then.
    began: String,
}

/// Checks and sets what must hold of a session.
pub(crate) async fn set_up(
    connection: &mut PgConnection,
    connector: &PostgresConnector,
    role: Role,
) -> Result<SessionId, SqlError> {
    let id = check(connection, connector, role).await?;
    set(connection, &connector.options, role).await?;
    Ok(id)
}

/// Ends another session of the same user.
pub(crate) async fn end(connection: &mut PgConnection, other: &SessionId) -> Result<(), SqlError> {
    sqlx::query(END_SESSION)
        .bind(other.number)
        .bind(&other.began)
        .persistent(false)
        .execute(connection)
        .await?;
    Ok(())
}

/// Makes a writer what it was, whatever code of the application did to it.
pub(crate) async fn restore(
    connection: &mut PgConnection,
    options: &PostgresOptions,
) -> Result<(), SqlError> {
    connection.execute(sqlx::raw_sql(RESTORE_SESSION)).await?;
    set(connection, options, Role::Writer).await
}

async fn set(
    connection: &mut PgConnection,
    options: &PostgresOptions,
    role: Role,
) -> Result<(), SqlError> {
    let server = &options.server;
    let statement = match role {
        Role::SetUp { .. } => MIGRATION,
        Role::Writer | Role::Reader => server.statement_timeout,
    };
    let row = sqlx::query(SET_SESSION)
        .bind(milliseconds(statement))
        .bind(milliseconds(server.lock_timeout))
        // Between two statements there is only this crate; its task may have been suspended.
        .bind(milliseconds(server.client_timeout()))
        .bind(options.synchronous_commit.setting())
        .bind(&options.schema)
        .bind((role == Role::Writer).then_some("force_generic_plan"))
        .persistent(false)
        .fetch_one(connection)
        .await?;
    let waits_for: String = row.try_get(0)?;
    if waits_for == "off" && options.synchronous_commit != SynchronousCommit::Off {
        return Err(SqlError::refused(
            StorageErrorKind::Unsupported,
            "the server confirms commits that a crash may take back (synchronous_commit is off); set \
             'synchronous-commit' to \"on\", or to \"off\" if that is wanted",
        ));
    }
    Ok(())
}

/// Fails if the server is not what durability needs.
pub(crate) async fn check(
    connection: &mut PgConnection,
    connector: &PostgresConnector,
    role: Role,
) -> Result<SessionId, SqlError> {
    let row = sqlx::query(SESSION)
        .persistent(false)
        .fetch_one(connection)
        .await?;
    let version: i64 = row.try_get(0)?;
    if version < OLDEST_VERSION {
        let (major, oldest) = (version / 10_000, OLDEST_VERSION / 10_000);
        return Err(SqlError::refused(
            StorageErrorKind::Unsupported,
            format!("the server is PostgreSQL {major}; use {oldest} or newer"),
        ));
    }
    for column in [1, 2] {
        let encoding: String = row.try_get(column)?;
        if encoding != "UTF8" {
            return Err(SqlError::mismatch(format!(
                "the database keeps texts as {encoding}; name one in UTF8"
            )));
        }
    }
    let is_read_only: bool = row.try_get(3)?;
    if is_read_only && role != Role::Reader {
        return Err(SqlError::refused(
            StorageErrorKind::AccessDenied,
            "the server is a standby, or default_transaction_read_only is on; name the primary, or switch that off \
             for the database and the role",
        ));
    }
    let reaches_the_disk: bool = row.try_get(4)?;
    // Once for all stores of a schema, and not again when connections are lost.
    if !reaches_the_disk && role != Role::Reader && !connector.warned.swap(true, Ordering::Relaxed)
    {
        tracing::warn!(
            "the server runs with fsync = off: a crash of its machine may destroy the database"
        );
    }
    Ok(SessionId {
        number: row.try_get(5)?,
        began: row.try_get(6)?,
    })
}

fn milliseconds(time: Duration) -> String {
    time.as_millis().to_string()
}
