//! The statements that make tables.

use std::io::{self, Write};
use std::path::PathBuf;

use actix_persistence::{
    Builder, Config,
    sql::{Roles, StoreSchema},
};
use anyhow::Context;

/// The arguments of `schema`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The config of the application, in TOML or HOCON.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The role that shall own the tables.
    #[arg(long, value_name = "ROLE", requires = "application")]
    owner: Option<String>,
    /// The role with which the application logs in.
    #[arg(long, value_name = "ROLE", requires = "owner")]
    application: Option<String>,
}

pub(crate) fn run(builder: Builder, arguments: &Arguments) -> anyhow::Result<()> {
    let roles = arguments.owner.clone().zip(arguments.application.clone());
    let roles = roles.map(|(owner, application)| Roles { owner, application });
    let config = Config::from_file(&arguments.config)?.with_environment();
    let schemas = builder.config(config).schema(roles.as_ref())?;
    let text: String = schemas.iter().map(to_text).collect();
    let mut output = io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .context("could not write to the standard output")
}

fn to_text(schema: &StoreSchema) -> String {
    let StoreSchema {
        sort, plugin_id, ..
    } = schema;
    let head = format!("-- The {sort} '{plugin_id}'");
    match &schema.sql {
        Some(sql) => format!("{head}.\n\n{sql}\n"),
        None => format!("{head} needs nothing.\n\n"),
    }
}
