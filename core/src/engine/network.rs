use crate::{
    fabric::Fabric,
    router::{RouterConfig, RouterError},
};
use std::sync::Arc;
use thiserror::Error;

/// A fabric with its routers, checked once and never changed. Clones share it.
#[derive(Clone, Debug)]
pub struct Network {
    fabric: Arc<Fabric>,
    router: Arc<RouterConfig>,
}

impl Network {
    /// Puts the same router at every node.
    ///
    /// # Errors
    /// A router parameter is out of range.
    pub fn new(fabric: Fabric, router: RouterConfig) -> Result<Self, NetworkError> {
        router.check(fabric.shape())?;
        Ok(Self { fabric: Arc::new(fabric), router: Arc::new(router) })
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
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NetworkError {
    /// A router parameter is out of range.
    #[error(transparent)]
    Router(#[from] RouterError),
}
