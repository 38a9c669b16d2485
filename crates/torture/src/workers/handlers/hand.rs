//! The change handler and the column.

use actix_persistence::{
    payload::decode_state,
    sql::{
        AdditionalColumn, ChangeHandler, ColumnValue, ExtensionError, Session, SqlValue,
        StateChange,
    },
};
use async_trait::async_trait;

use super::act::{Inside, act};
use super::mischief::{Mischief, Plan};
use super::shelf::{DELETED, Slip};

/// Puts a row into `handled` for each change, and does what the slip orders.
pub(super) struct Hand(pub(super) Inside);

#[async_trait]
impl ChangeHandler for Hand {
    async fn process(
        &self,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        let slip = change.payload().map(decode_state::<Slip>).transpose()?;
        let (op, plan) = slip.map_or((DELETED, Plan::plain()), |slip| (slip.op, slip.plan));
        let revision = i64::try_from(change.revision)?;
        let id = change.persistence_id.as_str();
        let sql = "INSERT INTO handled (persistence_id, revision, op) VALUES ($1, $2, $3)";
        let values = [id.into(), revision.into(), op.into()];
        if plan.rows_first {
            session.execute(sql, values).await?;
            act(&plan.mischief, session, &self.0).await
        } else {
            let acted = act(&plan.mischief, session, &self.0).await;
            session.execute(sql, values).await?;
            acted
        }
    }
}

/// The operation that stored a state, beside it.
pub(super) struct Op;

impl AdditionalColumn for Op {
    fn column_name(&self) -> &str {
        "op"
    }

    #[allow(clippy::panic, reason = "a column of an application may")]
    fn bind(&self, change: &StateChange<'_>) -> Result<ColumnValue, ExtensionError> {
        let Some(payload) = change.payload() else {
            return Ok(SqlValue::Null.into());
        };
        let slip = decode_state::<Slip>(payload)?;
        match slip.plan.mischief {
            Mischief::ColumnFails => Err("the column says no".into()),
            Mischief::ColumnPanics => panic!("the column gives up"),
            _ => Ok(slip.op.into()),
        }
    }
}
