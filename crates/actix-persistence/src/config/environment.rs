//! Environment variables as keys of the config.
//!
//! `config` and `figment` read them too, but forget the line in which a key was written, which our errors name.

use std::ffi::OsString;

use actix_persistence_storage_api::{ConfigError, Item, Origin, Section, Untyped, Value};

/// The prefix of the names of our variables, in upper or lower case.
const PREFIX: &str = "ACTIX_PERSISTENCE__";

/// The separator of the keys in the name of a variable.
const SEPARATOR: &str = "__";

/// The most keys in the name of a variable, more than any path has; each is a section within a section.
const MAX_KEYS: usize = 16;

/// Sets the keys that the variables name, and returns what is wrong with those that name none.
pub(super) fn set_all(
    root: &mut Section,
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<ConfigError> {
    let mut ours: Vec<_> = variables.filter(|(name, _)| is_ours(name)).collect();
    // The report must not depend on the order in which the system keeps them.
    ours.sort();
    let mut mistakes = Vec::new();
    for (name, value) in ours {
        let name = name.to_string_lossy();
        let origin = Origin::environment(&name);
        if let Err(refused) = set(root, &name, value, &origin) {
            mistakes.push(ConfigError {
                origin,
                path: refused.path,
                message: refused.message,
            });
        }
    }
    mistakes
}

/// The reason why a variable cannot be a key.
struct Refused {
    path: String,
    message: String,
}

impl Refused {
    fn at(path: String, message: impl AsRef<str>) -> Self {
        let message = format!("'{path}' {}", message.as_ref());
        Self { path, message }
    }
}

fn is_ours(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    let start = name.get(..PREFIX.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

fn set(root: &mut Section, name: &str, value: OsString, origin: &Origin) -> Result<(), Refused> {
    let mut keys = vec!["persistence"];
    keys.extend(name[PREFIX.len()..].split(SEPARATOR));
    let is_key = |key: &&str| plain(key).chars().any(char::is_alphanumeric);
    if keys.len() > MAX_KEYS || !keys.iter().all(is_key) {
        return Err(Refused {
            path: "persistence".to_owned(),
            message: format!(
                "the name is no path of keys; write it like {PREFIX}JOURNAL__ACCOUNTS__URL"
            ),
        });
    }
    let Ok(text) = value.into_string() else {
        return Err(Refused {
            path: "persistence".to_owned(),
            message: "the value is not UTF-8 text".to_owned(),
        });
    };
    set_key(root, &keys, value_of(text, origin), origin)
}

fn set_key(
    section: &mut Section,
    keys: &[&str],
    value: Value,
    origin: &Origin,
) -> Result<(), Refused> {
    let Some((name, rest)) = keys.split_first() else {
        return Ok(());
    };
    let key = key_for(section, name)?;
    let path = section.path_of(&key);
    let there = section.get(&key);
    if rest.is_empty() {
        match there {
            Some(Item {
                value: Value::Section(_),
                ..
            }) => return Err(Refused::at(path, "is a section; name one of its keys")),
            Some(item) if is_variable(&item.origin) => {
                return Err(Refused::at(path, format!("is also set by {}", item.origin)));
            }
            _ => {}
        }
        let origin = origin.clone();
        section.insert(&key, Item { value, origin });
        return Ok(());
    }
    let (mut inner, place) = match there.cloned() {
        None => (Section::new(path, origin.clone()), origin.clone()),
        Some(Item {
            value: Value::Section(inner),
            origin,
        }) => (inner, origin),
        Some(_) => return Err(Refused::at(path, "is no section; it has no keys")),
    };
    set_key(&mut inner, rest, value, origin)?;
    let item = Item {
        value: Value::Section(inner),
        origin: place,
    };
    section.insert(&key, item);
    Ok(())
}

/// Returns the key of the section for which a part of a variable's name stands, or the name of a new key.
fn key_for(section: &Section, name: &str) -> Result<String, Refused> {
    if section.get(name).is_some() {
        return Ok(name.to_owned());
    }
    let wanted = plain(name);
    let keys = section.iter().map(|(key, _)| key);
    let alike: Vec<_> = keys.filter(|key| plain(key) == wanted).collect();
    match *alike.as_slice() {
        [] => Ok(wanted),
        [key] => Ok(key.to_owned()),
        _ => Err(Refused {
            path: section.path_of(&wanted),
            message: format!(
                "the name may stand for any of '{}'; give them names that differ in a letter or digit",
                alike.join("', '")
            ),
        }),
    }
}

/// The name in lower case, with one `-` for whatever stands between letters and digits.
fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_alphanumeric() {
            plain.extend(c.to_lowercase());
        } else if !plain.ends_with('-') {
            plain.push('-');
        }
    }
    plain
}

fn is_variable(origin: &Origin) -> bool {
    let any = Origin::environment("");
    origin.source.starts_with(&*any.source)
}

/// A list if it is written as one in TOML; any other text is up to the key.
fn value_of(text: String, origin: &Origin) -> Value {
    if text.trim_start().starts_with('[')
        && let Ok(toml::Value::Array(values)) = text.trim().parse()
        && let Some(list) = list(values, origin)
    {
        return list;
    }
    Value::Untyped(Untyped::new(text))
}

/// `None` for what no key takes: dates and tables.
fn list(values: Vec<toml::Value>, origin: &Origin) -> Option<Value> {
    let item = |value| {
        let value = match value {
            toml::Value::String(text) => Value::String(text),
            toml::Value::Integer(number) => Value::Integer(number),
            toml::Value::Float(number) => Value::Float(number),
            toml::Value::Boolean(value) => Value::Boolean(value),
            toml::Value::Array(values) => list(values, origin)?,
            toml::Value::Datetime(_) | toml::Value::Table(_) => return None,
        };
        let origin = origin.clone();
        Some(Item { value, origin })
    };
    let items: Option<Vec<_>> = values.into_iter().map(item).collect();
    items.map(Value::List)
}

#[cfg(test)]
mod tests;
