//! What is asked of tables.

/// What may choose the lane of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The lane is the service level, the same on the whole way.
    Portable,
    /// Switches map level, port in and port out to a lane.
    Tables,
    /// The lane rises by one at some switches, whatever the level.
    Rising,
}

/// Where lanes rise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rising {
    /// By switch, whether packets that come from another one leave on the next lane.
    pub switches: Vec<bool>,
    /// Lanes that packets on shortest ways take.
    pub lanes: usize,
}

/// What is asked of tables.
#[derive(Clone, Copy, Debug)]
pub struct ForwardingRequest<'a> {
    /// The name of a method in [`METHODS`](crate::routes::methods::METHODS); `None` for the first that suits the
    /// fabric.
    pub method: Option<&'static str>,
    /// How lanes may be chosen; `None` takes constant lanes where the largest load is at most 10 % above that of
    /// tables balanced before lanes were chosen, or of tables of the switches.
    pub mode: Option<Mode>,
    /// Lanes there are.
    pub lanes: usize,
    /// Entries the search may try.
    pub tries: u64,
    /// How far above the bound is good enough, as a fraction of it.
    pub slack: f64,
    /// Whether both ways between two switches get the same service level.
    pub reversible: bool,
    /// The channels of a multicast tree whose packets may have a level of pairs that has the same there and back;
    /// `None` where they have a lane of their own.
    pub tree: Option<&'a [u32]>,
}

impl Default for ForwardingRequest<'_> {
    fn default() -> Self {
        Self {
            method: None,
            mode: None,
            lanes: 8,
            tries: 60_000_000,
            slack: 0.0,
            reversible: false,
            tree: None,
        }
    }
}

impl ForwardingRequest<'_> {
    /// The largest load that is good enough, by the bound.
    pub(crate) fn enough(&self, bound: u64) -> u64 {
        (bound as f64 * (1.0 + self.slack)).floor() as u64
    }
}
