//! The tests of a state store on every SQL database.

mod any_revision;
mod change_events;
mod commit_order;
mod contention;
mod ended_connections;
pub mod extensions;
mod full_pool;
mod groups;
mod groups_together;
mod live_query;
mod new_states;
mod pages;
mod payloads;
mod rows;
mod rules_of_others;
mod schema;
pub mod schema_steps;
mod times_and_numbers;

use actix_persistence_storage_api::{
    Payload, PersistenceId, Revision, RevisionConflict, StateStore, StateUpdate, StorageError,
    Timestamp,
};

pub use any_revision::without_assert_single_writer_any_revision_replaces_any;
pub use change_events::{
    an_event_that_is_too_large_stores_nothing, an_id_of_the_other_kind_is_refused,
    changes_leave_their_events, changes_without_events_leave_the_journal_alone,
    states_and_their_events_start_again_after_purges,
};
pub use commit_order::a_reader_gets_every_last_state_while_transactions_end_in_any_order;
pub use contention::many_writers_store_each_revision_once;
pub use ended_connections::errors_say_what_is_certain_when_the_server_ends_sessions;
pub use full_pool::a_full_pool_is_no_trouble_of_the_store;
pub use groups::{
    a_change_that_breaks_a_rule_fails_its_group_as_a_whole,
    a_group_has_no_more_changes_than_the_server_can_be_asked_for_in_time,
    a_held_row_fails_its_own_change_and_no_other_of_the_group,
    a_row_that_a_trigger_skips_fails_no_other, changes_of_a_group_leave_their_events,
    no_event_of_a_group_goes_back,
};
pub use groups_together::{
    a_group_beyond_the_limits_of_a_statement_is_stored,
    changes_of_all_kinds_share_a_group_with_losers, groups_of_known_ids_that_meet_store_each_once,
    groups_that_meet_in_opposite_orders_all_end,
};
pub use live_query::a_live_query_gives_every_last_state_of_a_thousand;
pub use new_states::{
    readers_meet_writers_in_one_partition, readers_miss_no_new_state_of_any_partition,
    readers_miss_no_new_state_of_one_partition,
};
pub use pages::{
    a_condition_takes_its_own_values_and_stands_alone, many_changes_of_one_number_are_all_read,
    pages_of_large_states_are_bounded_in_bytes,
};
pub use payloads::{
    a_column_of_json_keeps_json_as_it_was_written_and_refuses_the_rest,
    a_state_above_the_limit_is_refused_and_says_which_key,
};
pub use rows::{
    a_counter_that_is_gone_is_an_error_and_nothing_is_stored, a_damaged_state_is_corrupt_and_named,
    a_lost_column_is_an_error_and_no_state, a_tombstone_keeps_its_revision_and_nothing_else,
    rows_say_which_slice_and_type_they_belong_to, states_of_version_1_are_read_and_go_on,
    texts_come_back_whatever_they_hold, the_tables_refuse_what_cannot_be_read_back,
};
pub use rules_of_others::a_rule_of_an_added_column_is_no_conflict;
pub use schema::{
    a_column_with_a_type_is_added_by_one_of_several_stores,
    a_column_with_a_type_is_not_added_without_being_asked_to,
    a_lost_column_of_any_table_is_named_at_the_start,
    a_table_of_its_own_does_not_hide_what_is_stored, a_table_that_was_dropped_is_a_mismatch,
    a_type_of_a_column_that_is_no_type_is_a_mistake,
    columns_that_the_first_start_misses_come_with_what_adds_them,
    the_printed_statements_make_the_tables_that_a_store_expects,
};
pub use times_and_numbers::{
    no_number_of_a_change_is_used_again, no_timestamp_goes_back_with_the_clock,
};

