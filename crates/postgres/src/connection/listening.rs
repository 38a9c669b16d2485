//! A connection that listens for what other sessions say.

use std::io;
use std::time::Duration;

use actix_persistence_sql::SqlError;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::timeout;

use super::PostgresConnector;

/// The silence after which the server is asked whether it is still there: a connection may be lost without a word.
const SILENCE: Duration = Duration::from_secs(30);

impl PostgresConnector {
    /// Listens on a channel, and calls `heard` with each payload, and with an empty one when it begins. Returns why it has ended.
    pub(crate) async fn listen(&self, channel: &str, heard: impl Fn(&str)) -> SqlError {
        let listener = match self.listener(channel).await {
            Ok(listener) => listener,
            Err(error) => return error,
        };
        heard("");
        hear(listener, self.options.server.connect_timeout, heard).await
    }

    async fn listener(&self, channel: &str) -> Result<PgListener, SqlError> {
        let limit = self.options.server.connect_timeout;
        let options = self.connect_options().await?;
        // The driver's listener takes its connection from a pool, and keeps it.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(limit)
            .connect_lazy_with(options);
        let listening = async {
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.eager_reconnect(false);
            listener.listen(channel).await?;
            Ok(listener)
        };
        let listening = timeout(limit, listening).await;
        listening.unwrap_or(Err(SqlError::Silent))
    }
}

/// Calls `heard` for each payload, as long as the connection lasts.
async fn hear(mut listener: PgListener, limit: Duration, heard: impl Fn(&str)) -> SqlError {
    loop {
        match timeout(SILENCE, listener.try_recv()).await {
            Ok(Ok(Some(notification))) => heard(notification.payload()),
            Ok(Ok(None)) => return ended(io::ErrorKind::ConnectionAborted.into()),
            Ok(Err(error)) => return error.into(),
            Err(_) => {
                let asked = sqlx::query("SELECT 1").persistent(false);
                match timeout(limit, asked.execute(&mut listener)).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => return error.into(),
                    Err(_) => return SqlError::Silent,
                }
            }
        }
    }
}

fn ended(error: io::Error) -> SqlError {
    sqlx::Error::Io(error).into()
}
