//! Limits on a HOCON text that the parser does not check.

mod copies;

use copies::Copies;

/// The deepest nesting of keys and lists, however they are written: `a { b { c } }` or `a.b.c`.
const MAX_DEPTH: usize = 48;

/// The most substitutions, and the most values added with `+=`; each may lead to all others.
const MAX_LINKS: usize = 256;

/// Refuses a text that would take the parser for ever or use up its stack, which ends the process.
///
/// The parser bounds braces and brackets only, and takes a brace too many for the end of the text. An included file is read by the parser itself and not looked at here.
///
/// # Errors
/// The line, from 1, and what is wrong.
pub(super) fn check(text: &str) -> Result<(), (usize, &'static str)> {
    let mut scanner = Scanner::new(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => string_length(rest),
            '#' => line_length(rest),
            '/' if rest.starts_with("//") => line_length(rest),
            _ => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        scanner.read(c, token, after);
        if let Some(message) = scanner.excess() {
            return Err((scanner.line + 1, message));
        }
        rest = after;
    }
    Ok(())
}

/// Counts without knowing keys from values: too much rather than too little.
struct Scanner {
    /// The number of line breaks so far.
    line: usize,
    /// The depth that each open brace or bracket adds: itself, and the dots in its key.
    open: Vec<usize>,
    /// The sum of `open`.
    depth: usize,
    /// Dots since the last key or value ended.
    dots: usize,
    /// The last line has ended and nothing has followed; the brace of its key still may.
    line_ended: bool,
    /// True if the last token was `=` or `:`, so that the value may follow in another line.
    expects_value: bool,
    links: usize,
    copies: Copies,
    /// A brace or bracket was closed that was not opened.
    unbalanced: bool,
}

impl Scanner {
    fn new(text_bytes: usize) -> Self {
        Self {
            line: 0,
            open: Vec::new(),
            depth: 0,
            dots: 0,
            line_ended: false,
            expects_value: false,
            links: 0,
            copies: Copies::of(text_bytes),
            unbalanced: false,
        }
    }

    fn read(&mut self, c: char, token: &str, after: &str) {
        self.line += token.matches('\n').count();
        match c {
            '\n' => self.line_ended = true,
            '#' => {}
            '/' if token.len() > 1 => {}
            c if c.is_whitespace() => {}
            '{' | '[' => {
                self.open.push(self.dots + 1);
                self.depth += self.dots + 1;
                self.begin();
            }
            '}' | ']' => {
                self.unbalanced |= self.open.is_empty();
                self.depth -= self.open.pop().unwrap_or(0);
                self.begin();
            }
            ',' => self.begin(),
            c => self.read_part(c, after),
        }
    }

    /// A part of a key or value.
    fn read_part(&mut self, c: char, after: &str) {
        if self.line_ended && !self.expects_value {
            self.dots = 0;
        }
        self.line_ended = false;
        self.expects_value = matches!(c, '=' | ':');
        match c {
            '.' => self.dots += 1,
            '$' if after.starts_with('{') => {
                self.links += 1;
                // Beyond the bound each link would be compared with ever more others.
                if self.links <= MAX_LINKS {
                    self.copies.add(&after[1..]);
                }
            }
            '+' if after.starts_with('=') => self.links += 1,
            _ => {}
        }
    }

    fn begin(&mut self) {
        self.dots = 0;
        self.line_ended = false;
        self.expects_value = false;
    }

    fn excess(&self) -> Option<&'static str> {
        if self.unbalanced {
            return Some("a brace or bracket is closed that was not opened");
        }
        if self.depth + self.dots > MAX_DEPTH {
            return Some("nested too deeply; put text with many dots in quotes");
        }
        if self.copies.are_too_large() {
            return Some("too many substitutions of the same value; write it where it is needed");
        }
        (self.links > MAX_LINKS).then_some("too many substitutions; write the values")
    }
}

/// Returns the length of a string up to the closing quotes, or of all if there are none.
fn string_length(text: &str) -> usize {
    if let Some(inner) = text.strip_prefix("\"\"\"") {
        // Quotes at the end belong to the text.
        let end = inner.find("\"\"\"").map(|end| end + 3);
        let mut length = 3 + end.unwrap_or(inner.len());
        while text[length..].starts_with('"') {
            length += 1;
        }
        return length;
    }
    let mut escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return index + 1,
            '\n' => return index,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

/// Returns the length of the line, without its break.
fn line_length(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}