/// Makes a test of each function here that needs nothing but tables; the expression makes tables of a test's own. After the
/// word `server` it makes them on a server, and the tests that only servers can pass are made, too.
#[macro_export]
macro_rules! test_states {
    (server $tables:expr) => {
        $crate::test_states!($tables);
        $crate::test_states! { $tables;
            a_column_of_json_keeps_json_as_it_was_written_and_refuses_the_rest
            errors_say_what_is_certain_when_the_server_ends_sessions
            a_held_row_fails_its_own_change_and_no_other_of_the_group
            a_group_has_no_more_changes_than_the_server_can_be_asked_for_in_time
            a_full_pool_is_no_trouble_of_the_store
        }
    };
    ($tables:expr) => {
        $crate::test_states! { $tables;
            rows_say_which_slice_and_type_they_belong_to
            a_tombstone_keeps_its_revision_and_nothing_else
            texts_come_back_whatever_they_hold
            the_tables_refuse_what_cannot_be_read_back
            a_damaged_state_is_corrupt_and_named
            a_lost_column_is_an_error_and_no_state
            a_lost_column_of_any_table_is_named_at_the_start
            columns_that_the_first_start_misses_come_with_what_adds_them
            a_column_with_a_type_is_added_by_one_of_several_stores
            a_column_with_a_type_is_not_added_without_being_asked_to
            a_type_of_a_column_that_is_no_type_is_a_mistake
            a_table_that_was_dropped_is_a_mismatch
            a_table_of_its_own_does_not_hide_what_is_stored
            the_printed_statements_make_the_tables_that_a_store_expects
            a_state_above_the_limit_is_refused_and_says_which_key
            pages_of_large_states_are_bounded_in_bytes
            many_changes_of_one_number_are_all_read
            a_condition_takes_its_own_values_and_stands_alone
            no_timestamp_goes_back_with_the_clock
            no_number_of_a_change_is_used_again
            many_writers_store_each_revision_once
            without_assert_single_writer_any_revision_replaces_any
            a_rule_of_an_added_column_is_no_conflict
            a_change_that_breaks_a_rule_fails_its_group_as_a_whole
            changes_of_all_kinds_share_a_group_with_losers
            a_group_beyond_the_limits_of_a_statement_is_stored
            groups_that_meet_in_opposite_orders_all_end
            groups_of_known_ids_that_meet_store_each_once
            changes_of_a_group_leave_their_events
            no_event_of_a_group_goes_back
            changes_leave_their_events
            changes_without_events_leave_the_journal_alone
            an_id_of_the_other_kind_is_refused
            an_event_that_is_too_large_stores_nothing
            states_and_their_events_start_again_after_purges
            a_reader_gets_every_last_state_while_transactions_end_in_any_order
            readers_miss_no_new_state_of_one_partition
            readers_miss_no_new_state_of_any_partition
            a_live_query_gives_every_last_state_of_a_thousand
        }
    };
    ($tables:expr; $($test:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                $crate::states::$test(&$tables).await;
            }
        )*
    };
}

fn id(name: &str) -> PersistenceId {
    PersistenceId::of("Test", name)
}

/// A state whose payload is its revision, as JSON.
fn state(name: &str, revision: Revision) -> StateUpdate {
    let payload = Payload::new(2, "test.state:v1", revision.to_string().into_bytes());
    StateUpdate::new(id(name), revision, payload)
}

async fn store(store: &dyn StateStore, update: StateUpdate) {
    store.upsert(update).await.expect("the state can be stored");
}

async fn revision_of(store: &dyn StateStore, name: &str) -> Revision {
    let current = store.get(&id(name)).await;
    current.expect("the state can be read").revision
}

async fn timestamp_of(store: &dyn StateStore, name: &str) -> Timestamp {
    let current = store.get(&id(name)).await.expect("the state can be read");
    current.state.expect("there is a state").timestamp
}

/// Checks that a write lost against another revision, and changed nothing.
fn assert_conflict(result: Result<(), StorageError>, expected: Revision, found: Revision) {
    let error = result.expect_err("the revision is not the next one");
    assert!(error.is_not_stored(), "{error:?}");
    let conflict = RevisionConflict { expected, found };
    assert_eq!(error.revision_conflict(), Some(&conflict), "{error:?}");
}
