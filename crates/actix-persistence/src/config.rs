//! The configuration: the stores and their behaviour, from a file, from text, or from code.

mod akka;
mod back_off;
mod document;
mod durations;
mod effective;
mod environment;
mod for_all_stores;
#[cfg(feature = "hocon")]
mod hocon_document;
mod inherited;
mod keys;
mod load_error;
mod masked;
mod mistakes;
mod named_code;
mod notifications;
mod numbers;
mod plugin_kind;
mod resolve;
mod schema_steps;
mod settings;
mod stash;
mod store_section;
mod toml_document;
mod unknown_name;

use std::ffi::OsString;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use actix_persistence_storage_api::Item;

pub use actix_persistence_storage_api::{ConfigError, ConfigErrors, Origin, Section, Value};
pub(crate) use for_all_stores::MAX_CONCURRENT_RECOVERIES;
pub use load_error::ConfigLoadError;
pub(crate) use mistakes::Mistakes;
pub(crate) use named_code::NamedCode;
pub(crate) use notifications::{CAPACITY, DEAD_LETTERS, PUBLISHED_EVENTS};
pub(crate) use plugin_kind::{MADE_IN_CODE, PluginKind};
pub(crate) use resolve::Resolution;
pub(crate) use schema_steps::bind_schema_steps;
pub(crate) use settings::Settings;
pub(crate) use stash::OverflowChoices;
pub(crate) use store_section::{
    JournalStoreSettings, StateStoreSettings, StoreSections, StoreSettings,
};

use document::Document;

/// The journals, snapshot stores, state stores and offset stores of an application, and the behaviour of stores and actors.
///
/// A tree of keys, each with the place where it was written. The meaning of the keys is checked when persistence is
/// opened, and all mistakes are reported together.
///
/// `Debug` shows the keys and where they stand but no values: any of them may be a secret.
#[derive(Clone)]
pub struct Config {
    root: Section,
    /// The mistakes of the file that belong to no key, reported together with the rest.
    mistakes: Vec<ConfigError>,
    /// Parts of the file that are ignored; they are logged when persistence is opened.
    warnings: Vec<String>,
}

/// The largest config file that is read.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

impl Config {
    /// Makes a config without any keys, for programs that set everything in code.
    pub fn new() -> Self {
        Self {
            root: Section::new("", Origin::code()),
            mistakes: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Reads a file, blocking until it is read; without the environment, which
    /// [`with_environment`](Self::with_environment) adds.
    ///
    /// A file that ends in `.conf` or `.hocon` is HOCON and needs the feature `hocon`; any other is TOML.
    /// The path is relative to the working directory, and so are the paths in the file.
    ///
    /// # Errors
    /// If the file does not exist, cannot be read, has more than 1 MiB, or is not in its language.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ConfigLoadError> {
        let path = path.as_ref();
        let bytes = read(path)?;
        let name: Arc<str> = path.to_string_lossy().into();
        let is_hocon = path.extension().is_some_and(|extension| {
            extension.eq_ignore_ascii_case("conf") || extension.eq_ignore_ascii_case("hocon")
        });
        let document = if is_hocon {
            hocon_document(&bytes, name, path)?
        } else {
            toml_document::parse_bytes(&bytes, name)?
        };
        Ok(Self::from_document(document))
    }

    /// Reads TOML text; `source_name` stands in error messages where the file's name would.
    ///
    /// # Errors
    /// If the text is not TOML.
    pub fn from_toml(text: &str, source_name: &str) -> Result<Self, ConfigLoadError> {
        let document = toml_document::parse(text, source_name.into())?;
        Ok(Self::from_document(document))
    }

    /// Reads HOCON text, such as the `akka.persistence` block of an application's `application.conf`; `source_name`
    /// stands in error messages where the file's name would.
    ///
    /// Reads `persistence`, `akka.persistence` or `pekko.persistence`, whichever is there.
    /// `${?NAME}` may stand for an environment variable; an included file is relative to the working directory.
    ///
    /// # Errors
    /// If the text is not HOCON, or something that it includes or substitutes is not there.
    #[cfg(feature = "hocon")]
    pub fn from_hocon(text: &str, source_name: &str) -> Result<Self, ConfigLoadError> {
        let source = hocon_document::Source::text(source_name);
        Ok(Self::from_document(hocon_document::parse(text, &source)?))
    }

    /// Returns the config with one more value, which replaces that of a file.
    ///
    /// `path` is what stands in a file, such as `persistence.journal.accounts.url`: keys joined by dots.
    /// A [`Section`] as value sets each of its keys and keeps the others; an empty one declares a plugin id.
    /// A value that makes no sense is reported when persistence is opened, like a mistake in a file.
    #[must_use]
    pub fn with(mut self, path: &str, value: impl Into<Value>) -> Self {
        let keys: Vec<_> = path.split('.').collect();
        set(&mut self.root, &keys, value.into());
        self
    }

    /// Returns the config with the values of the environment variables of this process; see
    /// [`with_env`](Self::with_env).
    #[must_use]
    pub fn with_environment(self) -> Self {
        self.with_env(std::env::vars_os())
    }

    /// Returns the config with the values of environment variables, which replace those of a file.
    ///
    /// `ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__BUSY_TIMEOUT` stands for `persistence.journal.accounts.busy-timeout`:
    /// `__` between the keys, `_` for `-`, capitals or not.
    /// A part is the key of the config that differs only in capitals and in what stands between letters and digits
    /// (`_`, `-`, `.`), so every plugin id of a file can be named; if there is none, it is in lower case with `-`.
    /// Values are read as what the key expects; a list is written as in TOML, `["a", "b"]`.
    ///
    /// Variables that do not begin with `ACTIX_PERSISTENCE__` are left alone.
    /// Those that do and make no sense are reported when persistence is opened, like a mistake in a file.
    #[must_use]
    pub fn with_env<N, V>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        let mistakes = environment::set_all(&mut self.root, variables);
        self.mistakes.extend(mistakes);
        self
    }

