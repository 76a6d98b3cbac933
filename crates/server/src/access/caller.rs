//! Who sent a request.

use super::Permission;
use crate::error::{Code, Refusal};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::time::Duration;
use threadline_log::{ThreadId, Timestamp};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// What somebody has proved to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The only app whose threads it may see; if there is none, requests say it.
    pub app: Option<String>,
    /// The only user whose threads it may see; if there is none, requests say it.
    pub user: Option<String>,
    /// What it may do.
    pub permission: Permission,
    /// The only thread that it may see, if it came by a ticket for one.
    pub thread: Option<ThreadId>,
    /// When it ends.
    pub until: Option<Timestamp>,
}

/// Who sent a request: somebody who has proved to be someone, or anybody, where nothing need be proved.
#[derive(Clone, Debug)]
pub struct Caller {
    identity: Option<Identity>,
    revoked: CancellationToken,
}

impl Caller {
    /// Anybody, where nothing need be proved.
    #[must_use]
    pub fn anybody() -> Self {
        Self { identity: None, revoked: CancellationToken::new() }
    }

    /// Somebody, until this is cancelled.
    #[must_use]
    pub const fn somebody(identity: Identity, revoked: CancellationToken) -> Self {
        Self { identity: Some(identity), revoked }
    }

    /// What it has proved to be.
    #[must_use]
    pub const fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// Cancelled when it is no longer who it was.
    #[must_use]
    pub const fn revoked(&self) -> &CancellationToken {
        &self.revoked
    }

    /// Waits until it is no longer who it was: its token is revoked, or its time is over.
    pub(crate) fn no_longer(&self, now: Timestamp) -> impl Future<Output = ()> + Send + use<> {
        let revoked = self.revoked.clone();
        let until = self.identity.as_ref().and_then(|identity| identity.until);
        async move {
            match until {
                Some(until) => {
                    let left = u64::try_from(until.0.saturating_sub(now.0)).unwrap_or_default();
                    let _ = timeout(Duration::from_millis(left), revoked.cancelled()).await;
                }
                None => revoked.cancelled().await,
            }
        }
    }

    /// Whether it may do what needs this.
    #[must_use]
    pub fn may(&self, permission: Permission) -> bool {
        self.identity.as_ref().is_none_or(|identity| identity.permission >= permission)
    }

    /// Whether it may see a thread of its scope.
    #[must_use]
    pub fn may_see(&self, thread: &ThreadId) -> bool {
        self.only_thread().is_none_or(|only| only == thread)
    }

    /// The only thread that it may see.
    #[must_use]
    pub fn only_thread(&self) -> Option<&ThreadId> {
        self.identity.as_ref().and_then(|identity| identity.thread.as_ref())
    }
}

/// Put there by the check of every route.
impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| Refusal::new(Code::Internal, "nobody has asked who is calling"))
    }
}
