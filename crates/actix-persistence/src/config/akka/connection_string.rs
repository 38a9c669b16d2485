//! The connection strings of SQLite's drivers for .NET.

use actix_persistence_sqlite::SqliteOptions;

/// Returns the `url` of the file that a connection string names; `None` if it names none or says more than that.
///
/// See <https://learn.microsoft.com/dotnet/standard/data/sqlite/connection-strings>.
pub(super) fn url(text: &str) -> Option<String> {
    let mut file = None;
    let mut mode = "";
    for part in text.split(';').filter(|part| !part.trim().is_empty()) {
        let (name, value) = part.split_once('=')?;
        let name = name.trim().to_ascii_lowercase().replace(' ', "");
        let value = value.trim().trim_matches(['"', '\'']);
        match (name.as_str(), value.to_ascii_lowercase().as_str()) {
            ("datasource" | "filename", _) if file.is_none() => file = Some(value.to_owned()),
            ("mode", "readwritecreate") | ("version", "3") => {}
            ("mode", "readwrite") => mode = "?mode=rw",
            ("cache", "default" | "private" | "shared") | ("pooling", "true" | "false") => {}
            _ => return None,
        }
    }
    let file = file.filter(|file| !file.is_empty() && !file.starts_with([':', '|']))?;
    let is_uri = file.to_ascii_lowercase().starts_with("file:");
    let url = SqliteOptions::url_of(file).filter(|_| !is_uri)?;
    Some(format!("{url}{mode}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_string_that_names_a_file_and_nothing_else_is_read() {
        let cases = [
            ("Data Source=bank.db", Some("sqlite://bank.db")),
            ("Filename=./bank 1.db;", Some("sqlite://./bank 1.db")),
            ("data source='a?b.db'; Version=3", Some("sqlite://a%3Fb.db")),
            (
                "DataSource=/b.db;Mode=ReadWriteCreate;Cache=Shared",
                Some("sqlite:///b.db"),
            ),
            (
                "Data Source=bank.db;Mode=ReadWrite",
                Some("sqlite://bank.db?mode=rw"),
            ),
            ("Data Source=bank.db;Password=pw", None),
            ("Data Source=:memory:", None),
            ("Data Source=shared;Mode=Memory;Cache=Shared", None),
            ("Data Source=|DataDirectory|/bank.db", None),
            ("FullUri=file:memdb?mode=memory", None),
            ("Filename=file:bank.db", None),
            ("Data Source=a.db;Data Source=b.db", None),
            ("Data Source=", None),
            ("bank.db", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(url(text).as_deref(), expected, "{text}");
        }
    }
}
