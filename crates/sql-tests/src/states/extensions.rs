//! The tests of a state store with extensions on every SQL database, or on every server, and the macro that makes them.

mod answers;
mod columns;
mod crowds;
mod deadlocks;
pub mod driver;
mod ended_sessions;
mod mistakes;
mod own_rows;
mod patience;
mod refusals;
mod settings;
mod tables_of_types;

use std::sync::{Arc, PoisonError};

use actix_persistence_storage_api::{
    AdditionalColumn, ChangeHandler, ColumnValue, ExtensionError, StateChange, StateExtensions,
};

pub use answers::{
    a_state_that_its_handler_removes_is_not_acknowledged,
    nothing_is_committed_after_a_statement_that_was_given_up,
    savepoints_of_a_handler_stay_beside_other_statements,
    whatever_code_of_the_application_runs_the_answer_is_true,
};
pub use columns::{
    a_column_that_needs_a_value_gets_it, a_column_whose_values_are_unique_is_kept_so,
};
pub use crowds::{
    a_crowd_of_the_application_is_no_trouble_of_the_store, slow_handlers_delay_no_other_writers,
};
pub use deadlocks::{
    changes_whose_handlers_deadlock_are_each_counted_once,
    changes_whose_handlers_deadlock_with_the_driver_are_counted_once,
};
pub use ended_sessions::a_session_that_ends_under_a_handler_is_trouble_of_the_server;
pub use mistakes::{
    a_handler_that_may_take_longer_than_others_wait_is_a_mistake,
    mistakes_in_extensions_name_what_is_wrong,
};
pub use own_rows::{
    a_removal_that_its_handler_undoes_is_not_acknowledged,
    a_row_that_its_handler_writes_as_it_was_is_stored,
    a_state_that_its_handler_changes_is_not_acknowledged,
};
pub use patience::{
    a_handler_may_take_longer_than_any_statement, a_statement_that_was_given_up_leaves_no_lock,
};
pub use refusals::{
    Refused, code_of_the_application_is_told_what_its_rules_refuse,
    what_rules_refuse_is_told_as_that,
};
pub use settings::{nothing_that_a_condition_sets_stays, nothing_that_is_set_stays};
pub use tables_of_types::the_printed_statements_make_the_tables_of_entity_types_too;

/// Makes a test of each function in [`extensions`](self) that needs nothing but tables; the expression makes tables of a
/// test's own. After the word `server` it makes them on a server, and the tests that only servers can pass are made, too.
#[macro_export]
macro_rules! test_extensions {
    (server $tables:expr) => {
        $crate::test_extensions!($tables);
        $crate::test_functions! { $tables; states::extensions;
            changes_whose_handlers_deadlock_are_each_counted_once
            a_handler_may_take_longer_than_any_statement
            a_session_that_ends_under_a_handler_is_trouble_of_the_server
            a_handler_that_may_take_longer_than_others_wait_is_a_mistake;
        }
    };
    ($tables:expr) => {
        $crate::test_functions! { $tables; states::extensions;
            a_column_that_needs_a_value_gets_it
            a_column_whose_values_are_unique_is_kept_so
            mistakes_in_extensions_name_what_is_wrong
            savepoints_of_a_handler_stay_beside_other_statements
            a_state_that_its_handler_removes_is_not_acknowledged
            a_state_that_its_handler_changes_is_not_acknowledged
            a_removal_that_its_handler_undoes_is_not_acknowledged
            a_row_that_its_handler_writes_as_it_was_is_stored;
            a_statement_that_was_given_up_leaves_no_lock
            a_crowd_of_the_application_is_no_trouble_of_the_store
        }
    };
}

/// The entity type of the ids here.
const ENTITY_TYPE: &str = "Test";

fn with_handler(handler: impl ChangeHandler + 'static) -> StateExtensions {
    let mut extensions = StateExtensions::default();
    extensions.entity_type(ENTITY_TYPE).change_handler = Some(Arc::new(handler));
    extensions
}

/// Returns extensions with a handler that does nothing: a change with a handler goes another way.
pub fn with_idle_handler() -> StateExtensions {
    with_handler(own_rows::Statements(Vec::new()))
}

/// Makes a test of each function in [`driver`] that needs nothing but tables; the expressions make tables of a test's own, and
/// the driver. After the word `server` the test that only servers can pass is made, too.
#[macro_export]
macro_rules! test_driver {
    (server $tables:expr, $driver:expr) => {
        $crate::test_driver!($tables, $driver);
        $crate::test_driver! { $tables, $driver;
            a_session_that_ends_under_the_driver_is_trouble_of_the_server
        }
    };
    ($tables:expr, $driver:expr) => {
        $crate::test_driver! { $tables, $driver;
            a_session_with_the_driver_goes_on_as_one_without
            a_transaction_that_the_driver_ends_is_found_out
            an_error_of_the_code_with_the_driver_is_certain
            a_statement_of_the_driver_whose_time_is_over_leaves_no_lock
            a_transaction_with_the_driver_goes_on_without_its_caller
            another_database_or_driver_is_an_error_by_name
        }
    };
    ($tables:expr, $driver:expr; $($test:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                $crate::states::extensions::driver::$test(&$tables, std::sync::Arc::new($driver)).await;
            }
        )*
    };
}

/// Makes the tests that run any code with the driver's connection: the place, its section, the driver, and the acts of this
/// database beside those of all.
#[macro_export]
macro_rules! test_answers_with_driver {
    ($tables:expr, $section:expr, $driver:expr, $more:expr) => {
        #[tokio::test]
        async fn whatever_code_runs_with_the_driver_the_answer_is_true() {
            let place = $tables;
            let section_of = $section;
            let section = section_of(&place);
            let driver = std::sync::Arc::new($driver);
            $crate::states::extensions::driver::whatever_code_runs_with_the_driver_the_answer_is_true(
                &place, section, driver, $more,
            )
            .await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn whatever_code_runs_with_the_driver_at_random_the_answer_is_true() {
            let place = $tables;
            let section_of = $section;
            let section = section_of(&place);
            let driver = std::sync::Arc::new($driver);
            $crate::states::extensions::driver::whatever_code_runs_with_the_driver_at_random_the_answer_is_true(
                &place, section, driver, $more,
            )
            .await;
        }
    };
}

/// A column whose value a test sets before each change.
#[derive(Clone)]
struct NextValue {
    column: &'static str,
    next: Arc<std::sync::Mutex<ColumnValue>>,
}

impl NextValue {
    fn of(column: &'static str) -> Self {
        let next = Arc::new(std::sync::Mutex::new(ColumnValue::Keep));
        Self { column, next }
    }

    fn set(&self, value: impl Into<ColumnValue>) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = value.into();
    }

    fn extensions(&self) -> StateExtensions {
        let mut extensions = StateExtensions::default();
        let columns = &mut extensions.entity_type(ENTITY_TYPE).columns;
        columns.push(Arc::new(self.clone()));
        extensions
    }
}

impl AdditionalColumn for NextValue {
    fn column_name(&self) -> &str {
        self.column
    }

    fn bind(&self, _change: &StateChange<'_>) -> Result<ColumnValue, ExtensionError> {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(next.clone())
    }
}
