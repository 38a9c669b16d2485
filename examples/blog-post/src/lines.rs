//! Changes, one by one or line by line.

use std::collections::HashMap;
use std::io::{self, Read, Write as _};

use actix::Addr;
use actix_persistence::{Persistence, Revision};
use anyhow::bail;
use blog::{BlogPost, Delete, PostError, Publish, Write};
use csv::StringRecord;

/// A change of one post.
pub(crate) enum Change {
    Write { title: String, text: String },
    Publish,
    Delete,
}

/// The posts that were changed, each with its actor.
pub(crate) struct Blog {
    persistence: Persistence,
    posts: HashMap<String, Addr<BlogPost>>,
}

impl Blog {
    pub(crate) fn new(persistence: &Persistence) -> Self {
        Self {
            persistence: persistence.clone(),
            posts: HashMap::new(),
        }
    }

    /// Returns the revision that the post has after it.
    pub(crate) async fn change(&mut self, name: &str, change: Change) -> anyhow::Result<Revision> {
        let post = match self.posts.get(name) {
            Some(post) => post.clone(),
            None => {
                let own = name.to_owned();
                let post = self.persistence.start(move || BlogPost::new(&own))?;
                self.posts.insert(name.to_owned(), post.clone());
                post
            }
        };
        let answer: Result<Revision, PostError> = match change {
            Change::Write { title, text } => post.send(Write { title, text }).await?,
            Change::Publish => post.send(Publish).await?,
            Change::Delete => post.send(Delete).await?,
        };
        Ok(answer?)
    }

    /// Makes the change of each line, prints what became of it, and returns the number of those refused.
    pub(crate) async fn apply(&mut self, input: impl Read) -> anyhow::Result<usize> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(input);
        let mut refused = 0;
        for record in reader.records() {
            let changed = match parse(&record?) {
                Ok((name, change)) => {
                    let changed = self.change(&name, change).await;
                    changed.map(|revision| format!("{name}\trevision {revision}"))
                }
                Err(error) => Err(error),
            };
            let line = changed.unwrap_or_else(|error| {
                refused += 1;
                format!("refused: {error:#}")
            });
            writeln!(io::stdout(), "{line}")?;
        }
        Ok(refused)
    }
}

fn parse(record: &StringRecord) -> anyhow::Result<(String, Change)> {
    let fields: Vec<_> = record.iter().collect();
    let (name, change) = match fields[..] {
        ["write", name, title, text] => {
            let (title, text) = (title.to_owned(), text.to_owned());
            (name, Change::Write { title, text })
        }
        ["publish", name] => (name, Change::Publish),
        ["delete", name] => (name, Change::Delete),
        _ => bail!("a line is write,ID,TITLE,TEXT or publish,ID or delete,ID"),
    };
    Ok((name.to_owned(), change))
}
