//! A section as TOML for people: every value with the place it comes from, secrets masked.

use actix_persistence_storage_api::{Origin, Section, Value};

use super::masked::{Secrets, masked_text};

/// Returns the section and those within it, each value followed by its origin as a comment.
pub(super) fn toml(section: &Section, secret_keys: &[&str]) -> String {
    let mut writer = Writer {
        secrets: Secrets::new(secret_keys),
        text: String::new(),
    };
    writer.section(section.path(), section, false);
    writer.text
}

/// Returns the values of a section that stand there as mere text, as those of a variable do, as what they were read as.
pub(super) fn give_types(section: &mut Section, typed: &Section) {
    for (key, read) in typed.iter() {
        let Some(mut item) = section.remove(key) else {
            continue;
        };
        match (&mut item.value, &read.value) {
            (Value::Section(inner), Value::Section(read)) => give_types(inner, read),
            (written @ Value::Untyped(_), read) => *written = read.clone(),
            _ => {}
        }
        section.insert(key, item);
    }
}

struct Writer<'k> {
    secrets: Secrets<'k>,
    text: String,
}

impl Writer<'_> {
    /// The path is given because a section that was inherited knows only the one where it was written.
    fn section(&mut self, path: &str, section: &Section, secret: bool) {
        self.text.push_str(&format!("[{path}]\n"));
        for (key, item) in section.iter() {
            if !matches!(item.value, Value::Section(_)) {
                let secret = secret || self.secrets.contains(key);
                self.line(key, self.value(&item.value, secret), &item.origin);
            }
        }
        for (key, item) in section.iter() {
            if let Value::Section(inner) = &item.value {
                self.text.push('\n');
                let secret = secret || self.secrets.contains(key);
                self.section(&format!("{path}.{key}"), inner, secret);
            }
        }
    }

    fn line(&mut self, key: &str, value: toml::Value, origin: &Origin) {
        let line = toml::Table::from_iter([(key.to_owned(), value)]).to_string();
        self.text
            .push_str(&format!("{}  # {origin}\n", line.trim_end()));
    }

    fn value(&self, value: &Value, secret: bool) -> toml::Value {
        match value {
            Value::List(items) => items
                .iter()
                .map(|item| self.value(&item.value, secret))
                .collect::<Vec<_>>()
                .into(),
            Value::Section(section) => section
                .iter()
                .map(|(key, item)| {
                    let secret = secret || self.secrets.contains(key);
                    (key.to_owned(), self.value(&item.value, secret))
                })
                .collect::<toml::Table>()
                .into(),
            _ if secret => toml::Value::from(super::masked::MASK),
            Value::String(text) => masked_text(text, &self.secrets).into(),
            Value::Untyped(untyped) => masked_text(untyped.as_str(), &self.secrets).into(),
            Value::Integer(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::Boolean(value) => (*value).into(),
            // Values of a sort that this function does not know yet.
            _ => super::masked::MASK.into(),
        }
    }
}

#[cfg(test)]
mod tests;
