//! Opens the stores of posts, with the tables and columns beside them.

use actix_persistence::{Config, Persistence};

use crate::{BlogPost, Counts, Title, tables};

/// Opens the state store that a config names, makes what the blog needs there, and adds it to the store.
///
/// # Errors
/// Mistakes in the config, and whatever keeps the store from being used.
pub async fn open(place: Config) -> anyhow::Result<Persistence> {
    // Whatever the plugin id.
    let of_posts = |key: &str| {
        let entity_type = BlogPost::ENTITY_TYPE;
        format!("persistence.state-plugin-fallback.{key}.{entity_type}")
    };
    let place = place.with(&of_posts("custom-table"), tables::POSTS);
    // A store refuses a column that is not there, so it learns of it only when it is.
    let without_columns = Persistence::open(place.clone()).await?;
    without_columns.ready().await?;
    tables::make(&without_columns).await?;
    drop(without_columns);
    let place = place
        .with(&of_posts("additional-columns"), "title")
        .with(&of_posts("change-handler"), "counts");
    let builder = Persistence::builder()
        .config(place)
        .additional_column("title", Title)
        .change_handler("counts", Counts);
    let persistence = builder.open().await?;
    persistence.ready().await?;
    Ok(persistence)
}
