//! A server within this process, on threads of its own.

use axum::Router;
use axum::serve::ListenerExt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// A listener on loopback.
pub(crate) async fn listener() -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await
}

/// A runtime whose threads a profiler can tell from others.
pub(crate) fn runtime(name: &str) -> io::Result<Runtime> {
    Builder::new_multi_thread().thread_name(name).enable_all().build()
}

/// Routes that are served until it is dropped.
pub(crate) struct Hosted {
    pub(crate) address: SocketAddr,
    /// Taken when it is dropped.
    runtime: Option<Runtime>,
}

impl Hosted {
    pub(crate) fn start(name: &str, routes: Router) -> io::Result<Self> {
        let runtime = runtime(name)?;
        let listener = runtime.block_on(listener())?;
        let address = listener.local_addr()?;
        let listener = listener.tap_io(|stream| {
            // If it cannot be set, delays say so.
            let _ = stream.set_nodelay(true);
        });
        runtime.spawn(async move { axum::serve(listener, routes).await });
        Ok(Self { address, runtime: Some(runtime) })
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        // Streams that never end are not waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
