//! Reads a page, again and again while trouble lasts that waiting may cure.

use std::sync::Arc;

use crate::QueryError;
use crate::live::Live;
use crate::page_size::PageSize;
use crate::pages::Pages;
use crate::reading::{Page, Source};
use crate::store::Queried;

/// The attempts to read the pages of a source.
pub(crate) struct Attempts {
    pub(crate) live: Live,
    page_size: PageSize,
    /// True if trouble is waited for.
    pub(crate) is_live: bool,
}

impl Attempts {
    /// Makes attempts at pages as they are set.
    pub(crate) fn new<H: Queried>(pages: &Pages<H>, is_live: bool) -> Self {
        Self {
            live: Live::new(pages),
            page_size: PageSize::new(pages.settings.page_size.max(1)),
            is_live,
        }
    }

    /// Reads the next page.
    ///
    /// # Errors
    /// If trying again would not help, or nobody wants to wait for it.
    pub(crate) async fn read<S: Source>(
        &mut self,
        source: &mut S,
        pages: &Arc<Pages<S::Store>>,
    ) -> Result<Page<S>, QueryError> {
        loop {
            self.live.about_to_read(pages);
            let page = source.read(pages, self.page_size.now()).await;
            match page {
                Ok(page) => {
                    self.page_size.grow();
                    self.live.has_read(pages, !page.records.is_empty());
                    return Ok(page);
                }
                // The same page would take as long again.
                Err(QueryError::Store(error)) if self.page_size.shrinks_after(&error) => {
                    if self.is_live {
                        self.live.wait_after(&error, pages).await;
                    }
                }
                Err(error) if self.is_live && error.is_transient() => {
                    self.live.wait_after(&error, pages).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
