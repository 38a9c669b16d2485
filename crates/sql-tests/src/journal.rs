//! The tests of a journal on every SQL database, and the macros that make them; their expression makes a database of a
//! test's own. After the word `server` it makes one on a server, and the tests that only servers can pass are made, too.

pub mod cancellation;
pub mod deletes;
pub mod event_queries;
pub mod groups;
pub mod live_events;
pub mod migrations;
pub mod opening;
pub mod pages;
pub mod recent_events;
pub mod refusals;
pub mod rows;
pub mod schema_versions;
pub mod shared_reads;
pub mod trouble;
pub mod two_writers;

/// Makes a test of each function in [`cancellation`].
#[macro_export]
macro_rules! test_cancellation {
    ($tables:expr) => {
        $crate::test_functions! { $tables; journal::cancellation;
            every_operation_may_be_dropped_at_every_poll;
            no_confirmed_event_is_lost_and_nothing_hangs_when_calls_are_dropped
        }
    };
}

/// Makes a test of each function in [`groups`].
#[macro_export]
macro_rules! test_groups {
    ($tables:expr) => {
        $crate::test_functions! { $tables; journal::groups;
            a_loser_among_many_winners_is_left_out_with_its_tags;
            events_of_an_id_on_both_sides_of_a_statement_are_stored
        }
    };
}

/// Makes a test of each function in [`pages`].
#[macro_export]
macro_rules! test_pages {
    ($tables:expr) => {
        $crate::test_functions! { $tables; journal::pages;
            small_and_large_events_come_back_whole_and_in_order
            a_page_keeps_to_both_limits_and_tells_whether_there_is_more
            a_page_tells_whether_there_is_more_wherever_its_last_row_ends
            tags_come_with_their_events_wherever_a_row_or_a_page_ends
            a_page_of_large_events_ends_at_its_byte_limit
            settings_cap_a_page_whatever_is_asked_for
            ranges_beyond_what_the_database_can_store_are_empty
            a_long_stream_is_read_page_by_page
            events_beyond_a_hole_are_shown_so_that_the_hole_is_found
            payloads_and_texts_may_hold_any_bytes;
            large_events_deleted_while_a_page_is_read_are_left_out_of_it
        }
    };
}

/// Makes a test of each function in [`event_queries`], [`recent_events`] and [`live_events`].
#[macro_export]
macro_rules! test_event_queries {
    ($tables:expr) => {
        $crate::test_functions! { $tables; journal::event_queries;
            any_selection_gets_what_is_stored_once_and_in_order
            deleted_rows_that_are_still_there_are_not_queried
            a_page_ends_before_an_event_that_cannot_be_read
            a_rare_event_is_found_by_short_looks
            small_pages_come_from_all_ids_in_turns
            pages_of_any_size_have_every_event_with_its_tags
            a_page_passes_a_bounded_number_of_deleted_rows;
            events_that_take_the_place_of_deleted_ones_come_once
            readers_get_each_event_once_in_order_beside_writers
            events_deleted_between_pages_are_passed_by
        }
        $crate::test_functions! { $tables; journal::recent_events;
            an_event_that_is_still_kept_is_confirmed_and_not_read
            an_event_whose_row_has_another_sum_is_read_again
            pages_of_recent_events_are_what_another_opening_reads
            events_of_others_come_however_many_are_kept;
        }
        $crate::test_functions! { $tables; journal::live_events; ;
            live_streams_get_each_event_once_in_order_beside_writers
            live_streams_of_a_writer_get_each_event_once_in_order
        }
    };
}

/// Makes a test of each function in [`shared_reads`].
#[macro_export]
macro_rules! test_shared_reads {
    (server $tables:expr) => {
        $crate::test_shared_reads!($tables);
        $crate::test_functions! { $tables; journal::shared_reads;
            reads_that_share_a_session_that_ends_fail_or_are_whole;
        }
    };
    ($tables:expr) => {
        $crate::test_functions! { $tables; journal::shared_reads;
            reads_that_wait_together_get_what_each_gets_alone
            a_row_that_cannot_be_read_fails_no_read_beside_it;
            events_deleted_beside_shared_reads_are_left_out_of_whole_pages
        }
    };
}

/// Makes a test of each function in [`two_writers`].
#[macro_export]
macro_rules! test_two_writers {
    (server $tables:expr) => {
        $crate::test_two_writers!($tables);
        $crate::test_functions! { $tables; journal::two_writers;
            an_event_of_another_tool_is_kept_and_counts_at_the_next_take_over;
        }
    };
    ($tables:expr) => {
        $crate::test_functions! { $tables; journal::two_writers;
            the_first_of_two_writers_is_fenced_and_both_are_named
            an_unknown_epoch_may_not_write_beside_events_of_another_tool
            a_write_that_does_not_take_over_leaves_no_row
            taking_over_an_id_counts_the_events_of_another_tool;
            contending_writers_leave_one_gap_free_stream_of_what_was_confirmed
        }
    };
}

