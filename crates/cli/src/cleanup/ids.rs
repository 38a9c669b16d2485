//! The list of ids.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use actix_persistence::PersistenceId;
use anyhow::Context;

/// Returns the ids of a file, one in each line; empty lines do not count. `-` is the standard input.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<PersistenceId>> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        let read = io::stdin().read_to_string(&mut text);
        read.map(|_| text)
            .context("could not read ids from the standard input")
    } else {
        fs::read_to_string(path).with_context(|| format!("could not read ids from {path:?}"))
    };
    parse(text?.lines().filter(|line| !line.is_empty()))
}

/// Checks all of them, so that nothing is done if one is wrong.
pub(super) fn parse<T: AsRef<str>>(
    ids: impl IntoIterator<Item = T>,
) -> anyhow::Result<Vec<PersistenceId>> {
    let ids = ids.into_iter().map(|id| {
        let id = PersistenceId::of_unique(id.as_ref());
        id.validate()
            .with_context(|| format!("{id:?} is no persistence id; nothing was done"))?;
        Ok(id)
    });
    ids.collect()
}
