//! The column and the tables that belong to the blog.

use actix_persistence::Persistence;
use actix_persistence::sql::SessionWork;

/// The table of the posts, as the config names it.
pub(crate) const POSTS: &str = "blog_post";

/// A table or column that the blog needs.
struct Needed {
    /// Fails as long as it is not there.
    looks: &'static str,
    makes: &'static str,
}

/// Returns the tables that count posts, which compare ids byte by byte, and the one row with the counts.
fn needed(database: &str) -> [Needed; 3] {
    [
        Needed {
            looks: "SELECT title FROM blog_post WHERE 1 = 0",
            makes: "ALTER TABLE blog_post ADD COLUMN title TEXT",
        },
        Needed {
            looks: "SELECT counted_as FROM blog_counted WHERE 1 = 0",
            makes: match database {
                "mysql" => {
                    "CREATE TABLE IF NOT EXISTS blog_counted (persistence_id VARCHAR(255) CHARACTER SET utf8mb4 \
                     COLLATE utf8mb4_bin PRIMARY KEY, counted_as VARCHAR(9) NOT NULL)"
                }
                _ => {
                    "CREATE TABLE IF NOT EXISTS blog_counted (persistence_id VARCHAR(255) PRIMARY KEY, \
                     counted_as VARCHAR(9) NOT NULL)"
                }
            },
        },
        Needed {
            looks: "SELECT drafts FROM blog_count WHERE 1 = 0",
            makes: "CREATE TABLE IF NOT EXISTS blog_count AS SELECT 0 AS drafts, 0 AS published",
        },
    ]
}

/// Makes what is not there yet; several programs may do so at once.
pub(crate) async fn make(persistence: &Persistence) -> anyhow::Result<()> {
    let database = SessionWork::new(|session| Box::pin(async move { Ok(session.database()) }));
    let database = persistence.transact(None, database).await?;
    for Needed { looks, makes } in needed(database) {
        if run(persistence, looks).await.is_ok() {
            continue;
        }
        let made = run(persistence, makes).await;
        // Another program may have been faster.
        if made.is_err() && run(persistence, looks).await.is_err() {
            return made;
        }
    }
    Ok(())
}

async fn run(persistence: &Persistence, sql: &'static str) -> anyhow::Result<()> {
    let running = SessionWork::new(move |session| {
        Box::pin(async move {
            session.execute(sql, []).await?;
            Ok(())
        })
    });
    Ok(persistence.transact(None, running).await?)
}
