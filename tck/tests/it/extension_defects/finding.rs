//! Defects of finding states.

use actix_persistence_storage_api::{FindStates, FoundState, Sql, StorageError};
use async_trait::async_trait;

use super::defect;
use crate::broken_extensions::{Extended, ExtensionDefect};

defect! {
    /// Gives everything at once.
    FindsWithoutLimit,
    find(inner, mut query) {
        query.limit = 1_000;
        inner.sql().find(query).await
    }
}

defect! {
    /// Gives one state at least.
    FindsOneAtLeast,
    find(inner, mut query) {
        query.limit = query.limit.max(1);
        inner.sql().find(query).await
    }
}

defect! {
    /// Always gives the first page.
    FindsTheFirstPage,
    find(inner, mut query) {
        query.after = None;
        inner.sql().find(query).await
    }
}

defect! {
    /// Returns the states of a page in an order of its own, so that no next page can go on after them.
    FindsInAnyOrder,
    find(inner, query) {
        let mut page = inner.sql().find(query).await?;
        page.reverse();
        Ok(page)
    }
}

defect! {
    /// Sorts as a language does.
    FindsInTheOrderOfALanguage,
    find(inner, mut query) {
        let limit = std::mem::replace(&mut query.limit, 1_000);
        let after = query.after.take();
        let mut page = inner.sql().find(query).await?;
        page.sort_by_key(|state| state.persistence_id.as_str().to_lowercase());
        if let Some(after) = after {
            let last = page.iter().position(|state| state.persistence_id == after).unwrap();
            page.drain(..=last);
        }
        page.truncate(limit);
        Ok(page)
    }
}

defect! {
    /// Returns empty states.
    FindsEmptyStates,
    find(inner, query) {
        let mut page = inner.sql().find(query).await?;
        for state in &mut page {
            state.state.payload.bytes = Default::default();
        }
        Ok(page)
    }
}

defect! {
    /// Finds a state that is not there.
    MissesTheFirst,
    find(inner, query) {
        let mut page = inner.sql().find(query).await?;
        if !page.is_empty() {
            page.remove(0);
        }
        Ok(page)
    }
}

defect! {
    /// Puts the condition behind others without brackets.
    ForgetsTheBrackets,
    find(inner, mut query) {
        query.condition = Sql::assert_safe(query.condition.as_str().replace(" OR ", ") OR ("));
        inner.sql().find(query).await
    }
}

defect! {
    /// Gives a condition as many values as it asks for, from those of the page.
    FillsInValues,
    find(inner, mut query) {
        let condition = query.condition.as_str();
        let highest = (1..=9).rev().find(|number| condition.contains(&format!("${number}")));
        let limit = i64::try_from(query.limit).expect("a small number").into();
        query.values.resize(highest.unwrap_or_default(), limit);
        inner.sql().find(query).await
    }
}