/// Makes a test of each function in [`deletes`] that needs nothing but a database.
#[macro_export]
macro_rules! test_deletes {
    (server $tables:expr) => {
        $crate::test_deletes!($tables);
        $crate::test_functions! { $tables; journal::deletes;
            a_delete_that_waits_for_a_purge_elsewhere_brings_no_numbers_back
            a_take_over_that_waits_for_a_purge_elsewhere_brings_no_numbers_back;
        }
    };
    ($tables:expr) => {
        $crate::test_functions! { $tables; journal::deletes;
            a_delete_hides_events_at_once_and_removes_their_rows_afterwards
            a_delete_of_an_unknown_id_leaves_no_row
            a_delete_of_many_events_removes_them_in_chunks
            a_delete_right_after_the_write_keeps_the_highest_number
            an_error_in_the_background_does_not_stop_the_removal_for_good
            deleted_rows_that_are_still_there_are_never_shown
            deleting_and_initializing_succeed_although_no_row_can_be_removed
            initializing_goes_on_with_a_delete_that_was_interrupted
            rows_are_removed_in_chunks_of_few_bytes
            no_number_is_used_again_after_all_was_deleted_and_reopened;
        }
    };
}

/// Makes a test of each function in [`rows`].
#[macro_export]
macro_rules! test_rows {
    ($tables:expr) => {
        $crate::test_functions! { $tables; journal::rows;
            rows_say_which_slice_and_type_they_belong_to
            a_damaged_snapshot_is_an_error_and_the_one_before_can_be_asked_for
            an_epoch_out_of_range_is_told_as_that
            tags_are_found_by_tag_and_removed_with_their_events
            the_tables_refuse_what_cannot_be_read_back
            an_event_that_cannot_be_read_is_corrupt_and_named_not_left_out;
        }
    };
}

/// Makes a test of each function in [`schema_versions`] that needs nothing but a database, and lets many start at once in
/// so many new ones. The module of the tests has the same name.
#[macro_export]
macro_rules! test_schema_versions {
    ($tables:expr, $databases:literal) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn many_instances_initialize_one_new_database_at_once() {
            let new = async || $tables;
            $crate::journal::schema_versions::many_instances_initialize_one_new_database_at_once(
                $databases, new,
            )
            .await;
        }

        #[tokio::test]
        async fn many_processes_initialize_one_new_database_at_once() {
            let new = async || $tables;
            $crate::journal::schema_versions::many_processes_initialize_one_new_database_at_once(
                new,
            )
            .await;
        }

        $crate::test_functions! { $tables; journal::schema_versions;
            a_newer_schema_is_refused
            names_that_would_change_a_statement_never_reach_one
            stores_with_other_table_names_share_a_database_and_nothing_else
            tables_that_were_made_with_others_are_not_mixed
            a_table_of_another_kind_of_store_is_refused
            the_printed_statements_make_the_tables_that_a_store_expects;
        }
    };
}

/// Makes a test of each function in [`opening`] that needs nothing but a database on a server.
#[macro_export]
macro_rules! test_opening {
    (server $tables:expr) => {
        $crate::test_functions! { $tables; journal::opening;
            a_wrong_password_is_named_and_never_shown
            a_database_that_does_not_exist_is_named
            a_session_that_has_ended_is_no_error_of_the_next_store
            no_server_is_trouble_that_waiting_may_cure
            a_server_that_accepts_and_says_nothing_is_given_up_in_time
            the_column_of_payloads_is_chosen_when_the_tables_are_made;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn stores_that_start_at_random_moments_lose_nothing() {
            $crate::stores_that_start_at_random_moments_lose_nothing(async || $tables).await;
        }
    };
}

/// Makes a test of each function in [`refusals`].
#[macro_export]
macro_rules! test_refusals {
    (server $tables:expr) => {
        $crate::test_refusals!($tables);
        $crate::test_functions! { $tables; journal::refusals;
            json_columns_give_back_the_bytes_and_can_be_queried;
        }
    };
    ($tables:expr) => {
        $crate::test_functions! { $tables; journal::refusals;
            an_event_above_the_limit_is_rejected_and_one_at_it_stored_whole
            ids_that_differ_in_a_byte_are_different
            control_characters_are_characters_like_others;
        }
    };
}

/// Makes a test of each function in [`trouble`].
#[macro_export]
macro_rules! test_trouble {
    (server $tables:expr) => {
        $crate::test_functions! { $tables; journal::trouble;
            a_lock_of_another_ends_a_write_in_time_and_nothing_is_stored
            a_statement_that_takes_too_long_is_ended
            wherever_the_replies_to_a_write_are_cut_the_error_says_what_is_certain
            after_a_cut_the_next_call_has_a_connection_that_works
            a_call_that_gets_no_connection_in_time_says_what_to_change;
        }
    };
}

/// Makes a test of each function of a module here: first those on one thread, then those on two.
#[doc(hidden)]
#[macro_export]
macro_rules! test_functions {
    ($tables:expr; $group:ident::$module:ident; $($alone:ident)*; $($parallel:ident)*) => {
        $(
            #[tokio::test]
            async fn $alone() {
                $crate::$group::$module::$alone(&$tables).await;
            }
        )*
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $parallel() {
                $crate::$group::$module::$parallel(&$tables).await;
            }
        )*
    };
}
