//! A section of the config, as a plugin sees it: read key by key, with every mistake reported at once.

mod untyped;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use crate::config::nearest::nearest;
use crate::config::units::{parse_bytes, parse_duration};

pub use untyped::Untyped;

/// The place in a config at which a value was written.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Origin {
    /// A file, an environment variable, or `code`.
    pub source: Arc<str>,
    /// The line in the file, from 1.
    pub line: Option<u32>,
}

impl Origin {
    /// Returns the origin of values set by the program.
    pub fn code() -> Self {
        Self {
            source: "code".into(),
            line: None,
        }
    }

    /// Returns the origin of values in a file.
    pub fn file(path: impl Into<Arc<str>>, line: u32) -> Self {
        Self {
            source: path.into(),
            line: Some(line),
        }
    }

    /// Returns the origin of values of an environment variable.
    pub fn environment(variable: &str) -> Self {
        Self {
            source: format!("environment variable {variable}").into(),
            line: None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.source),
            None => f.write_str(&self.source),
        }
    }
}

/// A value of the config whose type is not yet known.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A text; durations and sizes, such as `"10s"`, are texts, too.
    String(String),
    /// A whole number, with or without a sign.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A truth value: true or false.
    Boolean(bool),
    /// A list of values.
    List(Vec<Item>),
    /// A section within the section.
    Section(Section),
    /// A text that is read as whatever the key expects.
    Untyped(Untyped),
}

impl Value {
    fn type_name(&self) -> &'static str {
        match self {
            Value::String(_) | Value::Untyped(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Boolean(_) => "a boolean",
            Value::List(_) => "a list",
            Value::Section(_) => "a section",
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            Value::Untyped(untyped) => Some(untyped.as_str()),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Boolean(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl From<Section> for Value {
    fn from(section: Section) -> Self {
        Value::Section(section)
    }
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The value at this place.
    pub value: Value,
    /// The place at which the value was written.
    pub origin: Origin,
}

/// The keys and values of one section, sorted by key.
///
/// `Debug` shows the keys but not the values: any of them may be a secret.
#[derive(Clone, PartialEq, Default)]
pub struct Section {
    path: String,
    origin: Origin,
    items: BTreeMap<String, Item>,
    also_known: Vec<String>,
}

impl Section {
    /// Makes an empty section; `path` is its dotted name, such as `persistence.journal.accounts`.
    pub fn new(path: impl Into<String>, origin: Origin) -> Self {
        Self {
            path: path.into(),
            origin,
            items: BTreeMap::new(),
            also_known: Vec::new(),
        }
    }

    /// Returns the section with one more value, set by the program.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.insert(
            key,
            Item {
                value: value.into(),
                origin: Origin::code(),
            },
        );
        self
    }

    /// Returns the dotted name.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the place at which the section begins.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Item> {
        self.items.get(key)
    }

    /// Sets the value of a key, and returns the value that it had before.
    pub fn insert(&mut self, key: &str, item: Item) -> Option<Item> {
        self.items.insert(key.to_owned(), item)
    }

    /// Removes a key, and returns the value that it had.
    pub fn remove(&mut self, key: &str) -> Option<Item> {
        self.items.remove(key)
    }

    /// Returns all keys and values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Item)> {
        self.items.iter().map(|(key, item)| (key.as_str(), item))
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Fills in what this section lacks from `fallback`, section by section.
    pub fn fall_back_to(&mut self, fallback: &Section) {
        for (key, item) in &fallback.items {
            match (self.items.get_mut(key), &item.value) {
                (None, _) => {
                    self.items.insert(key.clone(), item.clone());
                }
                (
                    Some(Item {
                        value: Value::Section(own),
                        ..
                    }),
                    Value::Section(other),
                ) => own.fall_back_to(other),
                (Some(_), _) => {}
            }
        }
    }

    /// Names keys that may stand in this section but were taken out of it before: a reader lists them beside its own
    /// when it meets an unknown one.
    pub fn also_known<'k>(&mut self, keys: impl IntoIterator<Item = &'k str>) {
        self.also_known.extend(keys.into_iter().map(str::to_owned));
    }

    /// Starts reading; see [`SectionReader`].
    pub fn reader(&self) -> SectionReader<'_> {
        SectionReader {
            section: self,
            known: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Returns the dotted name of a key of this section.
    pub fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.items.keys().collect();
        f.debug_struct("Section")
            .field("path", &self.path)
            .field("origin", &format_args!("{}", self.origin))
            .field("keys", &keys)
            .finish()
    }
}

/// Reads a section key by key, remembers which keys it was asked for, and collects every mistake.
///
/// Each method returns the value, or the default if the key is missing or wrong; [`finish`](Self::finish) fails
/// if there was a mistake, or a key that was not asked for; it reports such a key together with those that exist.
#[derive(Debug)]
pub struct SectionReader<'a> {
    section: &'a Section,
    known: Vec<String>,
    errors: Vec<ConfigError>,
}

