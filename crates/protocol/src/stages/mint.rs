//! Ids that the protocol wants and a producer did not give.

use crate::json::Text;
use uuid::Uuid;

/// Ids of ours are version 5 UUIDs in this namespace, which was drawn once.
const NAMESPACE: Uuid = Uuid::from_u128(0x7f0c_9b52_3d6e_4c1a_8a57_2f64_90d3_1be8);

/// An id that is the same whenever this run is read. `what` tells the ids of a run apart.
pub(super) fn mint(thread_id: &Text<'_>, run_id: &Text<'_>, what: &[u8]) -> String {
    // Lengths keep ("ab", "c") and ("a", "bc") apart, whatever the ids hold.
    let mut name = Vec::new();
    for id in [thread_id.wtf8(), run_id.wtf8()] {
        name.extend_from_slice(format!("{}:", id.len()).as_bytes());
        name.extend_from_slice(id);
    }
    name.push(b':');
    name.extend_from_slice(what);
    Uuid::new_v5(&NAMESPACE, &name).to_string()
}

/// A hash that is the same everywhere and always, so that it can be kept.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    Uuid::new_v5(&NAMESPACE, bytes).as_u64_pair().0
}
