//! What the plugin promises beyond the conformance kit.
//!
//! The faults of the sample provider of Akka.NET (`Akka.Persistence.Custom`), and what shows that they are not here;
//! cases of the kit have their prefix.
//!
//! | journal | shown by |
//! |---|---|
//! | trouble with the database becomes a rejection | [`locked`], `connection::tests` of the crate: always an `Err` with its effect |
//! | a cancelled write counts as accepted | [`cancellation`], `journal_spec::` cases on dropped calls |
//! | parallel transactions store 3 without 2 | [`two_writers`]; one writer, one transaction for a group |
//! | later writes are stored after an earlier one was not | `journal_spec::` cases of J-WRITE-6 |
//! | the writer is not stored | `journal_spec::` cases of J-WRITE-7 |
//! | one manifest column for serializer and adapter | `journal_serialization_spec::` adapter manifest case |
//! | the timestamp is always 0 | `journal_spec::` cases of J-WRITE-7: it comes with the event and comes back |
//! | tags are lost | [`rows::tags_are_found_by_tag_and_removed_with_their_events`] |
//! | rows marked as deleted are read | [`deletes::deleted_rows_that_are_still_there_are_never_shown`] |
//! | a delete of an unknown id leaves a row | [`deletes::a_delete_of_an_unknown_id_leaves_no_row`] |
//! | columns may be NULL that are read as if not | [`rows::the_tables_refuse_what_cannot_be_read_back`] |
//! | the highest number is read beside writes in flight | cannot occur here: the actor in front waits, and the fence counts what was stored |
//! | no write-ahead log, no busy time-out, nothing prepared | [`opening::the_database_is_durable_and_private`], [`locked`] |
//! | a whole stream is pushed without back-pressure | [`pages`] |
//! | a failed initialisation ends everything | [`opening`]: initialising again works as soon as the cause is gone |
//! | a token is never disposed | cannot occur here: nothing is registered that would have to be |
//! | serialisation within the transaction | cannot occur here: payloads arrive encoded |
//! | the order of rows is not the order of commits | [`rows::ordering_follows_commits_and_is_never_used_again`] |
//!
//! | snapshot store | shown by |
//! |---|---|
//! | a delete by timestamp fails or deletes a range | `snapshot_store_spec::` cases of S-DELETE-1 |
//! | lower bounds are ignored | `snapshot_store_spec::` cases of S-LOAD-1 and S-DELETE-3 |
//! | timestamps are compared as text | [`rows::the_tables_refuse_what_cannot_be_read_back`] |
//! | update, then insert | cannot occur here: one upsert, see the cases of S-SAVE-2 |
//! | an older save of the same number wins | `snapshot_store_spec::` cases of S-SAVE-2; saves of an id come one by one |
//! | the newest snapshot cannot be read, and no older one is tried | [`rows::a_damaged_snapshot_is_an_error_and_the_one_before_can_be_asked_for`] |
//! | no check of the table without auto-initialize | [`opening::without_auto_initialize_nothing_is_made`] |
#![allow(clippy::unwrap_used)]

mod cancellation;
mod crash;
mod deletes;
mod locked;
mod opening;
mod pages;
mod place;
mod rows;
mod same_file;
mod schema_versions;
mod two_writers;
