//! The sources of a password.

use std::fmt;
use std::path::PathBuf;

use actix_persistence_storage_api::StorageErrorKind;

use crate::SqlError;

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text to itself.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for the driver.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The source of the password of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Password {
    /// The server asks for none.
    None,
    /// The settings hold the password.
    Given(Secret),
    /// The environment variable of this name holds the password.
    Environment(String),
    /// The file at this path holds the password.
    File(PathBuf),
}

impl Password {
    /// Returns the password as it is now: it may be changed while connections are open, and counts for the next one.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn read(&self) -> Result<Secret, SqlError> {
        match self {
            Password::None => Ok(Secret::new("")),
            Password::Given(secret) => Ok(secret.clone()),
            Password::Environment(variable) => match std::env::var(variable) {
                Ok(password) => Ok(Secret::new(password)),
                Err(_) => Err(SqlError::refused(
                    StorageErrorKind::AccessDenied,
                    format!(
                        "the variable {variable} named by 'password-env' is not set or not UTF-8"
                    ),
                )),
            },
            Password::File(path) => {
                let path_of_task = path.clone();
                // Rare and small, but a network drive may be slow.
                let read =
                    tokio::task::spawn_blocking(move || std::fs::read_to_string(path_of_task));
                let read = read
                    .await
                    .unwrap_or_else(|error| Err(std::io::Error::other(error)));
                let text = read.map_err(|error| SqlError::Refused {
                    kind: StorageErrorKind::AccessDenied,
                    message: format!(
                        "the file {} named by 'password-file' cannot be read",
                        path.display()
                    ),
                    source: Some(error.into()),
                })?;
                let line = text.strip_suffix('\n').unwrap_or(&text);
                Ok(Secret::new(line.strip_suffix('\r').unwrap_or(line)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(password: Password) -> Result<String, String> {
        match password.read().await {
            Ok(secret) => Ok(secret.expose().to_owned()),
            Err(SqlError::Refused { message, .. }) => Err(message),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_file_is_read_anew_each_time_without_its_line_break() {
        let file = std::env::temp_dir().join(format!("password-{}", std::process::id()));
        let password = Password::File(file.clone());
        for (text, expected) in [
            ("one\n", "one"),
            ("two\r\n", "two"),
            (" three ", " three "),
            ("\n\n", "\n"),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(read(password.clone()).await.as_deref(), Ok(expected));
        }
        std::fs::remove_file(&file).unwrap();
        let message = read(password).await.unwrap_err();
        assert!(message.contains("'password-file'"), "{message}");
    }

    #[tokio::test]
    async fn a_variable_that_is_missing_is_named() {
        let path = Password::Environment("PATH".to_owned());
        assert_eq!(read(path).await, Ok(std::env::var("PATH").unwrap()));
        let missing = Password::Environment("NO_SUCH_VARIABLE_4711".to_owned());
        let message = read(missing).await.unwrap_err();
        assert!(message.contains("NO_SUCH_VARIABLE_4711"), "{message}");
    }

    #[test]
    fn a_secret_is_never_shown() {
        let given = Password::Given(Secret::new("hunter2"));
        assert!(!format!("{given:?}").contains("hunter2"));
    }
}
