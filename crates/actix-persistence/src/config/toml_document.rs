//! TOML as a tree of sections that know where each key was written.

use std::ops::Range;
use std::sync::Arc;

use actix_persistence_storage_api::{ConfigError, Item, Origin, Section, Value};
use toml::de::{DeTable, DeValue};

use super::ConfigLoadError;
use super::document::Document;

pub(super) fn parse_bytes(bytes: &[u8], name: Arc<str>) -> Result<Document, ConfigLoadError> {
    match str::from_utf8(bytes) {
        Ok(text) => parse(text, name),
        Err(error) => {
            let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let message = "the file is not UTF-8 text";
            Err(Lines::of(&before).syntax_error(name, before.len(), message))
        }
    }
}

pub(super) fn parse(text: &str, name: Arc<str>) -> Result<Document, ConfigLoadError> {
    let lines = Lines::of(text);
    let table = DeTable::parse(text).map_err(|error| {
        let start = error.span().map_or(text.len(), |span| span.start);
        // Only the message: the whole error shows the line, and there may be a password in it.
        lines.syntax_error(name.clone(), start, error.message())
    })?;
    let mut builder = Builder {
        lines,
        name: name.clone(),
        mistakes: Vec::new(),
    };
    let root = builder.section(String::new(), Origin::file(name, 1), table.get_ref());
    Ok(Document {
        root,
        mistakes: builder.mistakes,
        warnings: Vec::new(),
    })
}

struct Builder<'t> {
    lines: Lines<'t>,
    name: Arc<str>,
    mistakes: Vec<ConfigError>,
}

impl Builder<'_> {
    fn section(&mut self, path: String, origin: Origin, table: &DeTable<'_>) -> Section {
        let mut section = Section::new(path, origin);
        for (key, value) in table.iter() {
            let origin = self.origin(key.span());
            let key = key.get_ref();
            let path = section.path_of(key);
            if let Some(value) = self.value(path, &origin, value.get_ref()) {
                section.insert(key, Item { value, origin });
            }
        }
        section
    }

    fn value(&mut self, path: String, origin: &Origin, value: &DeValue<'_>) -> Option<Value> {
        Some(match value {
            DeValue::String(text) => Value::String(text.clone().into_owned()),
            DeValue::Boolean(value) => Value::Boolean(*value),
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => Value::Integer(number),
                    Err(_) => return self.refuse(path, origin, "is a number that is too large"),
                }
            }
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(number) => Value::Float(number),
                Err(_) => return self.refuse(path, origin, "is no number"),
            },
            DeValue::Datetime(_) => {
                return self.refuse(path, origin, "must not be a date; put text in quotes");
            }
            DeValue::Array(values) => Value::List(
                values
                    .iter()
                    .enumerate()
                    .filter_map(|(index, value)| {
                        let origin = self.origin(value.span());
                        let path = format!("{path}[{index}]");
                        let value = self.value(path, &origin, value.get_ref())?;
                        Some(Item { value, origin })
                    })
                    .collect(),
            ),
            DeValue::Table(table) => Value::Section(self.section(path, origin.clone(), table)),
        })
    }

    fn refuse(&mut self, path: String, origin: &Origin, message: &str) -> Option<Value> {
        self.mistakes.push(ConfigError {
            origin: origin.clone(),
            message: format!("'{path}' {message}"),
            path,
        });
        None
    }

    fn origin(&self, span: Range<usize>) -> Origin {
        Origin::file(self.name.clone(), self.lines.position(span.start).0)
    }
}

/// Finds the line of an offset.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(index, _)| index + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(after_breaks).collect(),
        }
    }

    /// Returns the line and the column of an offset in bytes, both from 1, the column in characters.
    fn position(&self, offset: usize) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1];
        let before = self.text.get(start..offset).unwrap_or_default();
        let column = before.chars().count() + 1;
        (saturating(line), saturating(column))
    }

    fn syntax_error(&self, name: Arc<str>, offset: usize, message: &str) -> ConfigLoadError {
        let (line, column) = self.position(offset);
        ConfigLoadError::Syntax {
            language: "TOML",
            name: name.as_ref().to_owned(),
            line,
            column,
            message: message.to_owned(),
        }
    }
}

fn saturating(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
