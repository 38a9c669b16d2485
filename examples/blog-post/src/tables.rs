//! The tables that belong to the blog.

use actix_persistence::sql::{SchemaStep, SchemaSteps};

/// The table of the posts, as the config names it.
pub(crate) const POSTS: &str = "blog_post";

/// Returns the steps that make the tables which count posts and have their words, which compare texts byte by byte, and the one
/// row with the counts.
pub(crate) fn steps() -> SchemaSteps {
    let steps = [
        SchemaStep::new(
            "CREATE TABLE blog_counted (persistence_id VARCHAR(255) PRIMARY KEY, counted_as VARCHAR(9) NOT NULL)",
        )
        .on(
            "mysql",
            "CREATE TABLE blog_counted (persistence_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, \
             counted_as VARCHAR(9) NOT NULL)",
        ),
        SchemaStep::new(
            "CREATE TABLE blog_count (drafts BIGINT NOT NULL, published BIGINT NOT NULL)",
        ),
        SchemaStep::new("INSERT INTO blog_count (drafts, published) VALUES (0, 0)"),
        SchemaStep::new(
            "CREATE TABLE blog_word (word VARCHAR(50) NOT NULL, persistence_id VARCHAR(255) NOT NULL, \
             PRIMARY KEY (word, persistence_id))",
        )
        .on(
            "mysql",
            "CREATE TABLE blog_word (word VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, \
             persistence_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, \
             PRIMARY KEY (word, persistence_id))",
        ),
        SchemaStep::index("blog_word_by_post", "blog_word", "persistence_id"),
    ];
    SchemaSteps::new("blog", steps).with_tables(["blog_counted", "blog_count", "blog_word"])
}
