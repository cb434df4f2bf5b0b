//! Every route stays on links that work and keeps to the rules of its routers.

use super::Check;
use crate::routes::verdict::Finding;

pub(super) const CHECK: Check = Check { name: "legal", find: |uses| Finding::of(&uses.broken) };
