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
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use unread::Unread;

/// How many connections may wait to be taken, as far as the system lets them (`net.core.somaxconn`). Of those that are too many some
/// are lost in silence: to their clients they are made, and nobody here ever hears of them. 128, which is usual, are soon there in a rush.
const WAITING_MAX: u32 = 4096;

/// How long nothing is accepted after accepting has failed, which most often is for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long connections have to end when the server stops.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Listens at an address, with room for many who come at once.
///
/// # Errors
/// What the system says: the address is in use, or is not one of this machine.
///
/// # Panics
/// Outside of a runtime of tokio's with I/O.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A server that is started again must not wait for the connections of the last one to be forgotten.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_MAX)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn many_may_wait_to_be_taken() {
        let system = std::fs::read_to_string("/proc/sys/net/core/somaxconn").ok();
        let room = system.and_then(|text| text.trim().parse().ok()).unwrap_or(usize::MAX);
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let mut waiting = Vec::new();
        for _ in 0..room.min(500) {
            waiting.push(TcpStream::connect(address).await.unwrap());
        }
        for stream in waiting {
            assert_eq!(listener.accept().await.unwrap().1, stream.local_addr().unwrap());
        }
    }
}
