use crate::{
    fabric::Fabric,
    fault::Fault,
    router::{RouterConfig, RouterError},
};
use std::sync::Arc;

/// A fabric with its routers, checked once and never changed. Clones share it.
#[derive(Clone, Debug)]
pub struct Network {
    fabric: Arc<Fabric>,
    router: Arc<RouterConfig>,
}

impl Network {
    /// Most input queues of all routers.
    pub const MAX_QUEUES: u64 = 1 << 26;
    /// Most flits in all queues, whose depths count as the next power of two.
    pub const MAX_QUEUED_FLITS: u64 = 1 << 28;

    /// Puts the same router at every node.
    ///
    /// # Errors
    /// A router parameter is out of range.
    pub fn new(fabric: impl Into<Arc<Fabric>>, router: RouterConfig) -> Result<Self, NetworkError> {
        let fabric = fabric.into();
        router.check(fabric.shape())?;
        let (shape, channels) = (fabric.shape(), u64::from(router.channels));
        let of_processor = router.processor_queues.count(shape) as u64;
        let queues = shape.nodes() as u64 * (shape.directions() as u64 * channels + of_processor);
        let flits = queues * u64::from(router.buffer.next_power_of_two());
        if queues > Self::MAX_QUEUES || flits > Self::MAX_QUEUED_FLITS {
            return Err(NetworkError::TooLarge { queues, flits });
        }
        Ok(Self { fabric, router: Arc::new(router) })
    }

    /// What exists.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The router's parameters.
    pub fn router(&self) -> &RouterConfig {
        &self.router
    }
}

/// What can be wrong with a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkError {
    /// A router parameter is out of range.
    Router(RouterError),
    /// Routers that would need too much memory.
    TooLarge {
        /// Queues of all routers.
        queues: u64,
        /// Flits they hold.
        flits: u64,
    },
}

crate::fault::displays_fault!(NetworkError);

impl NetworkError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Router(error) => error.fault(),
            Self::TooLarge { queues, flits } => Fault::at(
                "router.buffer",
                format!("{queues} queues for {flits} flits in all routers"),
                format!(
                    "at most {} queues and {} flits are supported, so take fewer channels, smaller buffers or a \
                     smaller network",
                    Network::MAX_QUEUES,
                    Network::MAX_QUEUED_FLITS
                ),
            ),
        }
    }
}

impl From<RouterError> for NetworkError {
    fn from(error: RouterError) -> Self {
        Self::Router(error)
    }
}
