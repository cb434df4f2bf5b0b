//! No channel carries more pairs than have a route, as one does that routes cross twice: for tests only.

use super::Check;
use crate::routes::verdict::{Finding, Problems};

pub(super) const CHECK: Check = Check {
    name: "once",
    find: |uses| {
        let fuller = uses.loads.iter().filter(|&&load| load > uses.routes).count() as u64;
        Finding::of(&Problems { count: fuller, first: Vec::new() })
    },
};
