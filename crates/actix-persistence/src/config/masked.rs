//! Hides secrets in what is shown to people.

/// The text that is shown in place of a secret.
pub(super) const MASK: &str = "***";

/// Words that make any key a secret one.
const SECRET_WORDS: [&str; 5] = ["password", "passwd", "pwd", "secret", "token"];

/// The keys whose values must not be shown.
pub(super) struct Secrets<'k>(&'k [&'k str]);

impl<'k> Secrets<'k> {
    /// The keys that a plugin names, besides those that are secret by their name.
    pub(super) fn new(keys: &'k [&'k str]) -> Self {
        Self(keys)
    }

    pub(super) fn contains(&self, key: &str) -> bool {
        let lower = key.to_lowercase();
        self.0.iter().any(|secret| secret.eq_ignore_ascii_case(key))
            || SECRET_WORDS.iter().any(|word| lower.contains(word))
    }
}

/// Returns the text without the secrets that may be within it: the password of a URL, and parameters with a secret
/// name.
pub(super) fn masked_text(text: &str, secrets: &Secrets<'_>) -> String {
    mask_parameters(&mask_user_info(text), secrets)
}

/// `scheme://user:password@host` without the password; a user name that stands alone may be a token, so it goes too.
fn mask_user_info(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let at = match rest[..authority].rfind('@') {
        // A password that should have been escaped may hold these characters: hide too much rather than too little.
        None if rest[..authority].contains(':') => rest.rfind('@'),
        at => at,
    };
    let Some(at) = at else {
        return text.to_owned();
    };
    let user = match rest[..at].split_once(':') {
        Some((user, _)) => format!("{user}:"),
        None => String::new(),
    };
    format!("{scheme}://{user}{MASK}{}", &rest[at..])
}

/// `?password=x&mode=ro` and `host=x;password=y` without the passwords.
fn mask_parameters(text: &str, secrets: &Secrets<'_>) -> String {
    let is_separator = |c: char| matches!(c, '?' | '&' | ';' | ' ');
    let mut masked = String::new();
    let mut rest = text;
    while let Some(equals) = rest.find('=') {
        let (before, value) = rest.split_at(equals + 1);
        masked.push_str(before);
        let name = before[..equals].rsplit(is_separator).next();
        rest = value;
        if name.is_some_and(|name| secrets.contains(name)) {
            masked.push_str(MASK);
            // A value in quotes may hold spaces, so only these end it.
            let end = value.find(['&', ';']).unwrap_or(value.len());
            rest = &value[end..];
        }
    }
    masked.push_str(rest);
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_passwords_in_texts_and_nothing_else() {
        let cases = [
            ("sqlite://bank.db", "sqlite://bank.db"),
            ("sqlite://bank.db?mode=ro", "sqlite://bank.db?mode=ro"),
            ("me@example.org", "me@example.org"),
            ("postgres://host/db", "postgres://host/db"),
            ("sqlite://data/bank@2.db", "sqlite://data/bank@2.db"),
            ("postgres://me:pw@host/db", "postgres://me:***@host/db"),
            ("postgres://me:p:w@host:1/db", "postgres://me:***@host:1/db"),
            ("postgres://me:p@w@host/db", "postgres://me:***@host/db"),
            ("postgres://me:p/w@host/db", "postgres://me:***@host/db"),
            ("postgres://me:p?w#@host/db", "postgres://me:***@host/db"),
            ("postgres://:pw@host", "postgres://:***@host"),
            ("https://tok3n@host/x", "https://***@host/x"),
            (
                "pg://h/db?user=me&password=pw",
                "pg://h/db?user=me&password=***",
            ),
            (
                "pg://h/db?sslPassword=pw&a=b",
                "pg://h/db?sslPassword=***&a=b",
            ),
            ("host=h password='p w'", "host=h password=***"),
            ("Server=h;Pwd=p w;Port=1", "Server=h;Pwd=***;Port=1"),
            ("h?api-key=k&x=y", "h?api-key=***&x=y"),
            ("a=b=c", "a=b=c"),
        ];
        let secrets = Secrets::new(&["api-key"]);
        for (text, expected) in cases {
            assert_eq!(masked_text(text, &secrets), expected);
        }
    }

    #[test]
    fn keys_are_secret_by_their_name_or_because_the_plugin_says_so() {
        let secrets = Secrets::new(&["api-key"]);
        for key in [
            "password",
            "PASSWORD",
            "db-password",
            "auth_token",
            "API-Key",
        ] {
            assert!(secrets.contains(key), "{key}");
        }
        for key in ["url", "key", "event-table"] {
            assert!(!secrets.contains(key), "{key}");
        }
    }
}
