//! The first bytes of a connection, which say what it speaks.

use std::io::{self, Cursor};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, join};
use tokio::net::TcpStream;

/// What a connection over HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Waits until a connection has said whether it speaks HTTP/2. hyper waits for that, too, but for ever: its own timeouts begin
/// behind it.
///
/// # Errors
/// If the connection breaks or ends.
pub(super) async fn greeted(stream: TcpStream) -> io::Result<impl AsyncRead + AsyncWrite + Unpin> {
    let (mut read, write) = stream.into_split();
    let mut first = Vec::with_capacity(PREFACE.len());
    while first.len() < PREFACE.len() && PREFACE.starts_with(&first) {
        if read.read_buf(&mut first).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(join(Cursor::new(first).chain(read), write))
}
