//! Every update of every recording is one that the official schema accepts, or ours.

use crate::common::schema;
use crate::common::variations::Played;

#[test]
fn every_update_is_valid() {
    let recordings = crate::recordings();
    let played: Vec<Played<'_>> = recordings.iter().map(|recording| Played::new("pi", recording)).collect();
    schema::every_update_is_valid(&played, 300);
}
