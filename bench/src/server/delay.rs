//! How long an event takes from the agent to a reader.

use super::exchange::post;
use super::upstream::{TICK, path};
use crate::quantiles::Quantiles;
use memchr::memmem;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// One run through whatever is at this address, with so many events that have the time they were sent at.
pub(super) fn through(
    world: &Runtime,
    address: SocketAddr,
    run: &str,
    events: usize,
    origin: Instant,
) -> io::Result<Quantiles> {
    let request = format!(
        r#"{{"threadId":"{run}","runId":"{run}","protocolVersion":"1.0","messages":[],"tools":[],"context":[],"state":{{}},"forwardedProps":{{}}}}"#
    );
    let delays = world.block_on(async {
        let mut answer = post(address, &path(TICK), request).await?;
        let (mut rest, mut delays) = (Vec::new(), Vec::new());
        while let Some(piece) = answer.next().await? {
            let arrived = origin.elapsed();
            rest.extend_from_slice(&piece);
            while let Some(end) = memmem::find(&rest, b"\n\n") {
                delays.extend(sent(&rest[..end]).map(|sent| arrived.saturating_sub(sent)));
                rest.drain(..end + 2);
            }
        }
        Ok::<_, io::Error>(delays)
    })?;
    if delays.len() != events {
        let count = delays.len();
        return Err(io::Error::other(format!("something else was read. expected={events}, actual={count}")));
    }
    Ok(Quantiles::of(delays))
}

/// When the event of a frame was sent; nothing if it does not say.
fn sent(frame: &[u8]) -> Option<Duration> {
    const DELTA: &[u8] = br#""delta":""#;
    let start = memmem::find(frame, DELTA)? + DELTA.len();
    let digits = frame[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = std::str::from_utf8(&frame[start..start + digits]).ok()?;
    text.parse().ok().map(Duration::from_nanos)
}
