//! The files that the rules look at.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::Context;

/// Text beyond this size is data, not source.
const LARGEST_SOURCE: u64 = 1024 * 1024;
/// Entries that hold nothing written by hand; `.git` is a file in a worktree.
const SKIPPED: [&str; 2] = ["target", ".git"];

/// The text files of a checkout, by path.
pub(crate) struct Tree {
    files: Vec<SourceFile>,
}

/// A text file of the repository.
pub(crate) struct SourceFile {
    /// Relative to the root, with `/` on every system.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
}

impl Tree {
    /// Reads the text files below `root`.
    pub(crate) fn load(root: &Path) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        collect(root, "", &mut files)?;
        files.sort_by(|a: &SourceFile, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// Makes a tree for a test.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| SourceFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        });
        Self {
            files: files.collect(),
        }
    }

    /// Returns every file, by path.
    pub(crate) fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Returns the Rust files.
    pub(crate) fn rust_files(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// Returns the files below a folder.
    pub(crate) fn below(&self, folder: &str) -> impl Iterator<Item = &SourceFile> {
        let prefix = format!("{folder}/");
        self.files
            .iter()
            .filter(move |file| file.path.starts_with(&prefix))
    }

    /// Returns the text of the file at `path`.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        let file = self.files.iter().find(|file| file.path == path)?;
        Some(&file.text)
    }

    /// Returns the folders of the workspace's crates.
    pub(crate) fn crate_folders(&self) -> Vec<&str> {
        self.files
            .iter()
            .filter_map(|file| file.path.strip_suffix("/Cargo.toml"))
            .collect()
    }
}

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    path: String,
    line: Option<usize>,
    message: String,
}

impl Violation {
    /// About a file or folder as a whole.
    pub(crate) fn of(path: &str, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: None,
            message: message.into(),
        }
    }

    /// About one line; the first is 1.
    pub(crate) fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            ..Self::of(path, message)
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<SourceFile>) -> anyhow::Result<()> {
    let unreadable = || format!("could not read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(unreadable)? {
        let entry = entry.with_context(unreadable)?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        // A link to a file counts where it stands; one to a folder could lead in circles.
        let kind = entry.file_type().with_context(unreadable)?;
        let path = format!("{prefix}{name}");
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() || (kind.is_symlink() && entry.path().is_file()) {
            files.extend(read_text(&entry.path()).map(|text| SourceFile { path, text }));
        }
    }
    Ok(())
}

/// `None` for what is no source: too large, no text, or gone since it was listed.
fn read_text(path: &Path) -> Option<String> {
    let size = fs::metadata(path).ok()?.len();
    let bytes = (size <= LARGEST_SOURCE).then(|| fs::read(path))?.ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_holds_the_texts_and_leaves_out_what_is_built_or_binary() {
        let root = tempfile::tempdir().unwrap();
        for (path, bytes) in [
            ("crates/b/src/lib.rs", &b"//! B."[..]),
            ("crates/b/Cargo.toml", b""),
            (".ci/run", b"cargo"),
            ("target/debug/build.rs", b""),
            ("crates/b/bank.db", b"\xff\xfe"),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let tree = Tree::load(root.path()).unwrap();
        let paths: Vec<_> = tree.files().iter().map(|file| file.path.as_str()).collect();
        assert_eq!(
            paths,
            [".ci/run", "crates/b/Cargo.toml", "crates/b/src/lib.rs"]
        );
        assert_eq!(tree.text(".ci/run"), Some("cargo"));
        assert_eq!(tree.crate_folders(), ["crates/b"]);
    }

    #[test]
    fn a_violation_is_shown_as_a_place_that_editors_can_jump_to() {
        assert_eq!(Violation::at("a.rs", 3, "bad").to_string(), "a.rs:3: bad");
        assert_eq!(Violation::of("docs", "bad").to_string(), "docs: bad");
    }
}
