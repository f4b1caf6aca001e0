//! Every update of every recording is one that the official schema accepts, or ours.

use crate::common::variations::Played;
use crate::common::{self, schema};

#[test]
fn every_update_is_valid() {
    let recordings = common::codex();
    let played: Vec<Played<'_>> = recordings.iter().map(|recording| Played::new("codex", recording)).collect();
    schema::every_update_is_valid(&played, 1000);
}
