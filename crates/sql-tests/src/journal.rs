//! The tests of a journal on every SQL database, and the macros that make them; their expression makes a database of a
//! test's own.

pub mod cancellation;
pub mod pages;
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
            nobody_writes_with_an_unknown_epoch_beside_events_of_another_tool
            a_write_that_does_not_take_over_leaves_no_row
            an_id_with_events_of_another_tool_is_taken_over_with_the_number_after_them;
            contending_writers_leave_one_gap_free_stream_of_what_was_confirmed
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
