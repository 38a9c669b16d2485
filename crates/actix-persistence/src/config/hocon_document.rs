//! HOCON as a tree of sections, with Akka's names for it.

mod bounds;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use actix_persistence_storage_api::{ConfigError, Item, Origin, Section, Untyped, Value};
use hocon::{HoconError, HoconValue, ParseOptions, ScalarType};

use super::ConfigLoadError;
use super::akka::take_over_mailbox;
use super::document::Document;

/// The sections that are read: ours, and those of Akka, Akka.NET and Pekko.
const ROOTS: [&[&str]; 3] = [
    &["persistence"],
    &["akka", "persistence"],
    &["pekko", "persistence"],
];

/// The libraries whose names the keys of an application begin with.
const LIBRARIES: [&str; 2] = ["akka", "pekko"];

/// The key of mailboxes that bounds the stash of an actor.
const STASH_CAPACITY: &str = "actor.default-mailbox.stash-capacity";

/// The parser calls itself for nested values and for chains of substitutions, and cannot know when its stack is used
/// up: this is many times what is needed within [`bounds`].
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// The deepest nesting of sections, deeper than any key needs; the reader of the tree calls itself for each level.
const MAX_DEPTH: usize = 32;

/// The origin of a HOCON text, and the places where its includes and substitutions are looked up.
pub(super) struct Source {
    name: Arc<str>,
    base: Option<PathBuf>,
    /// The variables of the environment; those of the process if it is `None`.
    environment: Option<HashMap<String, String>>,
}

impl Source {
    /// Makes the source of a text without a place: includes are relative to the working directory.
    pub(super) fn text(name: &str) -> Self {
        Self {
            name: name.into(),
            base: None,
            environment: None,
        }
    }

    /// Makes the source of a file: includes are relative to its folder.
    pub(super) fn file(name: Arc<str>, path: &Path) -> Self {
        Self {
            name,
            base: path.parent().map(Path::to_owned),
            environment: None,
        }
    }

    fn syntax_error(&self, line: usize, column: usize, message: &str) -> ConfigLoadError {
        ConfigLoadError::Syntax {
            language: "HOCON",
            name: self.name.as_ref().to_owned(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
            message: message.to_owned(),
        }
    }

    fn error(&self, error: HoconError) -> ConfigLoadError {
        let (message, path) = match error {
            HoconError::Parse(error) => {
                return self.syntax_error(error.line, error.col, without_quotes(&error.message));
            }
            HoconError::Resolve(error) => (error.message, error.path),
            HoconError::Config(error) => (error.message, error.path),
            _ => ("the parser gave up".to_owned(), String::new()),
        };
        let message = without_quotes(&message);
        let message = if path.is_empty() {
            message.to_owned()
        } else {
            format!("{message} ({path})")
        };
        ConfigLoadError::Unresolved {
            name: self.name.as_ref().to_owned(),
            message,
        }
    }
}

pub(super) fn parse_bytes(bytes: &[u8], source: &Source) -> Result<Document, ConfigLoadError> {
    match str::from_utf8(bytes) {
        Ok(text) => parse(text, source),
        Err(error) => {
            let before = &bytes[..error.valid_up_to()];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            Err(source.syntax_error(line, 1, "the file is not UTF-8 text"))
        }
    }
}

pub(super) fn parse(text: &str, source: &Source) -> Result<Document, ConfigLoadError> {
    bounds::check(text).map_err(|(line, message)| source.syntax_error(line, 1, message))?;
    let parsed = thread::scope(|scope| {
        let parser = thread::Builder::new()
            .name("persistence-config".to_owned())
            .stack_size(STACK_BYTES);
        let parser = parser.spawn_scoped(scope, || parse_here(text, source));
        let parser = parser.map_err(|error| ConfigLoadError::reading(source.path(), error))?;
        Ok(parser.join())
    })?;
    // The parser is young: a panic of it is an error of the file, not the end of the program.
    parsed.unwrap_or_else(|_| Err(source.syntax_error(1, 1, "the parser failed")))
}

impl Source {
    fn path(&self) -> &Path {
        Path::new(self.name.as_ref())
    }
}

fn parse_here(text: &str, source: &Source) -> Result<Document, ConfigLoadError> {
    let mut options = ParseOptions::defaults().with_origin_description(source.name.to_string());
    if let Some(base) = &source.base {
        options = options.with_base_dir(base.clone());
    }
    if let Some(environment) = &source.environment {
        options = options.with_env(environment.clone());
    }
    let config = hocon::parse_string_with_options(text, options);
    let config = config.map_err(|error| source.error(error))?;
    let origin = Origin {
        source: source.name.clone(),
        line: None,
    };
    let mut builder = Builder {
        document: Document {
            root: Section::new("", origin.clone()),
            mistakes: Vec::new(),
            warnings: Vec::new(),
        },
        origin,
    };
    builder.read_root(&config);
    Ok(builder.document)
}

struct Builder {
    document: Document,
    origin: Origin,
}

impl Builder {
    fn read_root(&mut self, config: &hocon::Config) {
        let there: Vec<_> = ROOTS
            .iter()
            .filter_map(|root| Some((root.join("."), config.get(&root.join("."))?)))
            .collect();
        match there.as_slice() {
            [(_, persistence)] => {
                let value = self.value("persistence".to_owned(), persistence, 0);
                if let Some(mut item) = value {
                    if let Value::Section(persistence) = &mut item.value {
                        self.read_mailbox(config, persistence);
                    }
                    self.document.root.insert("persistence", item);
                }
            }
            [] => self.refuse(
                "persistence",
                "is not in the file, and neither is 'akka.persistence' or 'pekko.persistence'",
            ),
            [(first, _), (second, _), ..] => {
                let message = format!("is in the file as '{first}' and as '{second}'; keep one");
                self.refuse("persistence", &message);
            }
        }
        self.warn_of_others(config);
    }

