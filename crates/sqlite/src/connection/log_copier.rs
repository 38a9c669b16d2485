//! Copies the write-ahead log to the database on connections of its own, while the writer goes on.

use actix_persistence_sql::{Role, SqlError};
use sqlx::{Connection, SqliteConnection};
use tokio::task::JoinHandle;

use super::file::FileId;
use super::position::{LogEnd, NoteFile};
use super::{SqliteConnector, log, opening};
use crate::queries;

/// The connections that copy the log, one copy at a time.
///
/// A copy that is under way goes on to its end even if this is dropped. Whatever is copied again later does no harm.
#[derive(Debug)]
pub(super) struct LogCopier {
    settings: SqliteConnector,
    /// The database of the writer.
    file: FileId,
    /// The connections between two copies; they are opened for the first one.
    connections: Option<Connections>,
    under_way: Option<JoinHandle<Ended>>,
    /// The frames that the last copy found in the database when it ended.
    copied: LogEnd,
}

#[derive(Debug)]
struct Connections {
    /// Reads while a copy is under way: what is committed after it began to read is not copied. Such transactions may not
    /// be noted yet, and a copy of a part of them must never meet a log without them.
    bound: SqliteConnection,
    copies: SqliteConnection,
}

/// The end of a copy.
#[derive(Debug)]
struct Ended {
    /// The connections, if they can be used again.
    connections: Option<Connections>,
    copied: LogEnd,
}

impl LogCopier {
    pub(super) fn new(settings: &SqliteConnector, file: FileId) -> Self {
        Self {
            settings: settings.clone(),
            file,
            connections: None,
            under_way: None,
            copied: LogEnd::default(),
        }
    }

    /// Returns whether no copy is under way.
    pub(super) async fn is_idle(&mut self) -> bool {
        if self.under_way.as_ref().is_some_and(JoinHandle::is_finished) {
            self.finish().await;
        }
        self.under_way.is_none()
    }

    /// Returns the frames that are known to be copied, of this log or of one before it.
    pub(super) fn copied(&self) -> LogEnd {
        self.copied
    }

    /// Begins to copy this log, up to what is noted now; not to be called while a copy is under way.
    pub(super) async fn start(&mut self, end: LogEnd, note: &NoteFile) -> Result<(), SqlError> {
        let mut connections = match self.connections.take() {
            Some(connections) => connections,
            None => Connections::open(&self.settings, self.file).await?,
        };
        connections.begin().await?;
        let (settings, note) = (self.settings.clone(), note.clone());
        self.under_way = Some(tokio::spawn(async move {
            let copied = connections.copy(&note).await;
            let (connections, frames) = match copied {
                Ok(frames) => (Some(connections), frames),
                Err(error) => {
                    log::warn_of_copy(&settings.location, &error);
                    (None, 0)
                }
            };
            let copied = LogEnd { frames, ..end };
            Ended {
                connections,
                copied,
            }
        }));
        Ok(())
    }

    /// Waits until no copy is under way.
    pub(super) async fn finish(&mut self) {
        let Some(under_way) = self.under_way.take() else {
            return;
        };
        // It was cancelled if the runtime ends.
        if let Ok(ended) = under_way.await {
            self.connections = ended.connections;
            self.copied = ended.copied;
        }
    }

    /// Waits for a copy that is under way, and closes the connections: the last one of a database that closes copies what is
    /// left.
    pub(super) async fn close(mut self) {
        self.finish().await;
        if let Some(Connections { bound, copies }) = self.connections {
            for connection in [bound, copies] {
                let _ = connection.close().await;
            }
        }
    }
}

impl Connections {
    /// Opens the database and the log that the writer has.
    async fn open(settings: &SqliteConnector, file: FileId) -> Result<Self, SqlError> {
        let open = async |role| {
            let mut connection = opening::open(settings, role).await?;
            settings.check_file(file)?;
            log::check_opened(&mut connection, &settings.location).await?;
            Ok::<_, SqlError>(connection)
        };
        Ok(Self {
            bound: open(Role::Reader).await?,
            copies: open(Role::Writer).await?,
        })
    }

    async fn begin(&mut self) -> Result<(), SqlError> {
        let begun = sqlx::raw_sql(queries::BEGIN_TO_READ).execute(&mut self.bound);
        begun.await?;
        Ok(())
    }

    /// Copies what was committed before the beginning; returns the number of frames that are in the database.
    async fn copy(&mut self, note: &NoteFile) -> Result<u32, SqlError> {
        note.copying().await;
        let copied = log::copy(&mut self.copies).await?;
        // The note goes on saying so while another process copies the log.
        if copied.is_some() {
            note.copied();
        }
        let ended = sqlx::raw_sql(queries::END_READING).execute(&mut self.bound);
        ended.await?;
        Ok(copied.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use actix_persistence_sql::Connector;

    use super::super::tests::{database, store};
    use super::*;

    /// The note says nothing of them yet.
    #[tokio::test]
    async fn what_is_committed_while_the_log_is_copied_is_not_copied() {
        let (_directory, database) = database().await;
        let connector = database.connector();
        let mut open = connector.open(Role::Writer).await.unwrap();
        store(&mut open.connection, "INSERT INTO t VALUES (1)").await;
        connector.check_committed(&mut open).await.unwrap();
        let noted = log::frames(&mut open.connection).await.unwrap();

        let mut connections = Connections::open(connector, open.file).await.unwrap();
        connections.begin().await.unwrap();
        store(&mut open.connection, "INSERT INTO t VALUES (2)").await;
        let note = open.upkeep.as_ref().unwrap().position.note();
        let copied = connections.copy(note).await.unwrap();
        let frames = log::frames(&mut open.connection).await.unwrap();
        assert!(copied == noted && noted < frames, "{copied} of {frames}");

        connections.begin().await.unwrap();
        assert_eq!(connections.copy(note).await.unwrap(), frames);
    }

    #[tokio::test]
    async fn a_log_begins_anew_while_its_writer_goes_on() {
        let (directory, database) = database().await;
        let connector = database.connector();
        let mut open = connector.open(Role::Writer).await.unwrap();
        store(&mut open.connection, "INSERT INTO t VALUES (1)").await;
        let mut largest = 0;
        for _ in 0..160 {
            // A hundred frames each, in the table and its index.
            store(
                &mut open.connection,
                "UPDATE t SET a = randomblob(200 * 1024)",
            )
            .await;
            connector.check_committed(&mut open).await.unwrap();
            largest = largest.max(log::frames(&mut open.connection).await.unwrap());
        }
        assert!((4_000..12_200).contains(&largest), "{largest}");
        let log = directory.path().join("some.db-wal");
        let bytes = std::fs::metadata(&log).unwrap().len();
        assert!(bytes < 50 << 20, "{bytes}");
        connector.close(open, Role::Writer).await;
        database.close().await;
        assert!(!log.exists(), "the copies are over");
    }
}
