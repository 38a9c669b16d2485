//! `cargo xtask fix`: formats the code and regenerates what is generated.

use std::fs;
use std::process::ExitCode;

use anyhow::Context;

use crate::progress::note;
use crate::tree::Tree;
use crate::workspace::{cargo, root};
use crate::{child, contract, snippets, tables};

/// Formats the code, and writes the generated pages.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    // First, because the guide shows the sources as they are then.
    let mut format = cargo("fmt");
    format.arg("--all");
    let formatted = child::run(format)?.success();
    if formatted {
        note("formatted the code");
    }

    let tree = Tree::load(&root())?;
    let mut pages = snippets::outdated_pages(&tree);
    let contract = contract::page(&tree);
    if tree.text(contract::PAGE) != Some(contract.as_str()) {
        pages.push((contract::PAGE.to_owned(), contract));
    }
    pages.extend(tables::outdated_pages(&tree));
    for (path, text) in pages {
        fs::write(root().join(&path), text).with_context(|| format!("could not write {path}"))?;
        note(format_args!("wrote {path}"));
    }
    Ok(if formatted {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
