//! Code of the application with the connection of the database's driver.

mod acts;
mod answers;
mod limits;

use std::sync::Arc;

use actix_persistence_storage_api::{
    ChangeHandler, ExtensionError, Session, SessionWork, SqlStates, StateChange, StateExtensions,
    StateStore, StorageError,
};
use async_trait::async_trait;

use super::with_handler;

pub use acts::{Act, Driver, given_up_after};
pub use answers::{
    a_session_with_the_driver_goes_on_as_one_without,
    a_transaction_that_the_driver_ends_is_found_out, nothing_that_is_set_with_the_driver_stays,
    whatever_code_runs_with_the_driver_at_random_the_answer_is_true,
    whatever_code_runs_with_the_driver_the_answer_is_true,
};
pub use limits::{
    a_session_that_ends_under_the_driver_is_trouble_of_the_server,
    a_statement_of_the_driver_whose_time_is_over_leaves_no_lock,
    a_transaction_with_the_driver_goes_on_without_its_caller,
    an_error_of_the_code_with_the_driver_is_certain,
    another_database_or_driver_is_an_error_by_name,
};

/// The table in which the driver's connection leaves its rows.
const DRIVEN: &str = "CREATE TABLE driven (a BIGINT NOT NULL)";
const DRIVEN_ROWS: &str = "SELECT COUNT(*) FROM driven";

/// A sequence of acts, which may fail in the end.
#[derive(Clone)]
struct Play {
    driver: Arc<dyn Driver>,
    acts: Vec<Act>,
    fails: bool,
}

impl Play {
    fn of(driver: &Arc<dyn Driver>, acts: &[Act]) -> Self {
        Self {
            driver: Arc::clone(driver),
            acts: acts.to_vec(),
            fails: false,
        }
    }

    async fn perform(&self, session: &mut dyn Session) -> Result<(), ExtensionError> {
        for act in &self.acts {
            match act {
                Act::Execute(sql) => {
                    session.execute(*sql, []).await?;
                }
                act => self.driver.act(session, *act).await?,
            }
        }
        match self.fails {
            true => Err("not today".into()),
            false => Ok(()),
        }
    }

    fn as_handler(&self) -> StateExtensions {
        with_handler(self.clone())
    }

    async fn transact(&self, store: &dyn StateStore) -> Result<(), StorageError> {
        let play = self.clone();
        let work =
            SessionWork::new(move |session| Box::pin(async move { play.perform(session).await }));
        sql(store).transact(work).await
    }
}

#[async_trait]
impl ChangeHandler for Play {
    async fn process(
        &self,
        session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        self.perform(session).await
    }
}

fn sql(store: &dyn StateStore) -> &dyn SqlStates {
    store.sql().expect("the store has SQL")
}
