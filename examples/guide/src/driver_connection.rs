//! A blog whose words are counted with sqlx, in the transaction that stores the post.
//!
//! ```text
//! cargo run -p guide -- driver_connection blog.db
//! ```

use actix::prelude::*;
use actix_persistence::payload::decode_state;
use actix_persistence::prelude::*;
use actix_persistence::sql::{ChangeHandler, ExtensionError, Session, SqliteSession, StateChange};
use actix_persistence::sqlite::{Pools, SqlitePlugin};
use actix_persistence::{Config, Persistence};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};

#[derive(Clone, Serialize, Deserialize)]
struct Post {
    text: String,
}

impl State for Post {
    const MANIFEST: &'static str = "blog.post";
    const VERSION: u32 = 1;
}

struct BlogPost {
    id: &'static str,
}

impl Actor for BlogPost {
    type Context = PersistentContext<Self>;
}

impl DurableState for BlogPost {
    type State = Post;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("BlogPost", self.id)
    }

    fn on_state(&mut self, _: Option<&Post>) {}
}

#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Write(&'static str);

impl Handler<Write> for BlogPost {
    type Result = Reply<Write>;

    fn handle(&mut self, Write(text): Write, ctx: &mut Self::Context) -> Reply<Write> {
        let text = text.to_owned();
        ctx.persist(Post { text }).reply(|_| Ok(()))
    }
}

// ANCHOR: handler
/// Keeps the words of each post in a table of the application.
struct Words;

#[async_trait]
impl ChangeHandler for Words {
    async fn process(
        &self,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        let id = change.persistence_id.as_str();
        let post: Option<Post> = change.payload().map(decode_state).transpose()?;
        let connection = session.sqlite().await?;
        // A savepoint in the transaction of the store.
        let mut replacing = connection.begin().await?;
        sqlx::query("DELETE FROM words WHERE post = ?")
            .bind(id)
            .execute(&mut *replacing)
            .await?;
        for word in post.iter().flat_map(|post| post.text.split_whitespace()) {
            sqlx::query("INSERT INTO words (post, word) VALUES (?, ?)")
                .bind(id)
                .bind(word)
                .execute(&mut *replacing)
                .await?;
        }
        replacing.commit().await?;
        Ok(())
    }
}
// ANCHOR_END: handler

// ANCHOR: pool
const CONFIG: &str = r#"
[persistence.state]
plugin = "blog"

[persistence.state.blog]
kind = "sqlite"
pool = "main"                      # in the place of url

[persistence.state.blog.change-handler]
BlogPost = "words"
"#;

async fn open(pool: &SqlitePool) -> anyhow::Result<Persistence> {
    let plugin = SqlitePlugin::with_resources(Pools::new().with("main", pool.clone()));
    let persistence = Persistence::builder()
        .config(Config::from_toml(CONFIG, "blog.toml")?)
        .plugin(plugin)
        .change_handler("words", Words)
        .open()
        .await?;
    Ok(persistence)
}
// ANCHOR_END: pool

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let file = std::env::args().nth(2).unwrap_or("blog.db".to_owned());
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true);
    let pool = SqlitePool::connect_lazy_with(options);
    sqlx::query("CREATE TABLE IF NOT EXISTS words (post TEXT, word TEXT)")
        .execute(&pool)
        .await?;

    let persistence = open(&pool).await?;
    let blog = persistence.start(|| BlogPost { id: "first" })?;
    for text in ["to be or not to be", "that is the question"] {
        if let Err(error) = blog.send(Write(text)).await? {
            println!("{error}");
        }
        let words: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM words")
            .fetch_one(&pool)
            .await?;
        println!("{words} words");
    }
    Ok(())
}
