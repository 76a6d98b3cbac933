//! Connections: taken, bounded in number and time, and let go in good order.

mod addresses;
mod greeting;
mod held;
mod protocols;
mod unread;

pub(crate) use held::Held;

use crate::app::App;
use crate::error::Code;
use crate::routes::router;
use addresses::Addresses;
use axum::Router;
use greeting::greeted;
use held::Holding;
use hyper_util::rt::TokioIo;
use protocols::Protocols;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use unread::Unread;

/// How long nothing is accepted after accepting has failed, which most often is for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long connections have to end when the server stops.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves until `stop`, then ends runs and streams, and returns.
///
/// # Errors
/// If the address of the listener is not known, which means that it is none.
pub async fn serve(listener: TcpListener, app: App, stop: impl Future<Output = ()>) -> io::Result<()> {
    let routes = router(app.clone());
    serve_with(listener, app, routes, stop).await
}

/// The same with other routes: those of [`router`], and more.
///
/// # Errors
/// As [`serve`].
pub async fn serve_with(
    listener: TcpListener,
    app: App,
    service: Router,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let http = &app.settings().http;
    let closing = CancellationToken::new();
    let protocols = Arc::new(Protocols::new(http, closing.clone()));
    let places_max = u32::try_from(http.connections_max).unwrap_or(u32::MAX);
    let places = Arc::new(Semaphore::new(places_max as usize));
    let addresses = Addresses::new(http.connections_per_address_max);
    tokio::pin!(stop);
    loop {
        let (place, accepted) = tokio::select! {
            () = &mut stop => break,
            next = next_connection(&listener, &places) => next,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Some(of_address) = addresses.take(address.ip()) else {
            app.metrics().refused(Code::TooMany);
            refuse(&stream);
            continue;
        };
        // Events are small, and must not wait for each other.
        let _ = stream.set_nodelay(true);
        let (header_timeout, write_timeout) = (http.header_timeout, http.write_timeout);
        let service = Holding::new(service.clone(), Held::new(place, of_address));
        let (protocols, stopping) = (Arc::clone(&protocols), app.stopping().clone());
        tokio::spawn(async move {
            let greeted = stopping.run_until_cancelled(timeout(header_timeout, greeted(stream))).await;
            let Some(Ok(Ok((speech, stream)))) = greeted else { return };
            let io = TokioIo::new(Unread::new(stream, write_timeout));
            if let Err(error) = protocols.serve(speech, io, service).await {
                tracing::debug!(%error, "a connection has failed");
            }
        });
    }
    drop(listener);
    app.shut_down().await;
    closing.cancel();
    // All have their places until they end, also sockets, which are no longer connections to hyper.
    if timeout(CLOSE_TIMEOUT, places.acquire_many(places_max)).await.is_err() {
        tracing::warn!("connections did not end in time");
    }
    Ok(())
}

/// Waits for a place, and then for somebody to take it.
async fn next_connection(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (Option<OwnedSemaphorePermit>, io::Result<(TcpStream, SocketAddr)>) {
    // It is never closed.
    let place = Arc::clone(places).acquire_owned().await.ok();
    (place, listener.accept().await)
}

/// Says why a connection is closed at once, as far as that goes without waiting for anything.
fn refuse(stream: &TcpStream) {
    const MESSAGE: &str = "too many connections of one address";
    let (status, code) = (Code::TooMany.status(), Code::TooMany.name());
    let body = format!(r#"{{"error":{{"code":"{code}","message":"{MESSAGE}"}}}}"#);
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nretry-after: 1\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    // If it does not take this, it sees that it is closed.
    let _ = stream.try_write(answer.as_bytes());
}