    /// Reads the one key outside of the section that has a meaning here.
    fn read_mailbox(&mut self, config: &hocon::Config, persistence: &mut Section) {
        for library in LIBRARIES {
            let path = format!("{library}.{STASH_CAPACITY}");
            let found = config.get(&path);
            let item = found.and_then(|value| self.value(path.clone(), value, 0));
            if let Some(item) = item {
                let warnings = &mut self.document.warnings;
                let refused = take_over_mailbox(&path, item, persistence, warnings);
                self.document.mistakes.extend(refused);
            }
        }
    }

    /// Warns of keys outside `persistence`: most belong to the application, but one of them may be a name that is spelt wrong.
    fn warn_of_others(&mut self, config: &hocon::Config) {
        let mut others = Vec::new();
        for key in config.keys() {
            match (key, config.get(key)) {
                ("persistence", _) => {}
                (_, Some(HoconValue::Object(inner))) if LIBRARIES.contains(&key) => {
                    let keys = inner.iter().filter(|(inner, value)| {
                        *inner != "persistence" && !(*inner == "actor" && is_stash_capacity(value))
                    });
                    others.extend(keys.map(|(inner, _)| format!("'{key}.{inner}'")));
                }
                _ => others.push(format!("'{key}'")),
            }
        }
        if !others.is_empty() {
            self.document.warnings.push(format!(
                "{}: {} will not be read; only what is within 'persistence' has a meaning here",
                self.origin,
                others.join(", ")
            ));
        }
    }

    fn value(&mut self, path: String, value: &HoconValue, depth: usize) -> Option<Item> {
        if depth > MAX_DEPTH {
            self.refuse(&path, "is nested too deeply; no key is there");
            return None;
        }
        let value = match value {
            HoconValue::Object(fields) => {
                let mut section = Section::new(path, self.origin.clone());
                for (key, value) in fields {
                    if let Some(item) = self.value(section.path_of(key), value, depth + 1) {
                        section.insert(key, item);
                    }
                }
                Value::Section(section)
            }
            HoconValue::Array(values) => Value::List(
                values
                    .iter()
                    .enumerate()
                    .filter_map(|(index, value)| {
                        self.value(format!("{path}[{index}]"), value, depth + 1)
                    })
                    .collect(),
            ),
            // As if the key were not there.
            HoconValue::Scalar(scalar) if scalar.value_type == ScalarType::Null => return None,
            HoconValue::Scalar(scalar) => Value::Untyped(Untyped::hocon(scalar.raw.as_str())),
            _ => {
                self.refuse(&path, "has a value of an unknown sort");
                return None;
            }
        };
        let origin = self.origin.clone();
        Some(Item { value, origin })
    }

    fn refuse(&mut self, path: &str, message: &str) {
        self.document.mistakes.push(ConfigError {
            origin: self.origin.clone(),
            path: path.to_owned(),
            message: format!("'{path}' {message}"),
        });
    }
}

/// Returns whether the section `actor` has the capacity of the stash and nothing else.
fn is_stash_capacity(actor: &HoconValue) -> bool {
    let only = |value: &HoconValue, name: &str| match value {
        HoconValue::Object(fields) if fields.len() == 1 => fields.get(name).cloned(),
        _ => None,
    };
    let mailbox = only(actor, "default-mailbox");
    mailbox.is_some_and(|mailbox| only(&mailbox, "stash-capacity").is_some())
}

/// Returns the start of a message of the parser, without what it quotes of the file: there may be a password in it.
fn without_quotes(message: &str) -> &str {
    let end = message.find(['"', '\'', '`', '(', ':', ';', '$', '—']);
    let start = end.map_or(message, |end| &message[..end]);
    start.split(", got").next().unwrap_or(start).trim_end()
}

#[cfg(test)]
mod tests;
