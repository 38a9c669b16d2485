//! The effect that a statement of the application can have on the transaction in which it runs.

use crate::{Piece, Quoting, pieces};

/// The kinds of statements, by what they can do beside reading and changing rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A statement that does nothing else, except perhaps mark a place in the transaction: it cannot end the
    /// transaction, and leaves nothing in the session but what functions of the server do.
    Rows,
    /// Commits what came before it, and itself.
    Commits,
    /// Begins or ends transactions.
    OfTransactions,
    /// Changes the session, and may outlast the transaction.
    OfSessions,
    /// Sends or takes data beside its answer, which no driver here expects.
    Streams,
    /// A statement of any other kind: the caller looks afterwards whether the transaction is still there.
    Other,
}

/// Returns the kind of a text; `definitions_commit` is true if statements that define tables commit where it runs.
///
/// Of several statements in one text, which only SQLite runs, it is that of the first one to be refused.
pub(crate) fn kind_of(sql: &str, quoting: Quoting, definitions_commit: bool) -> Kind {
    if quoting == Quoting::Sqlite {
        return of_statements(&statements(sql), definitions_commit);
    }
    let several = sql
        .trim_end_matches(|c: char| c == ';' || c.is_whitespace())
        .contains(';');
    match of_words(sql, definitions_commit) {
        Kind::Rows if several => Kind::Other,
        kind => kind,
    }
}

fn of_statements(statements: &[String], definitions_commit: bool) -> Kind {
    let of = |sql: &String| of_words(sql, definitions_commit);
    let mut kinds = statements.iter().map(of);
    match statements {
        [only] => of(only),
        _ => kinds
            .find(|kind| matches!(kind, Kind::OfTransactions | Kind::OfSessions))
            .unwrap_or(Kind::Other),
    }
}

/// Returns the statements of a text as SQLite divides it, without comments.
fn statements(sql: &str) -> Vec<String> {
    let mut statements = vec![String::new()];
    for piece in pieces(sql, Quoting::Sqlite) {
        let last = statements.last_mut().expect("there is always one");
        match piece {
            Piece::Other(";") => statements.push(String::new()),
            // SQLite takes the mark at the beginning of a file for white space.
            Piece::Other("\u{feff}") => last.push(' '),
            Piece::Quoted(text) if text.starts_with("--") || text.starts_with("/*") => {
                last.push(' ');
            }
            Piece::Quoted(text) | Piece::Other(text) => last.push_str(text),
            Piece::Placeholder(number) => last.push_str(&format!("${number}")),
        }
    }
    let mut in_trigger = false;
    statements.retain(|statement| {
        let words = words(statement);
        let is_in_trigger = in_trigger;
        in_trigger = match in_trigger {
            true => words[0] != "END",
            false => creates_trigger(&words),
        };
        !is_in_trigger && !statement.trim().is_empty()
    });
    statements
}

/// A table may have the name `trigger`, too.
fn creates_trigger(words: &[String; 3]) -> bool {
    let words = words.each_ref().map(String::as_str);
    matches!(
        words,
        ["CREATE", "TRIGGER", _] | ["CREATE", "TEMP" | "TEMPORARY", "TRIGGER"]
    )
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
/// known, as with comments in comments, and of comments that MySQL runs.
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
            assert_eq!(kind_of(sql, Quoting::Mysql, true), Kind::Rows, "{sql}");
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
            assert_eq!(kind_of(sql, Quoting::Mysql, true), Kind::Other, "{sql}");
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
            assert_eq!(
                kind_of(sql, Quoting::Postgres, false),
                Kind::OfTransactions,
                "{sql}"
            );
        }
        for sql in [
            "SET autocommit = 0",
            "set local a = b",
            "PRAGMA x = 1",
            "EXPLAIN PRAGMA x = 1",
            "explain query plan pragma x = 1",
            "DISCARD ALL",
        ] {
            assert_eq!(
                kind_of(sql, Quoting::Postgres, false),
                Kind::OfSessions,
                "{sql}"
            );
        }
        for sql in [
            "CREATE TABLE t (a INT)",
            "truncate t",
            "ALTER TABLE t ADD b INT",
        ] {
            assert_eq!(kind_of(sql, Quoting::Mysql, true), Kind::Commits, "{sql}");
            assert_eq!(kind_of(sql, Quoting::Postgres, false), Kind::Other, "{sql}");
        }
        assert_eq!(
            kind_of("copy t from stdin", Quoting::Postgres, false),
            Kind::Streams
        );
        assert_eq!(
            kind_of("COPY t TO STDOUT;", Quoting::Postgres, false),
            Kind::Streams
        );
        assert_eq!(
            kind_of("COPY t FROM '/a.csv'", Quoting::Postgres, false),
            Kind::Other
        );
        assert_eq!(
            kind_of("LOCK TABLES t WRITE", Quoting::Mysql, true),
            Kind::OfTransactions
        );
        assert_eq!(
            kind_of("LOCK TABLE t", Quoting::Postgres, false),
            Kind::Other
        );
    }

    #[test]
    fn each_statement_of_a_text_counts_on_sqlite() {
        let kind = |sql: &str| kind_of(sql, Quoting::Sqlite, false);
        for sql in [
            "PRAGMA x = 1",
            ";PRAGMA x = 1",
            "\u{feff}PRAGMA x = 1",
            "/* /* */ pragma x = 1",
            "--\u{b}\nPRAGMA x(1)",
            "SELECT ';'; /* ; */ pragma x = 1",
            "INSERT INTO [a'] VALUES (1); ATTACH 'a.db' AS b; --'",
            "CREATE TRIGGER a AFTER INSERT ON b BEGIN DELETE FROM c; SELECT 1; END; VACUUM",
            "SELECT 1; EXPLAIN PRAGMA x = 1",
            "CREATE TABLE trigger (a); PRAGMA x = 1",
            "CREATE VIEW trigger AS SELECT 1; PRAGMA x = 1",
            "SELECT $1('); PRAGMA x = 1; SELECT $1(')",
            "SELECT $1::a::b(\"); PRAGMA x = 1; --\")",
            "SELECT a$1('); SELECT $2('); PRAGMA x = 1; --')",
        ] {
            assert_eq!(kind(sql), Kind::OfSessions, "{sql}");
        }
        for sql in ["; COMMIT", "SELECT 1; END", "COMMIT; PRAGMA x = 1"] {
            assert_eq!(kind(sql), Kind::OfTransactions, "{sql}");
        }
        for sql in [
            "INSERT INTO a VALUES ('b; pragma c = 1')",
            "SELECT a$1('; commit'), $1 (';') FROM a WHERE b = $1",
            "SELECT \"; commit\", `; end`, [; pragma] FROM a; -- ; pragma b",
            "/* /* */ SELECT 1",
            ";;SELECT 1;",
        ] {
            assert_eq!(kind(sql), Kind::Rows, "{sql}");
        }
        for sql in [
            "",
            ";",
            "SELECT 1; SELECT 2",
            "create temp trigger a AFTER INSERT ON b BEGIN DELETE FROM c; END; SELECT 1",
        ] {
            assert_eq!(kind(sql), Kind::Other, "{sql}");
        }
    }
}
