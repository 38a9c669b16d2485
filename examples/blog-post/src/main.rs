//! A blog on actix-persistence: writes posts, finds them by title and by words, and counts them.

mod lines;
mod searching;

use std::io::{self, IsTerminal, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use actix_persistence::{Config, Persistence, query::StateOffset};
use anyhow::Context;
use blog::{BlogPost, Post, open, totals, with_title};
use clap::{Parser, Subcommand};
use futures_util::StreamExt;

use crate::lines::{Blog, Change};

/// The database in which the blog keeps its posts without `--config`.
const DEFAULT_DATABASE: &str = "sqlite://blog.db";
/// The most posts that `find` prints.
const MOST_FOUND: usize = 100;
/// The time for which the blog waits in the end for what is under way.
const STOP_DEADLINE: Duration = Duration::from_secs(30);

/// A blog whose posts survive a crash.
#[derive(Parser)]
#[command(name = "blog-post", version)]
struct Arguments {
    /// The config file; without it the blog keeps its posts in blog.db in the working directory.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Writes a post, or writes it anew.
    Write {
        id: String,
        title: String,
        text: String,
    },
    /// Lets everybody read a post.
    Publish { id: String },
    /// Deletes a post.
    Delete { id: String },
    /// Makes the changes that come from standard input: write,ID,TITLE,TEXT or publish,ID or delete,ID in each line.
    Apply,
    /// Prints a post.
    Show { id: String },
    /// Prints the posts with a title.
    Find { title: String },
    /// Prints the posts that have all these words in their title or text.
    Search {
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Prints the numbers of drafts and of published posts.
    Counts,
    /// Prints each post that was changed, with its revision: the latest state of each, and then what changes.
    Watch {
        /// Ends when everything was printed.
        #[arg(long)]
        once: bool,
    },
}

#[actix::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into()),
        )
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .init();
    match run(arguments).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let place = match arguments.config {
        Some(file) => Config::from_file(file)?.with_environment(),
        None => Config::new()
            .with("persistence.state.plugin", "sqlite")
            .with("persistence.state.sqlite.url", DEFAULT_DATABASE)
            .with("persistence.offset-store.plugin", "sqlite")
            .with("persistence.offset-store.sqlite.url", DEFAULT_DATABASE),
    };
    let persistence = open(place).await?;
    let mut blog = Blog::new(&persistence);
    let one = match arguments.command {
        Command::Write { id, title, text } => (id, Change::Write { title, text }),
        Command::Publish { id } => (id, Change::Publish),
        Command::Delete { id } => (id, Change::Delete),
        other => return run_many(&persistence, blog, other).await,
    };
    let revision = blog.change(&one.0, one.1).await?;
    writeln!(io::stdout(), "revision {revision}")?;
    end(&persistence).await
}

async fn run_many(
    persistence: &Persistence,
    mut blog: Blog,
    command: Command,
) -> anyhow::Result<ExitCode> {
    match command {
        Command::Apply => {
            let refused = blog.apply(io::stdin().lock()).await?;
            end(persistence).await?;
            return Ok(match refused {
                0 => ExitCode::SUCCESS,
                _ => ExitCode::FAILURE,
            });
        }
        Command::Show { id } => show(persistence, &id).await?,
        Command::Find { title } => find(persistence, &title).await?,
        Command::Search { words } => searching::search(persistence, &words.join(" ")).await?,
        Command::Counts => {
            let totals = totals(persistence).await?;
            let (drafts, published) = (totals.drafts, totals.published);
            writeln!(io::stdout(), "{drafts} drafts, {published} published")?;
        }
        Command::Watch { once } => watch(persistence, once).await?,
        Command::Write { .. } | Command::Publish { .. } | Command::Delete { .. } => {}
    }
    end(persistence).await
}

async fn end(persistence: &Persistence) -> anyhow::Result<ExitCode> {
    let stopped = persistence.stop(STOP_DEADLINE).await;
    if !stopped.is_complete() {
        eprintln!("{stopped}");
    }
    Ok(ExitCode::SUCCESS)
}

async fn show(persistence: &Persistence, id: &str) -> anyhow::Result<()> {
    let seen = persistence.replay(BlogPost::new(id)).await?;
    let post = seen.actor.post().context("there is no such post")?;
    let Post { title, text, .. } = post;
    writeln!(io::stdout(), "{title} ({})\n{text}", kind(post))?;
    Ok(())
}

async fn find(persistence: &Persistence, title: &str) -> anyhow::Result<()> {
    let query = with_title(title, MOST_FOUND);
    for found in persistence.find_states::<Post>(None, query).await? {
        let id = found.persistence_id.entity_id();
        writeln!(
            io::stdout(),
            "{id}\t{}\t{}",
            found.revision,
            found.state.title
        )?;
    }
    Ok(())
}

async fn watch(persistence: &Persistence, once: bool) -> anyhow::Result<()> {
    let queries = persistence.state_queries(None)?;
    let (all, start) = (0..=1023, StateOffset::start());
    let mut changes = if once {
        queries.current_changes_by_slices::<Post>(BlogPost::ENTITY_TYPE, all, start)
    } else {
        queries.changes_by_slices::<Post>(BlogPost::ENTITY_TYPE, all, start)
    };
    while let Some(changed) = changes.next().await {
        let changed = changed?;
        let (id, revision) = (changed.persistence_id().entity_id(), changed.revision());
        match changed.state() {
            None => writeln!(io::stdout(), "{id}\t{revision}\tdeleted")?,
            Some(post) => {
                let (kind, title) = (kind(post), &post.title);
                writeln!(io::stdout(), "{id}\t{revision}\t{kind}\t{title}")?;
            }
        }
    }
    Ok(())
}

fn kind(post: &Post) -> &'static str {
    if post.is_published {
        "published"
    } else {
        "draft"
    }
}
