//! The promises of the plugin beyond the conformance kit.
//!
//! The faults of the sample provider of Akka.NET (`Akka.Persistence.Custom`), and the test that each has here.
//! Names that begin with `journal_spec`, `journal_serialization_spec` or `snapshot_store_spec` are cases of the kit.
//!
//! | journal: fault | test |
//! |---|---|
//! | trouble with the database becomes a rejection | `locked::a_write_waits_for_the_lock_until_its_timeout_and_stores_nothing`, in the crate `a_write_that_finds_the_disk_full_fails_and_is_not_a_rejection` |
//! | a cancelled write counts as accepted | `cancellation::no_confirmed_event_is_lost_and_nothing_hangs_when_calls_are_dropped` |
//! | parallel transactions store 3 without 2 | `two_writers::contending_writers_leave_one_gap_free_stream_of_what_was_confirmed` |
//! | later writes are stored after an earlier one was not | `journal_spec::skip_later_writes_of_an_id_after_a_conflict` |
//! | the writer is not stored | `journal_spec::keep_the_writer_of_every_event` |
//! | one manifest column for serializer and adapter | `journal_serialization_spec::serialize_persistent_with_event_adapter_manifest` |
//! | the timestamp is always 0 | `journal_spec::keep_timestamps` |
//! | tags are lost | `journal_spec::keep_tags`, `rows::tags_are_found_by_tag_and_removed_with_their_events` |
//! | rows marked as deleted are read and counted | `deletes::deleted_rows_that_are_still_there_are_never_shown`, `journal_spec::not_count_deleted_messages_against_the_limit` |
//! | a delete of an unknown id leaves a row | `deletes::a_delete_of_an_unknown_id_leaves_no_row` |
//! | columns may be NULL that are read as if not | `rows::the_tables_refuse_what_cannot_be_read_back` |
//! | the highest number is read beside writes in flight | `journal_spec::read_a_highest_that_fits_while_another_writes`; the actor in front waits besides |
//! | no write-ahead log, no busy time-out, nothing prepared | `opening::the_database_is_durable_and_private`, `locked::a_write_waits_for_the_lock_until_its_timeout_and_stores_nothing` |
//! | a whole stream is pushed without back-pressure | `pages::a_long_stream_is_read_page_by_page` |
//! | a failed initialisation ends everything | `opening::the_same_store_initializes_as_soon_as_the_cause_of_a_failure_is_gone` |
//! | a token is never disposed | cannot occur here: nothing is registered that would have to be |
//! | serialisation within the transaction | cannot occur here: payloads arrive encoded |
//! | the order of rows is not the order of commits | `rows::ordering_follows_commits_and_is_never_used_again` |
//!
//! | snapshot store: fault | test |
//! |---|---|
//! | a delete by timestamp fails or deletes a range | `snapshot_store_spec::delete_a_single_snapshot_identified_by_sequence_number_and_timestamp` |
//! | lower bounds are ignored | `snapshot_store_spec::load_by_every_bound_inclusively`, `snapshot_store_spec::delete_what_all_four_bounds_select_and_nothing_else` |
//! | timestamps are stored and compared as text | `rows::the_tables_refuse_what_cannot_be_read_back` |
//! | update, then insert | `snapshot_store_spec::save_and_overwrite_a_snapshot_with_the_same_sequence_number`; one upsert does both |
//! | an older save of the same number wins | `snapshot_store_spec::keep_the_last_of_many_saves_with_the_same_sequence_number` |
//! | the newest snapshot cannot be read, and no older one is tried | `rows::a_damaged_snapshot_is_an_error_and_the_one_before_can_be_asked_for` |
//! | no check of the table without auto-initialize | `opening::without_auto_initialize_nothing_is_made` |
#![allow(clippy::unwrap_used)]

mod at_once;
mod backup;
mod cancellation;
mod damage;
mod deletes;
#[cfg(feature = "sqlx-0_9")]
mod driver;
mod event_order;
mod event_queries;
mod extensions;
mod locked;
mod log;
mod lost_tail;
mod migrations;
mod opening;
mod pages;
mod place;
mod plugin;
#[cfg(feature = "sqlx-0_9")]
mod pools;
mod refusals;
mod rows;
mod same_file;
mod schema_steps;
mod schema_versions;
mod state_order;
mod statements;
mod states;
mod tables;
mod two_writers;
mod unfinished_copy;
