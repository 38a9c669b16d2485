//! The column and the tables that belong to the blog.

use actix_persistence::{Persistence, Sql};

use crate::session::in_session;

/// The table of the posts, as the config names it.
pub(crate) const POSTS: &str = "blog_post";

/// The tables as statements name them.
pub(crate) struct Tables {
    posts: String,
    /// How each post is counted.
    pub(crate) counted: String,
    /// One row with the counts.
    pub(crate) count: String,
}

/// Something that the blog needs.
struct Needed {
    /// Fails as long as it is not there.
    looks: String,
    makes: String,
}

impl Tables {
    /// Those of a database, by the name of its plugin.
    pub(crate) fn on(database: &str) -> Self {
        // The connections of the store look nowhere unless told to, so that nobody else's table is taken for one of ours.
        let schema = match database {
            "postgres" => "public.",
            _ => "",
        };
        Self {
            posts: format!("{schema}{POSTS}"),
            counted: format!("{schema}blog_counted"),
            count: format!("{schema}blog_count"),
        }
    }

    fn needed(&self, database: &str) -> [Needed; 3] {
        let Self {
            posts,
            counted,
            count,
        } = self;
        let id = match database {
            // Ids are told apart by their bytes.
            "mysql" => "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            _ => "VARCHAR(255)",
        };
        [
            Needed {
                looks: format!("SELECT title FROM {posts} WHERE 1 = 0"),
                makes: format!("ALTER TABLE {posts} ADD COLUMN title TEXT"),
            },
            Needed {
                looks: format!("SELECT counted_as FROM {counted} WHERE 1 = 0"),
                makes: format!(
                    "CREATE TABLE IF NOT EXISTS {counted} \
                     (persistence_id {id} PRIMARY KEY, counted_as VARCHAR(9) NOT NULL)"
                ),
            },
            Needed {
                looks: format!("SELECT drafts FROM {count} WHERE 1 = 0"),
                makes: format!(
                    "CREATE TABLE IF NOT EXISTS {count} AS SELECT 0 AS drafts, 0 AS published"
                ),
            },
        ]
    }
}

/// Makes what is not there yet; several programs may do so at once.
pub(crate) async fn make(persistence: &Persistence) -> anyhow::Result<()> {
    let database = in_session(persistence, |session| {
        Box::pin(async move { Ok(session.database()) })
    });
    let database = database.await?;
    for Needed { looks, makes } in Tables::on(database).needed(database) {
        if run(persistence, &looks).await.is_ok() {
            continue;
        }
        let made = run(persistence, &makes).await;
        // Another program may have been faster.
        if made.is_err() && run(persistence, &looks).await.is_err() {
            return made;
        }
    }
    Ok(())
}

async fn run(persistence: &Persistence, sql: &str) -> anyhow::Result<()> {
    let sql = Sql::assert_safe(sql.to_owned());
    let running = in_session(persistence, |session| {
        Box::pin(async move {
            session.execute(sql, []).await?;
            Ok(())
        })
    });
    running.await
}
