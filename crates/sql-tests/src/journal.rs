//! The tests of a journal on every SQL database, and the macros that make them; their expression makes a database of a
//! test's own.

pub mod cancellation;
pub mod deletes;
pub mod pages;
pub mod rows;
pub mod schema_versions;
pub mod two_writers;

/// Makes a test of each function in [`cancellation`].
#[macro_export]
macro_rules! test_cancellation {
    ($tables:expr) => {
        $crate::test_journals! { $tables; cancellation;
            every_operation_may_be_dropped_at_every_poll;
            no_confirmed_event_is_lost_and_nothing_hangs_when_calls_are_dropped
        }
    };
}

/// Makes a test of each function in [`pages`].
#[macro_export]
macro_rules! test_pages {
    ($tables:expr) => {
        $crate::test_journals! { $tables; pages;
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

/// Makes a test of each function in [`two_writers`].
#[macro_export]
macro_rules! test_two_writers {
    ($tables:expr) => {
        $crate::test_journals! { $tables; two_writers;
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
    ($tables:expr) => {
        $crate::test_journals! { $tables; deletes;
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

/// Makes a test of each function in [`rows`] that needs nothing but a database.
#[macro_export]
macro_rules! test_rows {
    ($tables:expr) => {
        $crate::test_journals! { $tables; rows;
            rows_say_which_slice_and_type_they_belong_to
            a_damaged_snapshot_is_an_error_and_the_one_before_can_be_asked_for
            an_epoch_out_of_range_is_told_as_that;
        }
    };
}

/// Makes a test of each function in [`schema_versions`] that needs nothing but a database.
#[macro_export]
macro_rules! test_schema_versions {
    ($tables:expr) => {
        $crate::test_journals! { $tables; schema_versions;
            a_newer_schema_is_refused
            stores_with_other_table_names_share_a_database_and_nothing_else
            tables_that_were_made_with_others_are_not_mixed
            a_table_of_another_kind_of_store_is_refused
            the_printed_statements_make_the_tables_that_a_store_expects;
        }
    };
}

/// Makes a test of each function of a module here: first those on one thread, then those on two.
#[doc(hidden)]
#[macro_export]
macro_rules! test_journals {
    ($tables:expr; $module:ident; $($alone:ident)*; $($parallel:ident)*) => {
        $(
            #[tokio::test]
            async fn $alone() {
                $crate::journal::$module::$alone(&$tables).await;
            }
        )*
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $parallel() {
                $crate::journal::$module::$parallel(&$tables).await;
            }
        )*
    };
}