impl<'a> SectionReader<'a> {
    /// Returns a text, if there is one.
    pub fn string(&mut self, key: &str) -> Option<String> {
        let item = self.take(key)?;
        match item.value.text() {
            Some(text) => Some(text.to_owned()),
            None => self.wrong_type(key, item, "a string"),
        }
    }

    /// Returns a text, or the default.
    pub fn string_or(&mut self, key: &str, default: &str) -> String {
        self.string(key).unwrap_or_else(|| default.to_owned())
    }

    /// Returns a text that must be there; empty if it is not, and then [`finish`](Self::finish) fails.
    pub fn required_string(&mut self, key: &str) -> String {
        let missing = self.section.get(key).is_none();
        let text = self.string(key).unwrap_or_default();
        if missing {
            let origin = self.section.origin.clone();
            self.report(key, origin, "is missing".to_owned());
        }
        text
    }

    /// True or false, or the default.
    pub fn boolean_or(&mut self, key: &str, default: bool) -> bool {
        let Some(item) = self.take(key) else {
            return default;
        };
        let value = match &item.value {
            Value::Boolean(value) => Some(*value),
            Value::Untyped(untyped) => untyped.boolean(),
            _ => None,
        };
        value.unwrap_or_else(|| {
            self.wrong_type(key, item, "true or false")
                .unwrap_or(default)
        })
    }

    /// Returns a whole number within a range, both ends inclusive, or the default.
    pub fn integer_or(&mut self, key: &str, default: u64, range: RangeInclusive<u64>) -> u64 {
        let Some(item) = self.take(key) else {
            return default;
        };
        let number = match &item.value {
            Value::Integer(number) => Some(*number),
            Value::Untyped(untyped) => untyped.number(),
            _ => None,
        };
        let Some(number) = number else {
            return self.wrong_type(key, item, "an integer").unwrap_or(default);
        };
        match u64::try_from(number) {
            Ok(number) if range.contains(&number) => number,
            _ => {
                let (low, high) = (range.start(), range.end());
                let message = format!("must be from {low} to {high}, not {number}");
                self.report(key, item.origin.clone(), message);
                default
            }
        }
    }

    /// Returns a number within a range, both ends inclusive, or the default.
    pub fn float_or(&mut self, key: &str, default: f64, range: RangeInclusive<f64>) -> f64 {
        let Some(item) = self.take(key) else {
            return default;
        };
        let number = match &item.value {
            Value::Float(number) => Some(*number),
            Value::Integer(number) => Some(*number as f64),
            Value::Untyped(untyped) => untyped.number(),
            _ => None,
        };
        let Some(number) = number else {
            return self.wrong_type(key, item, "a number").unwrap_or(default);
        };
        if range.contains(&number) {
            return number;
        }
        let (low, high) = (range.start(), range.end());
        let message = format!("must be from {low} to {high}, not {number}");
        self.report(key, item.origin.clone(), message);
        default
    }

    /// Returns a duration with its unit, such as `"10s"` or `"250ms"`, or the default.
    pub fn duration_or(&mut self, key: &str, default: Duration) -> Duration {
        const EXPECTED: &str = "a duration with its unit, such as \"10s\" or \"250ms\"";
        let Some(item) = self.take(key) else {
            return default;
        };
        let parsed = match &item.value {
            Value::String(text) => parse_duration(text),
            Value::Untyped(untyped) => untyped.duration(),
            _ => None,
        };
        match parsed {
            Some(duration) => duration,
            None => self.wrong_type(key, item, EXPECTED).unwrap_or(default),
        }
    }

