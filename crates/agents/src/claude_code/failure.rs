//! Why a turn could not begin or go on, where no message of a turn tells it.

use super::control::{CallError, Control};
use chat_grammar::event::FailureClass;
use chat_grammar::records::TurnFailure;

/// The failure of a request that was to open a session.
pub(super) async fn of_call(control: &mut Control, error: CallError) -> TurnFailure {
    match error {
        CallError::Ended => of_exit(control, "before it was ready").await,
        CallError::Refused(message) => TurnFailure::new(FailureClass::Runtime, "request_refused", message, false),
    }
}

/// The failure of a turn whose agent is gone.
pub(super) async fn of_exit(control: &mut Control, when: &str) -> TurnFailure {
    control.exit_failure("Claude Code", when).await
}
