//! The statements that make the tables, for a person.

use actix_persistence_storage_api::Roles;

use super::application::Application;
use super::migration::Step;
use super::{Owner, StoreSchema};
use crate::{Dialect, TableName};

impl<D: Dialect> StoreSchema<D> {
    /// Returns the statements that make the tables, for a person who runs them instead of `auto-initialize`.
    ///
    /// # Errors
    /// If the database knows no roles, or one of these cannot be used.
    pub(crate) fn script(&self, roles: Option<&Roles>) -> Result<String, String> {
        let rights = roles.map(|roles| self.rights(roles)).transpose()?;
        let (before, after) = rights.unwrap_or_default();
        let columns = self.more_columns.iter();
        let columns = columns.map(|column| column.add.as_str().to_owned());
        let made = std::iter::once(self.versions.create.as_str().to_owned())
            .chain(self.steps_by_hand())
            .chain(columns);
        let statements = before.into_iter().chain(made).chain(after);
        let texts: Vec<_> = statements.map(|sql| ended(&sql)).collect();
        Ok(texts.join("\n"))
    }

    /// Returns the steps, with the notes that they have run: of a store's that is one note, of an application's one for each,
    /// because a person runs those that are new.
    fn steps_by_hand(&self) -> Vec<String> {
        let steps = self.steps.iter().map(Step::by_hand);
        let Owner::Application(Application { name, .. }) = &self.owner else {
            return steps.chain([self.noted_by_hand(self.newest())]).collect();
        };
        let around = D::AROUND_STEPS_BY_HAND
            .map(|[before, after]| (before, after))
            .unzip();
        let statement = |text: &str| self.names.fill(text).as_str().to_owned();
        let steps = steps.zip(1..).flat_map(|(step, version)| {
            let head =
                format!("-- Step {version} of the schema steps '{name}', if it has not run yet.");
            [format!("{head}\n{step}"), self.noted_by_hand(version)]
        });
        let before = around.0.map(statement).into_iter();
        before.chain(steps).chain(around.1.map(statement)).collect()
    }

    /// Returns the statements before and after those that make the tables.
    fn rights(&self, roles: &Roles) -> Result<(Vec<String>, Vec<String>), String> {
        let texts = D::ROLES.ok_or_else(|| format!("{} knows no roles", D::NAME))?;
        let role = |key: &str, name: &str| {
            TableName::parse(name).map_err(|problem| format!("the role '{key}' {problem}"))
        };
        let owner = role("owner", &roles.owner)?;
        let application = role("application", &roles.application)?;
        let names = self.names.clone();
        let names = names
            .plain("owner", &owner)
            .plain("application", &application);
        let fill = |text: &str| names.fill(text).as_str().to_owned();
        let uses = self.tables.iter().map(|table| {
            let names = names.clone().table("table", table);
            names.fill(texts.use_table).as_str().to_owned()
        });
        let after = uses.chain([fill(texts.read_versions)]).collect();
        Ok((texts.before.map(fill).into_iter().collect(), after))
    }
}

impl Step {
    /// Returns the statement with what a person has to know who runs it.
    fn by_hand(&self) -> String {
        let sql = self.sql.as_str();
        if !self.beside_writers {
            return sql.to_owned();
        }
        let again = match &self.index {
            None => String::new(),
            Some(index) => format!(
                "\n-- If it was interrupted, see whether the index is there and not whole; then run this first: {};",
                index.drop.as_str()
            ),
        };
        format!("-- Outside a transaction: this runs while others write.{again}\n{sql}")
    }
}

/// Returns a statement with its semicolon, which is not part of a comment.
fn ended(sql: &str) -> String {
    let sql = sql.trim().trim_end_matches(';');
    let last = sql.lines().last().unwrap_or_default();
    match last.contains("--") || last.contains('#') {
        true => format!("{sql}\n;\n"),
        false => format!("{sql};\n"),
    }
}