    /// Returns a size, such as `"4MiB"` or a number of bytes, or the default.
    pub fn bytes_or(&mut self, key: &str, default: u64) -> u64 {
        const EXPECTED: &str = "a size, such as \"4MiB\" or a number of bytes";
        let Some(item) = self.take(key) else {
            return default;
        };
        let parsed = match &item.value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            value => value.text().and_then(parse_bytes),
        };
        match parsed {
            Some(bytes) => bytes,
            None => self.wrong_type(key, item, EXPECTED).unwrap_or(default),
        }
    }

    /// Returns one of several words, or the default.
    pub fn choice_or<T: Clone>(&mut self, key: &str, choices: &[(&str, T)], default: T) -> T {
        let Some(item) = self.take(key) else {
            return default;
        };
        let text = item.value.text();
        let chosen = text.and_then(|text| choices.iter().find(|(word, _)| *word == text));
        if let Some((_, value)) = chosen {
            return value.clone();
        }
        let words: Vec<_> = choices
            .iter()
            .map(|(word, _)| format!("\"{word}\""))
            .collect();
        let message = format!("must be {}, not {}", words.join(" or "), shown(&item.value));
        self.report(key, item.origin.clone(), message);
        default
    }

    /// Returns a list of texts; empty if there is none.
    pub fn strings(&mut self, key: &str) -> Vec<String> {
        let Some(item) = self.take(key) else {
            return Vec::new();
        };
        let texts = match &item.value {
            Value::List(items) => items
                .iter()
                .map(|item| item.value.text().map(str::to_owned))
                .collect(),
            _ => None,
        };
        match texts {
            Some(texts) => texts,
            None => self
                .wrong_type(key, item, "a list of strings")
                .unwrap_or_default(),
        }
    }

    /// Returns a section within this one, if there is one.
    pub fn section(&mut self, key: &str) -> Option<&'a Section> {
        let item = self.take(key)?;
        match &item.value {
            Value::Section(section) => Some(section),
            _ => self.wrong_type(key, item, "a section"),
        }
    }

    /// Reports a value that has the right type but cannot be used; `message` continues the key's name.
    pub fn reject(&mut self, key: &str, message: impl Into<String>) {
        let origin = self
            .section
            .get(key)
            .map_or_else(|| self.section.origin.clone(), |item| item.origin.clone());
        self.report(key, origin, message.into());
    }

    /// Adds the mistakes of a section within this one.
    pub fn absorb(&mut self, result: Result<(), ConfigErrors>) {
        if let Err(errors) = result {
            self.errors.extend(errors.0);
        }
    }

    /// Ends the reading of the section.
    ///
    /// # Errors
    /// Every wrong value, and every key that was not asked for, together with those that were.
    pub fn finish(mut self) -> Result<(), ConfigErrors> {
        let section = self.section;
        let unknown: Vec<_> = section
            .iter()
            .filter(|(key, _)| !self.known.iter().any(|known| known == key))
            .collect();
        if !unknown.is_empty() {
            self.known.extend(section.also_known.iter().cloned());
            self.known.sort();
            for (key, item) in unknown {
                let path = section.path_of(key);
                let message = format!("unknown key '{path}'{}", alternatives(key, &self.known));
                self.errors.push(ConfigError {
                    origin: item.origin.clone(),
                    path,
                    message,
                });
            }
        }
        ConfigErrors::check(self.errors)
    }

    fn take(&mut self, key: &str) -> Option<&'a Item> {
        if !self.known.iter().any(|known| known == key) {
            self.known.push(key.to_owned());
        }
        self.section.get(key)
    }

    fn wrong_type<T>(&mut self, key: &str, item: &Item, expected: &str) -> Option<T> {
        let message = format!("must be {expected}, not {}", shown(&item.value));
        self.report(key, item.origin.clone(), message);
        None
    }

    fn report(&mut self, key: &str, origin: Origin, message: String) {
        let path = self.section.path_of(key);
        self.errors.push(ConfigError {
            message: format!("'{path}' {message}"),
            origin,
            path,
        });
    }
}

/// A short text stands for itself, anything else for its type: a long one may be a secret put in the wrong place.
fn shown(value: &Value) -> String {
    if let Some(text) = value.text().filter(|text| is_short(text)) {
        return format!("\"{text}\"");
    }
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(value) => value.to_string(),
        other => other.type_name().to_owned(),
    }
}

fn is_short(text: &str) -> bool {
    text.len() <= 40 && !text.contains('@')
}

fn alternatives(key: &str, known: &[String]) -> String {
    if known.is_empty() {
        return "; this section has no keys".to_owned();
    }
    let guess = match nearest(key, known.iter().map(String::as_str)) {
        Some(guess) => format!("did you mean '{guess}'? "),
        None => String::new(),
    };
    format!("; {guess}known keys: {}", known.join(", "))
}

/// A mistake in the config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The place of the mistake.
    pub origin: Origin,
    /// The dotted name of the key or section.
    pub path: String,
    /// The mistake, with the name of the key in it.
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.message)
    }
}

/// Every mistake in the config, at least one; `Display` returns a line for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    /// Makes a list of one mistake.
    pub fn one(error: ConfigError) -> Self {
        Self(vec![error])
    }

    /// `Ok` for no mistakes.
    ///
    /// # Errors
    /// All of them, if there are any.
    pub fn check(errors: Vec<ConfigError>) -> Result<(), ConfigErrors> {
        if errors.is_empty() {
            Ok(())
        } else {
            Err(Self(errors))
        }
    }

    /// Returns every mistake that was found.
    pub fn errors(&self) -> &[ConfigError] {
        &self.0
    }

    /// Returns every mistake that was found, by value.
    pub fn into_errors(self) -> Vec<ConfigError> {
        self.0
    }

    /// Returns a mistake of the section as a whole; the message continues its path.
    pub fn of_section(section: &Section, message: &str) -> Self {
        Self::one(ConfigError {
            origin: section.origin.clone(),
            path: section.path.clone(),
            message: format!("'{}' {message}", section.path),
        })
    }

    pub(crate) fn unsupported(section: &Section, plugin: &str, store: &str) -> Self {
        let message = format!("asks for a {store}, but the plugin kind '{plugin}' has none");
        Self::of_section(section, &message)
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

#[cfg(test)]
mod tests;
