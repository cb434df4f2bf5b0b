//! Runs of tests in a form of routers that they choose.

use super::{lists::Lists, planes, run::Run, sets::Sets, source::Source, subnet::Subnet};
use crate::bits::InstructionSet;

/// A form of routers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    Lists,
    Sets,
    Planes(InstructionSet),
}

impl<S: Source> Run<S> {
    /// The same run at its beginning in a form of routers; `None` if the form does not cover it.
    pub(crate) fn with_form(&self, form: Form) -> Option<Self> {
        let (mut run, rules) = (self.clone(), &self.terminals.rules);
        let routers = match form {
            Form::Lists => Some(Box::new(Lists::new(rules)) as _),
            Form::Sets => Some(Box::new(Sets::new(rules, false)) as _),
            Form::Planes(set) => planes::on(set, rules),
        };
        run.subnets = vec![Subnet::of(rules, routers?)];
        Some(run)
    }
}
