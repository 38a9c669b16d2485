//! The place of the database: the `url` setting, or a pool of the application.

use std::path::{Path, PathBuf};

use actix_persistence_sql::percent_decoded;
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

/// The database file a `url` names, and how it may be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// The path of the file, absolute, and with symbolic links resolved where the directory exists.
    pub(crate) path: PathBuf,
    pub(crate) mode: Mode,
}

/// The `mode` parameter of a `url`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The file is created when missing, if the schema may be created too.
    Create,
    /// The file is never created.
    Existing,
    /// The file is never written; SQLite refuses, and the store says so.
    ReadOnly,
}

const MEMORY: &str = "must name a file: a database in memory is gone when its connection closes; \
    use kind = \"memory\" for that";

impl Location {
    /// Reads a `url`; an error continues the key's name.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let rest = url
            .strip_prefix("sqlite://")
            .or_else(|| url.strip_prefix("sqlite:"))
            .unwrap_or(url);
        let (encoded, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let name = percent_decoded(encoded)
            .ok_or("must have two hexadecimal digits after each '%', and be UTF-8 when decoded")?;
        let scheme = name.split_once("://").map_or("", |(scheme, _)| scheme);
        if name.is_empty() || name.contains('\0') {
            return Err("must name a file, as in \"sqlite://bank.db\"".to_owned());
        }
        if !scheme.is_empty() || name.starts_with("file:") {
            return Err(
                "must be a path or begin with \"sqlite:\", as in \"sqlite://bank.db\"".to_owned(),
            );
        }
        if name == ":memory:" {
            return Err(MEMORY.to_owned());
        }
        let mode = mode_of(parameters)?;
        let path = absolute(Path::new(&name))?;
        Ok(Self { path, mode })
    }

    /// Takes the place from the options of a pool, whose connections must be able to share the file with those of a store; an
    /// error continues the key's name.
    pub(crate) fn of_pool(options: &SqliteConnectOptions) -> Result<Self, String> {
        let name = options.get_filename();
        let text = name.to_string_lossy();
        // SQLite takes names for URIs; what they say is not looked at here.
        if text.starts_with("file:") && parameter(options, "mode") != "memory" {
            return Err("must be one whose options name a file by its path".to_owned());
        }
        if text.is_empty() || text == ":memory:" || parameter(options, "mode") == "memory" {
            return Err(MEMORY.to_owned());
        }
        if !parameter(options, "immutable").is_empty() {
            return Err("must not be one that takes the file for immutable".to_owned());
        }
        if !parameter(options, "vfs").is_empty() {
            return Err(
                "must be one that leaves files to SQLite's own code, without 'vfs'".to_owned(),
            );
        }
        let path = absolute(name)?;
        let mode = match parameter(options, "mode").as_str() {
            // It is also said of what can only be read.
            "rwc" => match parameter(&options.clone().create_if_missing(false), "mode").as_str() {
                "ro" => Mode::ReadOnly,
                _ => Mode::Create,
            },
            "ro" => Mode::ReadOnly,
            _ => Mode::Existing,
        };
        Ok(Self { path, mode })
    }

    /// The `url` that [`parse`](Self::parse) reads as this path.
    pub(crate) fn url_of(path: &str) -> String {
        let escaped = path.replace('%', "%25").replace('?', "%3F");
        format!("sqlite://{escaped}")
    }
}

fn mode_of(parameters: &str) -> Result<Mode, String> {
    let mut mode = Mode::Create;
    for parameter in parameters.split('&').filter(|text| !text.is_empty()) {
        mode = match parameter {
            "mode=rwc" => Mode::Create,
            "mode=rw" => Mode::Existing,
            "mode=ro" => Mode::ReadOnly,
            "mode=memory" => return Err(MEMORY.to_owned()),
            _ => return Err("may be followed by '?mode=rwc', 'rw' or 'ro' only".to_owned()),
        };
    }
    Ok(mode)
}

/// Returns what the options of the driver say as a parameter of a URL; empty if it is not there.
fn parameter(options: &SqliteConnectOptions, name: &str) -> String {
    // The driver panics over names of files that are no host.
    let url = options.clone().filename("some.db").to_url_lossy();
    let found = url.query_pairs().find(|(key, _)| key == name);
    found.map_or_else(String::new, |(_, value)| value.into_owned())
}

