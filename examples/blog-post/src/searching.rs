//! Finds posts by their words.

use std::io::{self, Write as _};
use std::time::Duration;

use actix_persistence::Persistence;
use actix_persistence::projection::AppliedError;
use anyhow::bail;
use blog::{BlogPost, keep_words, newest_change, posts_with};

/// The interval at which a person who waits hears that the table is still behind.
const STILL_BEHIND: Duration = Duration::from_secs(2);

/// Brings the table of words up to date, and prints the posts that have all words of a text.
pub(crate) async fn search(persistence: &Persistence, text: &str) -> anyhow::Result<()> {
    catch_up(persistence).await?;
    for name in posts_with(persistence, text).await? {
        let seen = persistence.replay(BlogPost::new(&name)).await?;
        // It may have been deleted in between.
        if let Some(post) = seen.actor.post() {
            writeln!(io::stdout(), "{name}\t{}", post.title)?;
        }
    }
    Ok(())
}

/// Waits until the table has every change that is stored by now, beside any other process that does the same.
async fn catch_up(persistence: &Persistence) -> anyhow::Result<()> {
    let words = keep_words(persistence)?;
    let stored = newest_change(persistence).await?;
    while let Err(error) = words.applied(&stored, STILL_BEHIND).await {
        let AppliedError::Timeout { .. } = error else {
            return Err(error.into());
        };
        let record = words.record().await?;
        let mut shares = record.iter().flat_map(|record| &record.shares);
        if let Some(reason) = shares.find_map(|share| share.halted.as_ref()) {
            bail!("the table of words is not kept any more: {reason}");
        }
        eprintln!("search: not up to date yet, waiting");
    }
    words.stop().await;
    Ok(())
}