    /// The config with a section for a store that the program made, which is the default one if there is none yet.
    pub(crate) fn with_made_store(self, section: &str, plugin_id: &str) -> Self {
        let default = format!("persistence.{section}.plugin");
        let has_default = self.has(&default);
        let config = self.with(
            &format!("persistence.{section}.{plugin_id}.kind"),
            MADE_IN_CODE,
        );
        if has_default {
            config
        } else {
            config.with(&default, plugin_id)
        }
    }

    fn has(&self, path: &str) -> bool {
        let mut section = &self.root;
        let mut keys = path.split('.').peekable();
        while let Some(key) = keys.next() {
            match section.get(key).map(|item| &item.value) {
                Some(Value::Section(inner)) => section = inner,
                found => return found.is_some() && keys.peek().is_none(),
            }
        }
        true
    }

    fn from_document(document: Document) -> Self {
        Self {
            root: document.root,
            mistakes: document.mistakes,
            warnings: document.warnings,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_set();
        list_keys(&self.root, &mut |path, origin| {
            list.entry(&format_args!("{path} ({origin})"));
        });
        list.finish()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ConfigLoadError> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|source| ConfigLoadError::reading(path, source))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ConfigLoadError::TooLarge {
            path: path.to_owned(),
            limit: MAX_FILE_BYTES,
        });
    }
    Ok(bytes)
}

#[cfg(feature = "hocon")]
fn hocon_document(bytes: &[u8], name: Arc<str>, path: &Path) -> Result<Document, ConfigLoadError> {
    hocon_document::parse_bytes(bytes, &hocon_document::Source::file(name, path))
}

#[cfg(not(feature = "hocon"))]
fn hocon_document(_: &[u8], _: Arc<str>, path: &Path) -> Result<Document, ConfigLoadError> {
    Err(ConfigLoadError::WithoutHocon {
        path: path.to_owned(),
    })
}

fn set(section: &mut Section, keys: &[&str], value: Value) {
    let Some((key, rest)) = keys.split_first() else {
        return;
    };
    let item = if !rest.is_empty() {
        let mut inner = take_section(section, key);
        set(&mut inner, rest, value);
        section_item(inner)
    } else if let Value::Section(given) = value {
        // The given section does not know its path, so its keys are set one by one.
        let mut inner = take_section(section, key);
        for (key, item) in given.iter() {
            set(&mut inner, &[key], item.value.clone());
        }
        section_item(inner)
    } else {
        Item {
            value,
            origin: Origin::code(),
        }
    };
    section.insert(key, item);
}

fn take_section(section: &mut Section, key: &str) -> Section {
    match section.remove(key).map(|item| item.value) {
        Some(Value::Section(inner)) => inner,
        _ => Section::new(section.path_of(key), Origin::code()),
    }
}

fn section_item(section: Section) -> Item {
    Item {
        origin: section.origin().clone(),
        value: Value::Section(section),
    }
}

fn list_keys(section: &Section, give: &mut dyn FnMut(String, &Origin)) {
    for (key, item) in section.iter() {
        match &item.value {
            Value::Section(inner) if !inner.is_empty() => list_keys(inner, give),
            _ => give(section.path_of(key), &item.origin),
        }
    }
}

#[cfg(test)]
mod tests;
