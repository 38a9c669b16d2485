//! Ends the statement of a connection that was given up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_persistence_sql::SqlError;
use sqlx::SqliteConnection;

/// The number of instructions of its virtual machine after which SQLite asks again: less than a millisecond.
const INSTRUCTIONS: i32 = 10_000;

/// A guard that, when dropped, ends the statement that the connection runs: in a thread of its own that would go on,
/// and hold the lock of the database, as long as it likes. Code of the application may have given up one that never
/// ends.
#[derive(Debug)]
pub(super) struct Release(Arc<AtomicBool>);

impl Release {
    pub(super) async fn of(connection: &mut SqliteConnection) -> Result<Self, SqlError> {
        let is_released = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_released);
        connection
            .lock_handle()
            .await?
            .set_progress_handler(INSTRUCTIONS, move || !seen.load(Ordering::Relaxed));
        Ok(Self(is_released))
    }
}

impl Release {
    /// Ends the statement now, and every one that takes as long afterwards.
    pub(super) fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        self.now();
    }
}
