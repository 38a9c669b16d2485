//! The tables that belong to the blog.

use actix_persistence::sql::{SchemaStep, SchemaSteps};

/// The table of the posts, as the config names it.
pub(crate) const POSTS: &str = "blog_post";

/// Returns the steps that make the tables which count posts, which compare ids byte by byte, and the one row with the counts.
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
    ];
    SchemaSteps::new("blog", steps).with_tables(["blog_counted", "blog_count"])
}
