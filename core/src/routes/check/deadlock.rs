//! No channels can wait for each other in a circle.

use super::Check;
use crate::routes::verdict::Finding;

pub(super) const CHECK: Check = Check {
    name: "deadlock",
    find: |uses| match uses.waits.order() {
        Ok(ranks) => Finding::Ordered(ranks),
        Err(cycle) => Finding::Cycle(cycle),
    },
};
