//! The uses that code of an application makes of the driver's connection.

use std::pin::pin;

use actix_persistence_storage_api::{ExtensionError, Session};
use async_trait::async_trait;
use futures_util::FutureExt;

/// One use of the connection; each text is a statement, or several where the database takes several.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Runs a text.
    Run(&'static str),
    /// Runs a text, whatever comes of it.
    Try(&'static str),
    /// Runs a text in a transaction within, which is committed.
    Commit(&'static str),
    /// Runs a text in a transaction within, which is rolled back.
    RollBack(&'static str),
    /// Runs a text in a transaction within, which is dropped.
    Drop(&'static str),
    /// Runs a text, and drops the call after this many polls.
    GiveUp(&'static str, usize),
    /// Prepares and runs a text that takes a value, and drops the call after this many polls.
    GiveUpPrepared(&'static str, usize),
    /// Begins a transaction within, and drops the call after this many polls.
    GiveUpBegin(usize),
    /// Reads one row of a text, and leaves the others.
    ReadOne(&'static str),
    /// Runs a text with the session, beside the driver.
    Execute(&'static str),
}

impl Act {
    /// Returns the least and the largest number of rows that the act leaves, if its text leaves one; that
    /// of [`ReadOne`](Act::ReadOne) leaves two.
    pub(super) fn rows(self) -> (i64, i64) {
        let inserts = |sql: &str| sql.starts_with("INSERT INTO driven");
        match self {
            Act::Run(sql) | Act::Commit(sql) | Act::Execute(sql) if inserts(sql) => (1, 1),
            Act::Try(sql) | Act::GiveUp(sql, _) | Act::GiveUpPrepared(sql, _) if inserts(sql) => {
                (0, 1)
            }
            // The rows that are not read are there as well.
            Act::ReadOne(sql) if inserts(sql) => (2, 2),
            _ => (0, 0),
        }
    }
}

/// The connection of a driver. [`driver_of_sqlx`](crate::driver_of_sqlx) makes it.
#[async_trait]
pub trait Driver: Send + Sync {
    /// Does what the act says, with the connection that the session lends.
    async fn act(&self, session: &mut dyn Session, act: Act) -> Result<(), ExtensionError>;
}

/// Polls a future so many times at most, and drops it.
pub async fn given_up_after(polls: usize, future: impl Future) {
    let mut future = pin!(future);
    for _ in 0..polls {
        if future.as_mut().now_or_never().is_some() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Makes a [`Driver`](crate::states::extensions::driver::Driver) of this name of the method by which a session lends the
/// connection of sqlx.
#[macro_export]
macro_rules! driver_of_sqlx {
    ($name:ident: $lends:ident) => {
        struct $name;

        #[async_trait::async_trait]
        impl $crate::states::extensions::driver::Driver for $name {
            async fn act(
                &self,
                session: &mut dyn actix_persistence_storage_api::Session,
                act: $crate::states::extensions::driver::Act,
            ) -> Result<(), actix_persistence_storage_api::ExtensionError> {
                use futures_util::TryStreamExt;
                use sqlx::{Connection, Executor, raw_sql};
                use $crate::states::extensions::driver::{Act, given_up_after};

                let connection = session.$lends().await?;
                match act {
                    Act::Run(sql) => {
                        connection.execute(raw_sql(sql)).await?;
                    }
                    Act::Try(sql) => {
                        let _ = connection.execute(raw_sql(sql)).await;
                    }
                    Act::Commit(sql) => {
                        let mut within = connection.begin().await?;
                        within.execute(raw_sql(sql)).await?;
                        within.commit().await?;
                    }
                    Act::RollBack(sql) => {
                        let mut within = connection.begin().await?;
                        within.execute(raw_sql(sql)).await?;
                        within.rollback().await?;
                    }
                    Act::Drop(sql) => {
                        let mut within = connection.begin().await?;
                        within.execute(raw_sql(sql)).await?;
                    }
                    Act::GiveUp(sql, polls) => {
                        given_up_after(polls, connection.execute(raw_sql(sql))).await;
                    }
                    Act::GiveUpPrepared(sql, polls) => {
                        let statement = sqlx::query(sql).bind(1_i32);
                        given_up_after(polls, statement.execute(connection)).await;
                    }
                    Act::GiveUpBegin(polls) => given_up_after(polls, connection.begin()).await,
                    Act::ReadOne(sql) => {
                        connection.fetch(raw_sql(sql)).try_next().await?;
                    }
                    Act::Execute(sql) => {
                        session.execute(sql, []).await?;
                    }
                }
                Ok(())
            }
        }
    };
}
