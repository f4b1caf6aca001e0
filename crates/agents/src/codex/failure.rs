//! Why a turn could not begin or go on, where no message of a turn tells it.

use crate::json_rpc::{CallError, Connection};
use chat_grammar::event::FailureClass;
use chat_grammar::records::TurnFailure;

/// The failure of a request that was to open a session.
pub(super) async fn of_call(connection: &mut Connection, error: CallError) -> TurnFailure {
    match error {
        CallError::Ended => of_exit(connection, "before it was ready").await,
        CallError::Refused { message, native } => {
            // The normalizer has classified the refusal; nobody else will see its events.
            let mut failure = match connection.take_failure() {
                Some(error) => TurnFailure::new(error.class, error.reason, error.message, error.retryable),
                None => TurnFailure::new(FailureClass::Runtime, "request_refused", message, false),
            };
            failure.native = Some(native);
            failure
        }
    }
}

/// The failure of a turn whose agent is gone.
pub(super) async fn of_exit(connection: &mut Connection, when: &str) -> TurnFailure {
    connection.exit_failure("Codex", when).await
}
