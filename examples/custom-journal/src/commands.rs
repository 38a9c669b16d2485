//! The command that this plugin has beside the methods of every journal.

use actix_persistence_storage_api::{CommandRules, JournalCommand};

// ANCHOR: log_size
/// Asks how long the log is, which only grows; the answer is in bytes.
pub struct LogSize;

impl JournalCommand for LogSize {
    type Answer = u64;

    fn rules(&self) -> CommandRules {
        CommandRules::beside()
    }
}
// ANCHOR_END: log_size
