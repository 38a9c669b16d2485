//! Opens the stores of posts, with the tables and columns beside them.

use actix_persistence::{Config, Persistence};

use crate::{BlogPost, Counts, Title, tables};

/// Opens the state store that a config names, with the column and the tables of the blog, which the store makes if its
/// config says so.
///
/// # Errors
/// Mistakes in the config, and whatever keeps the store from being used.
pub async fn open(place: Config) -> anyhow::Result<Persistence> {
    // Whatever the plugin id.
    let of_posts = |key: &str| {
        let entity_type = BlogPost::ENTITY_TYPE;
        format!("persistence.state-plugin-fallback.{key}.{entity_type}")
    };
    let place = place
        .with(&of_posts("custom-table"), tables::POSTS)
        .with(&of_posts("additional-columns"), "title")
        .with(&of_posts("change-handler"), "counts");
    let builder = Persistence::builder()
        .config(place)
        .schema_steps(tables::steps())
        .additional_column("title", Title)
        .change_handler("counts", Counts);
    let persistence = builder.open().await?;
    persistence.ready().await?;
    Ok(persistence)
}
