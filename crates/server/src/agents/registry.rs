//! Agents by name.

use super::Backend;
use crate::error::{Code, Refusal};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Agents by name, one of which has routes without a name.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    by_name: BTreeMap<String, Arc<dyn Backend>>,
    default: Option<String>,
}

impl Agents {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, agent: Arc<dyn Backend>) -> Self {
        self.by_name.insert(name.into(), agent);
        self
    }

    /// With this one as the default. If it is not said, it is the first by name.
    #[must_use]
    pub fn with_default(mut self, name: impl Into<String>) -> Self {
        self.default = Some(name.into());
        self
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The name of the default one.
    #[must_use]
    pub fn default_name(&self) -> Option<&str> {
        self.default.as_deref().or_else(|| self.names().next())
    }

    /// An agent, by its name or by default.
    ///
    /// # Errors
    /// If there is none.
    pub fn get(&self, name: Option<&str>) -> Result<(&str, &Arc<dyn Backend>), Refusal> {
        let name = name.or_else(|| self.default_name()).unwrap_or_default();
        let found = self.by_name.get_key_value(name).map(|(name, agent)| (name.as_str(), agent));
        found.ok_or_else(|| Refusal::new(Code::AgentNotFound, format!("no such agent. agent={name}")))
    }
}
