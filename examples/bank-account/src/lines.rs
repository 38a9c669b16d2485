//! Reads a file of bookings, line by line.

use std::io::{self, BufRead};

use tokio::sync::mpsc;

use crate::{Account, Book};

/// The columns that the first line has to name.
const HEADER: [&str; 4] = ["id", "account", "kind", "cents"];
/// The number of lines that are read before they are asked for.
const READ_AHEAD: usize = 1_024;
/// The longest line; a longer one is malformed, so that no line takes too much memory.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

/// The lines of a file after its header.
///
/// A record never spans lines: an open quote spoils its own line and not the rest of the file.
pub struct Lines<R> {
    input: R,
    number: u64,
    bytes_read: u64,
}

/// A line of the file of bookings.
pub struct Line {
    /// The number of the line in the file, from 1 for the header.
    pub number: u64,
    /// The number of bytes of the file that were read with it, for showing progress.
    pub bytes_read: u64,
    /// The account and what to book on it, or what is wrong with the line.
    pub booking: Result<(String, Book), String>,
}

impl<R: BufRead> Lines<R> {
    /// Reads and checks the header.
    pub fn new(input: R) -> anyhow::Result<Self> {
        let mut lines = Self {
            input,
            number: 0,
            bytes_read: 0,
        };
        let expected = HEADER.join(",");
        let Some(header) = lines.next_text()? else {
            anyhow::bail!("the input is empty; its first line must be the header {expected}");
        };
        let text = header.unwrap_or_default();
        let fields = fields(text.trim_start_matches('\u{feff}')).unwrap_or_default();
        anyhow::ensure!(
            fields == HEADER,
            "the first line must be the header {expected}, but it is {:?}",
            text.chars().take(80).collect::<String>()
        );
        Ok(lines)
    }

    /// Returns the next line that is not blank; `None` at the end.
    pub fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            let Some(text) = self.next_text()? else {
                return Ok(None);
            };
            if text.as_ref().is_ok_and(|text| text.trim().is_empty()) {
                continue;
            }
            return Ok(Some(Line {
                number: self.number,
                bytes_read: self.bytes_read,
                booking: text.and_then(|text| booking(&text)),
            }));
        }
    }

    /// Reads on a thread of its own, so that a slow input delays no other task; ends with the input or its receiver.
    pub fn in_background(mut self) -> mpsc::Receiver<io::Result<Line>>
    where
        R: Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(READ_AHEAD);
        std::thread::spawn(move || {
            while let Some(line) = self.next_line().transpose() {
                let failed = line.is_err();
                if sender.blocking_send(line).is_err() || failed {
                    return;
                }
            }
        });
        receiver
    }

    fn next_text(&mut self) -> io::Result<Option<Result<String, String>>> {
        let mut bytes = Vec::new();
        let mut limited = io::Read::take(&mut self.input, MAX_LINE_BYTES + 1);
        let read = limited.read_until(b'\n', &mut bytes)? as u64;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.bytes_read += read;
        if read > MAX_LINE_BYTES {
            self.skip_line()?;
            return Ok(Some(Err(format!("longer than {MAX_LINE_BYTES} bytes"))));
        }
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        Ok(Some(
            String::from_utf8(bytes).map_err(|_| "not valid UTF-8".to_owned()),
        ))
    }

    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            let (used, ended) = match buffer.iter().position(|&byte| byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.input.consume(used);
            self.bytes_read += used as u64;
            if ended {
                return Ok(());
            }
        }
    }
}

fn booking(text: &str) -> Result<(String, Book), String> {
    let fields = fields(text)?;
    let [id, account, kind, cents] = <[String; 4]>::try_from(fields)
        .map_err(|fields| format!("has {} fields instead of 4", fields.len()))?;
    if id.is_empty() || id.chars().any(char::is_control) {
        return Err("the id is empty or has control characters".to_owned());
    }
    Account::id_of(&account)
        .validate()
        .map_err(|defect| format!("the account {account:?} cannot be used: {defect}"))?;
    let kind = kind.parse()?;
    let cents = match cents.parse() {
        Ok(cents) if cents > 0 => cents,
        _ => return Err(format!("cents is a whole number above 0, not {cents:?}")),
    };
    Ok((account, Book { id, kind, cents }))
}

/// The fields of one line; quotes as in RFC 4180.
fn fields(text: &str) -> Result<Vec<String>, String> {
    if !text.contains('"') {
        return Ok(text
            .split(',')
            .map(|field| field.trim().to_owned())
            .collect());
    }
    if text.matches('"').count() % 2 == 1 {
        return Err("a quote is not closed".to_owned());
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    match reader.records().next() {
        Some(Ok(record)) => Ok(record.iter().map(str::to_owned).collect()),
        Some(Err(error)) => Err(error.to_string()),
        None => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(u64, Result<String, String>)> {
        let mut lines = Lines::new(text.as_bytes()).unwrap();
        std::iter::from_fn(|| lines.next_line().unwrap())
            .map(|line| {
                let shown = line.booking.map(|(account, book)| {
                    format!("{account} {} {} {}", book.id, book.kind, book.cents)
                });
                (line.number, shown)
            })
            .collect()
    }

    #[test]
    fn reads_what_spreadsheets_write() {
        let lines = read(
            "\u{feff}id,account,kind,cents\r\n1,DE-1,deposit,500\r\n\r\n\"2\",\"a,b\",withdraw,7",
        );
        assert_eq!(lines[0], (2, Ok("DE-1 1 deposit 500".to_owned())));
        assert_eq!(lines[1], (4, Ok("a,b 2 withdraw 7".to_owned())));
    }

    #[test]
    fn a_malformed_line_spoils_no_other() {
        let long = "x".repeat(300);
        let huge = "y".repeat(MAX_LINE_BYTES as usize + 5);
        let bad = [
            "1,a,deposit",
            "1,a,deposit,0",
            "1,a,deposit,-5",
            "1,a,deposit,1.5",
            "1,a,deposit,99999999999999999999",
            "1,a,steal,5",
            ",a,deposit,5",
            "1,,deposit,5",
            "1,a\0b,deposit,5",
            "1,\"a,deposit,5",
            &format!("1,{long},deposit,5"),
            &huge,
        ];
        for line in bad {
            let text = format!("id,account,kind,cents\n{line}\n2,b,deposit,5\n");
            let lines = read(&text);
            assert!(matches!(&lines[0], (2, Err(_))), "{:.40}", line);
            assert_eq!(
                lines[1],
                (3, Ok("b 2 deposit 5".to_owned())),
                "{:.40}",
                line
            );
        }
    }

    #[test]
    fn bytes_that_are_no_text_spoil_their_line_only() {
        let mut lines =
            Lines::new(&b"id,account,kind,cents\n1,\xff,deposit,5\n2,b,deposit,5\n"[..]).unwrap();
        assert!(lines.next_line().unwrap().unwrap().booking.is_err());
        assert!(lines.next_line().unwrap().unwrap().booking.is_ok());
    }

    #[test]
    fn another_header_is_refused() {
        for text in ["", "account,id,kind,cents\n", "1,a,deposit,5\n"] {
            let error = Lines::new(text.as_bytes()).err().unwrap().to_string();
            assert!(error.contains("id,account,kind,cents"), "{error}");
        }
    }
}
