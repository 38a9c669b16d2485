//! Statements of the blog that belong to no change of a post.

use std::pin::Pin;

use actix_persistence::sql::SessionWork;
use actix_persistence::{
    Persistence,
    sql::{ExtensionError, Session},
};
use tokio::sync::oneshot;

/// The result of code that uses a session.
pub(crate) type InSession<'s, T> =
    Pin<Box<dyn Future<Output = Result<T, ExtensionError>> + Send + 's>>;

/// Runs code in a transaction of its own, and returns what it returns once that is committed.
pub(crate) async fn in_session<T, F>(persistence: &Persistence, code: F) -> anyhow::Result<T>
where
    T: Send + 'static,
    F: for<'s> FnOnce(&'s mut dyn Session) -> InSession<'s, T> + Send + 'static,
{
    let (sender, given) = oneshot::channel();
    let work = SessionWork::new(move |session| {
        let running = code(session);
        Box::pin(async move {
            let _ = sender.send(running.await?);
            Ok(())
        })
    });
    persistence.transact(None, work).await?;
    Ok(given.await?)
}
