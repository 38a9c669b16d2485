//! The number of posts, kept in step with them.

use actix_persistence::{
    Persistence,
    payload::decode_state,
    sql::{ChangeHandler, ExtensionError, Session, SessionWork, StateChange},
};
use async_trait::async_trait;

use crate::Post;

/// Counts drafts and published posts in the transaction that stores the post.
pub struct Counts;

/// The numbers of drafts and of published posts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Posts that only their author sees.
    pub drafts: i64,
    /// Posts that everybody may read.
    pub published: i64,
}

const DRAFT: &str = "draft";
const PUBLISHED: &str = "published";

#[async_trait]
impl ChangeHandler for Counts {
    async fn process(
        &self,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        let id = change.persistence_id.as_str();
        let after = match change.payload() {
            Some(payload) if decode_state::<Post>(payload)?.is_published => Some(PUBLISHED),
            Some(_) => Some(DRAFT),
            None => None,
        };
        let sql = "SELECT counted_as FROM blog_counted WHERE persistence_id = $1";
        let before = session.select_one(sql, [id.into()]);
        let before = before.await?.map(|row| row.get::<String>("counted_as"));
        let before = before.transpose()?;
        let before = before.as_deref();
        if before == after {
            return Ok(());
        }
        let sql = "DELETE FROM blog_counted WHERE persistence_id = $1";
        session.execute(sql, [id.into()]).await?;
        if let Some(after) = after {
            let sql = "INSERT INTO blog_counted (persistence_id, counted_as) VALUES ($1, $2)";
            let values = [id.into(), after.into()];
            session.execute(sql, values).await?;
        }
        let more = |kind| i64::from(after == Some(kind)) - i64::from(before == Some(kind));
        let sql = "UPDATE blog_count SET drafts = drafts + $1, published = published + $2";
        let values = [more(DRAFT).into(), more(PUBLISHED).into()];
        session.execute(sql, values).await?;
        Ok(())
    }
}

/// Reads the counts of the blog.
///
/// # Errors
/// If the store returns an error.
///
/// # Cancel safety
/// Has no effect that could be lost.
pub async fn totals(persistence: &Persistence) -> anyhow::Result<Totals> {
    let reading = SessionWork::new(|session| {
        Box::pin(async move {
            let sql = "SELECT drafts, published FROM blog_count";
            let row = session.select_one(sql, []).await?;
            let row = row.ok_or("the table of counts has no row")?;
            Ok(Totals {
                drafts: row.get("drafts")?,
                published: row.get("published")?,
            })
        })
    });
    Ok(persistence.transact(None, reading).await?)
}
