//! `cargo xtask mutations`: puts small faults into the actor's run loop, one at a time, and expects the model to find each.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};

use crate::child::{self, Report};
use crate::planted::copy_folder;
use crate::progress::{Step, note};
use crate::test::tally::Tally;
use crate::workspace;

/// The list of the faults.
pub(crate) const LIST: &str = "crates/persistent-actor/tests/mutations.toml";
/// The folder of the sources that get the faults.
pub(crate) const SOURCES: &str = "crates/persistent-actor/src";

/// A fault: a text that stands once in a file, and what to write in its place.
pub(crate) struct Mutation {
    pub(crate) name: String,
    /// The path of the file, relative to [`SOURCES`].
    pub(crate) file: String,
    pub(crate) find: String,
    replace: String,
}

/// Works on a copy of the sources, so that nothing is left in them.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let list = fs::read_to_string(workspace::root().join(LIST)).context(LIST)?;
    let mutations = parse(&list)?;
    let copy = workspace::root().join("target/mutations/sources");
    if copy.exists() {
        fs::remove_dir_all(&copy).context("could not remove the last copy")?;
    }
    copy_folder(&workspace::root(), &copy)?;
    ensure!(
        !is_found(&copy, "no fault")?,
        "the programs fail without any fault"
    );
    let mut missed = Vec::new();
    for mutation in &mutations {
        if !mutation.is_found(&copy)? {
            missed.push(mutation.name.as_str());
        }
    }
    let found = mutations.len() - missed.len();
    println!("{found} of {} faults found", mutations.len());
    for name in &missed {
        println!("missed: {name}");
    }
    Ok(if missed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Reads the list of faults.
pub(crate) fn parse(list: &str) -> anyhow::Result<Vec<Mutation>> {
    let table: toml::Table = list.parse().context(LIST)?;
    let entries = table.get("mutation").and_then(toml::Value::as_array);
    let entries = entries.with_context(|| format!("{LIST}: no [[mutation]]"))?;
    let text = |entry: &toml::Value, key: &str| {
        let text = entry.get(key).and_then(toml::Value::as_str);
        let text = text.with_context(|| format!("{LIST}: a mutation without '{key}'"))?;
        anyhow::Ok(text.to_owned())
    };
    entries
        .iter()
        .map(|entry| {
            Ok(Mutation {
                name: text(entry, "name")?,
                file: text(entry, "file")?,
                find: text(entry, "find")?,
                replace: text(entry, "replace")?,
            })
        })
        .collect()
}

impl Mutation {
    fn is_found(&self, copy: &Path) -> anyhow::Result<bool> {
        let path = copy.join(SOURCES).join(&self.file);
        let sound = fs::read_to_string(&path).with_context(|| self.file.clone())?;
        ensure!(
            sound.matches(&self.find).count() == 1,
            "'{}': what to find does not stand once in {}",
            self.name,
            self.file
        );
        fs::write(&path, sound.replace(&self.find, &self.replace))?;
        let found = is_found(copy, &self.name);
        fs::write(&path, sound)?;
        found
    }
}

/// Returns whether the programs of the model fail.
fn is_found(copy: &Path, name: &str) -> anyhow::Result<bool> {
    let step = Step::start(name);
    let mut command = workspace::cargo("test");
    command
        .current_dir(copy)
        .env(
            "CARGO_TARGET_DIR",
            workspace::root().join("target/mutations/target"),
        )
        .args(["--package", "actix-persistence-persistent-actor"])
        .args(["--test", "it", "--", "model::"]);
    let (mut tally, mut errors, mut hangs) = (None, Vec::new(), false);
    child::lines(command, |heard| match heard {
        Report::Line(line) => {
            tally = Tally::of_line(line).or(tally);
            hangs |= line.contains("the program hangs");
            if line.starts_with("error") {
                errors.push(line.to_owned());
            }
        }
        Report::Silent => step.still_running(),
    })?;
    match tally {
        Some(tally) if tally.failed > 0 => step.end("found"),
        None if hangs => step.end("found, it hangs"),
        Some(tally) if tally.passed > 0 => {
            step.end("not found");
            return Ok(false);
        }
        _ => {
            step.end("FAILED");
            errors.iter().for_each(note);
            bail!("'{name}': the tests were not run");
        }
    };
    Ok(true)
}
