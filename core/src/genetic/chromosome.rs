use crate::router::Arbitration;

/// Everything a search may choose (cup-stacking-extended-2023, 5.3 and A.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chromosome {
    /// `V`: cycles between the starts of consecutive slices, the same for all nodes.
    pub interval: u64,
    /// `I_i`: injection delay of every node in cycles.
    pub delays: Vec<u64>,
    /// `C_id` and `Q_idc`: a channel scheme per output port and a list of input ports per output
    /// channel; or one scheme for all and the default lists, where the search did not choose them.
    pub arbitration: Arbitration,
}
