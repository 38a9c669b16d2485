//! Projections as people name them.

use std::str::FromStr;

use actix_persistence::projection::{ProjectionKey, Projections, StoredProjection};
use anyhow::{Context, bail};

/// The name of a projection, perhaps with a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// The key of version 1.
    key: ProjectionKey,
    version: Option<u32>,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, version) = match text.rsplit_once('@') {
            Some((name, version)) => {
                let version = version.parse();
                let no_number = |_| "write the version after @ as a number, as in balances@2";
                (name, Some(version.map_err(no_number)?))
            }
            None => (text, None),
        };
        let key = ProjectionKey::new(name).map_err(|error| error.to_string())?;
        Ok(Self { key, version })
    }
}

impl Named {
    /// Returns the projection of this name that is stored.
    ///
    /// # Errors
    /// If it is not there, with those that are; or if it is not said which version is meant.
    pub(super) async fn find(&self, projections: &Projections) -> anyhow::Result<StoredProjection> {
        let keys = projections.keys().await;
        let keys = keys.context("could not list the projections")?;
        Ok(projections.projection(self.among(&keys)?))
    }

    fn among(&self, keys: &[ProjectionKey]) -> anyhow::Result<ProjectionKey> {
        let of_name = keys.iter().filter(|key| key.name() == self.key.name());
        let is_meant = |key: &&ProjectionKey| self.version.is_none_or(|it| it == key.version());
        let found: Vec<_> = of_name.filter(is_meant).collect();
        let name = self.key.name();
        match found[..] {
            [key] => Ok(key.clone()),
            [] if keys.is_empty() => bail!("there is no projection in this offset store"),
            [] => {
                let wanted = self
                    .version
                    .map(|version| self.key.clone().with_version(version));
                let wanted = wanted.as_ref().map_or_else(|| name.to_owned(), full);
                bail!("there is no projection {wanted}; there are {}", list(keys))
            }
            _ => bail!(
                "there are several versions of {name}; name one of {}",
                list(found)
            ),
        }
    }
}

/// Returns the name with the version, even if that is 1.
pub(super) fn full(key: &ProjectionKey) -> String {
    format!("{}@{}", key.name(), key.version())
}

fn list<'k>(keys: impl IntoIterator<Item = &'k ProjectionKey>) -> String {
    let names: Vec<_> = keys.into_iter().map(full).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, version: u32) -> ProjectionKey {
        ProjectionKey::new(name).unwrap().with_version(version)
    }

    fn found(text: &str, keys: &[ProjectionKey]) -> Result<ProjectionKey, String> {
        let named: Named = text.parse()?;
        named.among(keys).map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_alone_is_enough_where_there_is_one_version() {
        let keys = [key("balances", 1), key("balances", 3), key("mails", 2)];
        assert_eq!(found("mails", &keys), Ok(key("mails", 2)));
        assert_eq!(found("balances@3", &keys), Ok(key("balances", 3)));
        for (text, expected) in [
            ("balances", "name one of balances@1, balances@3"),
            (
                "mails@1",
                "no projection mails@1; there are balances@1, balances@3, mails@2",
            ),
            ("Mails", "no projection Mails; there are"),
            ("mails@x", "as a number"),
            ("mails@", "as a number"),
            ("", "is no name of a projection"),
            ("a b@2", "is no name of a projection"),
        ] {
            let error = found(text, &keys).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let error = found("mails", &[]).unwrap_err();
        assert_eq!(error, "there is no projection in this offset store");
    }
}