/// Returns the one name that a file has here, as far as that can be known before it exists; an error continues the key's
/// name.
fn absolute(path: &Path) -> Result<PathBuf, String> {
    let path = std::path::absolute(path).map_err(|error| {
        format!("is relative to a working directory that cannot be read: {error}")
    })?;
    if let Ok(resolved) = path.canonicalize() {
        return Ok(resolved);
    }
    let resolved = match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(directory)), Some(name)) => directory.join(name),
        _ => path,
    };
    Ok(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_name(url: &str) -> String {
        let location = Location::parse(url).unwrap();
        let name = location.path.file_name().unwrap();
        name.to_str().unwrap().to_owned()
    }

    #[test]
    fn every_spelling_names_the_same_file() {
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        for url in [
            "sqlite://some.db",
            "sqlite:some.db",
            "some.db",
            "./some.db",
            "sqlite://some%2Edb",
            "sqlite://some.db?mode=rwc",
        ] {
            let location = Location::parse(url).unwrap();
            assert_eq!(location.path, here.join("some.db"), "{url}");
        }
        let absolute = Location::parse("sqlite:///no/such/place/some.db").unwrap();
        assert_eq!(absolute.path, Path::new("/no/such/place/some.db"));
    }

    #[test]
    fn dots_and_links_on_the_way_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().canonicalize().unwrap();
        std::fs::create_dir(directory.join("sub")).unwrap();
        let expected = directory.join("some.db");
        for exists in [false, true] {
            if exists {
                std::fs::write(&expected, b"").unwrap();
            }
            let url = directory.join("sub/../some.db");
            let location = Location::parse(url.to_str().unwrap()).unwrap();
            assert_eq!(location.path, expected);
        }
        #[cfg(unix)]
        {
            let link = directory.join("link.db");
            std::os::unix::fs::symlink(&expected, &link).unwrap();
            let location = Location::parse(link.to_str().unwrap()).unwrap();
            assert_eq!(location.path, expected);
        }
    }

    #[test]
    fn decodes_what_would_end_a_path() {
        assert_eq!(file_name("sqlite://a%20b%3Fc%23.db"), "a b?c#.db");
        assert_eq!(file_name("sqlite://%C3%BC.db"), "ü.db");
        for url in ["a%2", "a%zz", "a%+1b", "%FF"] {
            assert!(Location::parse(url).unwrap_err().contains('%'), "{url}");
        }
    }

    #[test]
    fn the_url_of_a_path_names_that_path() {
        for name in ["bank.db", "100%25.db", "a?b#c d.db", "ü.db", "a:b.db"] {
            assert_eq!(file_name(&Location::url_of(name)), name);
        }
        let absolute = Location::parse(&Location::url_of("/no/such/place/%.db")).unwrap();
        assert_eq!(absolute.path, Path::new("/no/such/place/%.db"));
    }

    #[test]
    fn refuses_memory_and_points_to_the_memory_plugin() {
        for url in [
            "sqlite::memory:",
            "sqlite://:memory:",
            ":memory:",
            "x.db?mode=memory",
        ] {
            let message = Location::parse(url).unwrap_err();
            assert!(message.contains("kind = \"memory\""), "{url}: {message}");
        }
    }

    #[test]
    fn refuses_what_is_no_file_on_this_machine() {
        for url in [
            "",
            "sqlite://",
            "postgres://me@host/db",
            "file:x.db",
            "a%00b",
        ] {
            assert!(Location::parse(url).is_err(), "{url}");
        }
        for url in [
            "x.db?cache=shared",
            "x.db?mode=rox",
            "x.db?immutable=1&mode=ro",
        ] {
            let message = Location::parse(url).unwrap_err();
            assert!(message.contains("mode=rwc"), "{url}: {message}");
        }
        assert_eq!(
            Location::parse("x.db?mode=ro").unwrap().mode,
            Mode::ReadOnly
        );
        assert_eq!(
            Location::parse("x.db?mode=rw").unwrap().mode,
            Mode::Existing
        );
    }
}
