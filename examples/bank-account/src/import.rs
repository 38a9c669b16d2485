//! Books the lines of a file, thousands at once, in the file's order for each account.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;

use actix::{Addr, MailboxError};
use actix_persistence::StopReport;
use actix_persistence::prelude::*;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::mpsc;

use crate::account::{Account, Book, BookError, Booked};
use crate::lines::Line;
use crate::progress::Progress;

/// How many commands wait for an answer at the most.
const MAX_IN_FLIGHT: usize = 10_000;
/// How many of them for one account: below the capacity of a mailbox, because a full one would not keep their order.
const MAX_IN_FLIGHT_PER_ACCOUNT: usize = 8;

/// How an import ended.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) applied: u64,
    pub(crate) refused: u64,
    pub(crate) duplicate: u64,
    pub(crate) malformed: u64,
    /// How everything stopped, if it was asked to end before the end of the file.
    pub(crate) interrupted: Option<StopReport>,
}

/// What is known of an account that the file has named.
struct Open {
    address: Addr<Account>,
    in_flight: usize,
}

struct Answer {
    account: String,
    line: u64,
    result: Result<Result<Booked, BookError>, MailboxError>,
}

/// An import under way.
pub(crate) struct Import<'a> {
    persistence: &'a Persistence,
    accounts: HashMap<String, Open>,
    in_flight: FuturesUnordered<LocalBoxFuture<'static, Answer>>,
    summary: Summary,
    progress: Progress,
}

impl<'a> Import<'a> {
    pub(crate) fn new(persistence: &'a Persistence, progress: Progress) -> Self {
        Self {
            persistence,
            accounts: HashMap::new(),
            in_flight: FuturesUnordered::new(),
            summary: Summary::default(),
            progress,
        }
    }

    /// Books every line until the end, or until everything is `stopped`; nothing is read once it stops, and what was sent is waited for.
    ///
    /// An error ends it: what was decided stays, and running the same import again goes on where it ended.
    pub(crate) async fn run(
        mut self,
        mut lines: mpsc::Receiver<io::Result<Line>>,
        stopped: impl Future<Output = io::Result<StopReport>>,
    ) -> anyhow::Result<Summary> {
        let mut stopped = std::pin::pin!(stopped);
        let mut waiting: Option<(String, Book, u64)> = None;
        loop {
            let stopping = self.persistence.is_stopping();
            if stopping {
                waiting = None;
            }
            if let Some((account, book, line)) =
                waiting.take_if(|(account, ..)| !self.is_full(account))
            {
                self.book(account, book, line)?;
            }
            tokio::select! {
                biased;
                Some(answer) = self.in_flight.next() => self.take(answer)?,
                report = &mut stopped => {
                    self.summary.interrupted = Some(report?);
                    break;
                }
                line = lines.recv(), if waiting.is_none() && !stopping => {
                    let Some(line) = line.transpose()? else {
                        break;
                    };
                    self.progress.read(line.number, line.bytes_read);
                    match line.booking {
                        Ok((account, book)) => waiting = Some((account, book, line.number)),
                        Err(defect) => self.malformed(line.number, &defect),
                    }
                }
            }
        }
        while let Some(answer) = self.in_flight.next().await {
            self.take(answer)?;
        }
        self.progress.finish();
        Ok(self.summary)
    }

    fn is_full(&self, account: &str) -> bool {
        let of_account = self.accounts.get(account).map_or(0, |open| open.in_flight);
        self.in_flight.len() >= MAX_IN_FLIGHT || of_account >= MAX_IN_FLIGHT_PER_ACCOUNT
    }

    fn book(&mut self, account: String, book: Book, line: u64) -> Result<(), StartError> {
        let open = self.open(&account)?;
        open.in_flight += 1;
        let request = open.address.send(book);
        self.in_flight.push(
            async move {
                Answer {
                    account,
                    line,
                    result: request.await,
                }
            }
            .boxed_local(),
        );
        Ok(())
    }

    fn open(&mut self, name: &str) -> Result<&mut Open, StartError> {
        Ok(match self.accounts.entry(name.to_owned()) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(vacant) => {
                let name = name.to_owned();
                let address = self.persistence.start(move || Account::new(&name))?;
                vacant.insert(Open {
                    address,
                    in_flight: 0,
                })
            }
        })
    }

    fn take(&mut self, answer: Answer) -> anyhow::Result<()> {
        if let Some(open) = self.accounts.get_mut(&answer.account) {
            open.in_flight -= 1;
        }
        let Answer { account, line, .. } = answer;
        match answer.result {
            Ok(Ok(Booked::Applied)) => self.summary.applied += 1,
            Ok(Ok(Booked::Refused)) => self.summary.refused += 1,
            Ok(Ok(Booked::Duplicate)) => self.summary.duplicate += 1,
            Ok(Err(BookError::Persist(PersistError::Rejected(cause)))) => {
                self.malformed(line, &format!("cannot be stored: {cause}"));
            }
            // The report of the stop tells which accounts could not answer.
            Ok(Err(_)) | Err(_) if self.persistence.is_stopping() => {}
            Ok(Err(error)) => {
                return Err(anyhow::Error::new(error).context(format!(
                    "line {line}: booking on account {account:?} failed; import the file again to go on"
                )));
            }
            Err(_) => anyhow::bail!(
                "line {line}: account {account:?} does not answer, the log says why; import the file again to go on"
            ),
        }
        self.progress.decided();
        Ok(())
    }

    fn malformed(&mut self, line: u64, defect: &str) {
        self.summary.malformed += 1;
        self.progress.say(&format!("line {line}: {defect}"));
    }
}
