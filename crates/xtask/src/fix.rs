//! `cargo xtask fix`: formats the code and regenerates what is generated.

use std::fs;
use std::process::ExitCode;

use anyhow::Context;

use crate::progress::note;
use crate::tidy::Tree;
use crate::workspace::{cargo, root};
use crate::{child, contract};

/// Changes the files.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let page = contract::page(&Tree::load(&root())?);
    let path = root().join(contract::PAGE);
    if fs::read_to_string(&path).ok().as_deref() != Some(page.as_str()) {
        fs::write(&path, page).with_context(|| format!("could not write {}", contract::PAGE))?;
        note(format_args!("wrote {}", contract::PAGE));
    }

    let mut format = cargo("fmt");
    format.arg("--all");
    Ok(if child::run(format)?.success() {
        note("formatted the code");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
