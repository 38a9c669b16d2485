//! The words of the posts in a table: a read model, kept by a projection of the changes.

use std::collections::BTreeSet;

use actix_persistence::projection::{ExactlyOnceHandler, ExtensionError, Projection, Session};
use actix_persistence::query::{Changed, StateOffset};
use actix_persistence::sql::SessionWork;
use actix_persistence::{Persistence, PersistenceId, Timestamp};
use async_trait::async_trait;

use crate::{BlogPost, Post};

/// The most letters of a word by which a post is found.
const MAX_LETTERS: usize = 50;

/// Keeps the words of each post, in the transaction that stores how far it has read.
pub struct Words;

#[async_trait]
impl ExactlyOnceHandler<Changed<Post>> for Words {
    async fn handle(
        &self,
        session: &mut dyn Session,
        changed: &Changed<Post>,
    ) -> Result<(), ExtensionError> {
        let id = changed.persistence_id().as_str();
        let sql = "DELETE FROM blog_word WHERE persistence_id = $1";
        session.execute(sql, [id.into()]).await?;
        // A post that was deleted has no words.
        let post = changed.state();
        let words = post.map(|post| words_of(&format!("{} {}", post.title, post.text)));
        for word in words.iter().flatten() {
            let sql = "INSERT INTO blog_word (word, persistence_id) VALUES ($1, $2)";
            session
                .execute(sql, [word.as_str().into(), id.into()])
                .await?;
        }
        Ok(())
    }
}

/// Returns the words of a text, each once, in small letters.
fn words_of(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words
        .map(|word| word.to_lowercase().chars().take(MAX_LETTERS).collect())
        .collect()
}

/// Keeps the table of words up to date until the handle is stopped; all processes that do so share the work.
///
/// # Errors
/// If the config has no offset store in a database.
pub fn keep_words(persistence: &Persistence) -> anyhow::Result<Projection> {
    let changes = persistence
        .projection("words")
        .of_changes::<Post>(None, BlogPost::ENTITY_TYPE)?;
    Ok(changes.exactly_once(Words)?)
}

/// Returns the offset after every change of a post that is stored by now.
///
/// # Errors
/// If the store returns an error.
///
/// # Cancel safety
/// Has no effect that could be lost.
pub async fn newest_change(persistence: &Persistence) -> anyhow::Result<StateOffset> {
    let queries = persistence.state_queries(None)?;
    let newest = queries.offset_at(BlogPost::ENTITY_TYPE, Timestamp::MAX);
    Ok(newest.await?)
}

/// Returns the posts that have all words of a text, as the table has them, by their names; none for a text without words.
///
/// # Errors
/// If the store returns an error.
///
/// # Cancel safety
/// Has no effect that could be lost.
pub async fn posts_with(persistence: &Persistence, text: &str) -> anyhow::Result<Vec<String>> {
    let words = words_of(text);
    let reading = SessionWork::new(move |session| {
        Box::pin(async move {
            let mut found: Option<BTreeSet<String>> = None;
            for word in words {
                let sql = "SELECT persistence_id FROM blog_word WHERE word = $1";
                let rows = session.select(sql, [word.as_str().into()]).await?;
                let ids = rows.iter().map(|row| row.get::<String>("persistence_id"));
                let ids = ids.collect::<Result<BTreeSet<_>, _>>()?;
                found = Some(match found {
                    Some(before) => before.intersection(&ids).cloned().collect(),
                    None => ids,
                });
            }
            Ok(found.unwrap_or_default())
        })
    });
    let found = persistence.transact(None, reading).await?;
    let names = found.into_iter().map(|id| {
        let id = PersistenceId::of_unique(&id);
        id.entity_id().to_owned()
    });
    Ok(names.collect())
}
