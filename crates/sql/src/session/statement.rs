//! The effect that a statement of the application can have on the transaction in which it runs.

/// The kinds of statements, by what they can do beside reading and changing rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing, or it marks a place in the transaction: it cannot end that, and leaves nothing in the session but what
    /// functions of the server do.
    Rows,
    /// Commits what came before it, and itself.
    Commits,
    /// Begins or ends transactions.
    OfTransactions,
    /// Changes the session, and may outlast the transaction.
    OfSessions,
    /// Sends or takes data beside its answer, which no driver here expects.
    Streams,
    /// Any other statement: the caller looks afterwards whether the transaction is still there.
    Other,
}

/// Returns the kind of a statement; `definitions_commit` tells whether statements that define tables commit where it
/// runs.
pub(super) fn kind_of(sql: &str, definitions_commit: bool) -> Kind {
    // Several statements in one text: not every database refuses that.
    if sql
        .trim_end_matches(|c: char| c == ';' || c.is_whitespace())
        .contains(';')
    {
        return match of_words(sql, definitions_commit) {
            Kind::Rows => Kind::Other,
            kind => kind,
        };
    }
    of_words(sql, definitions_commit)
}

fn of_words(sql: &str, definitions_commit: bool) -> Kind {
    let words = words(sql);
    let [first, second, third] = words.each_ref().map(String::as_str);
    match first {
        // SQLite runs some of them when it compiles them.
        "EXPLAIN" if has_word(sql, "PRAGMA") => Kind::OfSessions,
        "SELECT" | "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "MERGE" | "WITH" | "VALUES"
        | "TABLE" | "EXPLAIN" | "SHOW" | "DESCRIBE" | "DESC" => Kind::Rows,
        "SAVEPOINT" | "RELEASE" => Kind::Rows,
        "ROLLBACK" if [second, third].contains(&"TO") => Kind::Rows,
        "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT" | "XA" => Kind::OfTransactions,
        "SET" if second == "CONSTRAINTS" => Kind::Other,
        "PREPARE" if second == "TRANSACTION" => Kind::OfTransactions,
        "SET" | "RESET" | "DISCARD" | "PREPARE" | "PRAGMA" | "ATTACH" | "DETACH" | "VACUUM"
        | "USE" | "LOAD" | "LISTEN" | "UNLISTEN" => Kind::OfSessions,
        // https://mariadb.com/docs/server/reference/sql-statements/transactions/sql-statements-that-cause-an-implicit-commit
        // https://dev.mysql.com/doc/refman/8.4/en/implicit-commit.html
        "CREATE" | "DROP" if definitions_commit && second == "TEMPORARY" => Kind::Other,
        "CREATE" | "DROP" | "ALTER" | "TRUNCATE" | "RENAME" | "ANALYZE" if definitions_commit => {
            Kind::Commits
        }
        "COPY" if streams(sql) => Kind::Streams,
        "GRANT" | "REVOKE" | "LOCK" | "UNLOCK" | "OPTIMIZE" | "REPAIR" | "CHECK" | "FLUSH"
        | "CACHE" | "INSTALL" | "UNINSTALL"
            if definitions_commit =>
        {
            Kind::OfTransactions
        }
        _ => Kind::Other,
    }
}

/// Returns whether a statement that copies does it between the server and its client.
fn streams(sql: &str) -> bool {
    has_word(sql, "STDIN") || has_word(sql, "STDOUT")
}

fn has_word(sql: &str, wanted: &str) -> bool {
    sql.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| word.eq_ignore_ascii_case(wanted))
}

/// Returns the first three words, in capitals; empty from where something else stands that is no comment.
fn words(sql: &str) -> [String; 3] {
    let mut rest = sql;
    std::array::from_fn(|_| {
        let Some(text) = without_comments(rest) else {
            rest = "";
            return String::new();
        };
        let is_of_word = |c: char| c.is_ascii_alphabetic() || c == '_';
        let (word, after) = text.split_at(text.find(|c| !is_of_word(c)).unwrap_or(text.len()));
        rest = after;
        word.to_ascii_uppercase()
    })
}

/// Returns the text from the first character on that is no white space, parenthesis or comment; none if that cannot be
/// told, as of comments in comments, and of comments that MySQL runs.
fn without_comments(mut text: &str) -> Option<&str> {
    loop {
        text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        if let Some(comment) = text.strip_prefix("/*") {
            let (comment, after) = comment.split_once("*/")?;
            if comment.contains("/*") || comment.starts_with(['!', 'M']) {
                return None;
            }
            text = after;
        } else if text.starts_with("--") || text.starts_with('#') {
            (_, text) = text.split_once('\n')?;
        } else {
            return Some(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_about_rows_are_told_from_all_others() {
        for sql in [
            "INSERT INTO t VALUES ($1)",
            " \n select 1;\n",
            "/* a */ -- b\n (SELECT 1) UNION (SELECT 2)",
            "with x as (select 1) update t set n = 1",
            "SAVEPOINT a",
            "RELEASE SAVEPOINT a",
            "ROLLBACK TO a",
            "rollback transaction to savepoint a",
        ] {
            assert_eq!(kind_of(sql, true), Kind::Rows, "{sql}");
        }
        for sql in [
            "",
            "SELECT 1; COMMIT",
            "/*!40000 COMMIT */",
            "/*M! COMMIT */",
            "/* /* */ SELECT */ COMMIT",
            "/* SELECT",
            "CALL p()",
            "SET CONSTRAINTS ALL DEFERRED",
            "CREATE TEMPORARY TABLE t (a INT)",
        ] {
            assert_eq!(kind_of(sql, true), Kind::Other, "{sql}");
        }
    }

    #[test]
    fn what_ends_transactions_or_outlasts_them_is_found() {
        for sql in [
            "COMMIT",
            "Rollback",
            "rollback and chain",
            "START TRANSACTION",
            "BEGIN; COMMIT",
            "PREPARE TRANSACTION 'a'",
            "end",
        ] {
            assert_eq!(kind_of(sql, false), Kind::OfTransactions, "{sql}");
        }
        for sql in [
            "SET autocommit = 0",
            "set local a = b",
            "PRAGMA x = 1",
            "EXPLAIN PRAGMA x = 1",
            "explain query plan pragma x = 1",
            "DISCARD ALL",
        ] {
            assert_eq!(kind_of(sql, false), Kind::OfSessions, "{sql}");
        }
        for sql in [
            "CREATE TABLE t (a INT)",
            "truncate t",
            "ALTER TABLE t ADD b INT",
        ] {
            assert_eq!(kind_of(sql, true), Kind::Commits, "{sql}");
            assert_eq!(kind_of(sql, false), Kind::Other, "{sql}");
        }
        assert_eq!(kind_of("copy t from stdin", false), Kind::Streams);
        assert_eq!(kind_of("COPY t TO STDOUT;", false), Kind::Streams);
        assert_eq!(kind_of("COPY t FROM '/a.csv'", false), Kind::Other);
        assert_eq!(kind_of("LOCK TABLES t WRITE", true), Kind::OfTransactions);
        assert_eq!(kind_of("LOCK TABLE t", false), Kind::Other);
    }
}
