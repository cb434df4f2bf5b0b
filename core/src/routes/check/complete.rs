//! Every pair has a route.

use super::Check;
use crate::routes::verdict::Finding;

pub(super) const CHECK: Check = Check { name: "complete", find: |uses| Finding::of(&uses.missing) };
