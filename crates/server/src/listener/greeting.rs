//! The first bytes of a connection, which say what it speaks.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What a connection over HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speech {
    Http1,
    Http2,
}

/// A connection that has said what it speaks.
#[derive(Debug)]
pub(super) struct Greeted {
    stream: TcpStream,
    /// What was read to find out, and is to be read again.
    first: Vec<u8>,
}

/// Waits until a connection has said whether it speaks HTTP/2. hyper can do that, too, but waits for ever.
///
/// # Errors
/// If the connection breaks or ends.
pub(super) async fn greeted(mut stream: TcpStream) -> io::Result<(Speech, Greeted)> {
    let mut first = Vec::with_capacity(PREFACE.len());
    while first.len() < PREFACE.len() && PREFACE.starts_with(&first) {
        if stream.read_buf(&mut first).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let speech = if first == PREFACE { Speech::Http2 } else { Speech::Http1 };
    Ok((speech, Greeted { stream, first }))
}

impl AsyncRead for Greeted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let count = buf.remaining().min(self.first.len());
        buf.put_slice(&self.first[..count]);
        self.first = self.first.split_off(count);
        // What came behind it belongs to the same piece: hyper takes a buffer of twice the size, for as long as the connection lasts, if
        // the first piece is a small one. That there is no more, or an error, is told to who reads next.
        let _ = Pin::new(&mut self.stream).poll_read(cx, buf);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Greeted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_request_is_read_in_one_piece_and_says_what_it_is() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let http2 = [PREFACE, b"and frames"].concat();
        for (sent, speech) in [
            (&b"POST /agents/a HTTP/1.1\r\nhost: localhost\r\n\r\n{}"[..], Speech::Http1),
            (&http2, Speech::Http2),
            (b"PRI * HTTP/1.1\r\n\r\n", Speech::Http1),
        ] {
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(sent).await.unwrap();
            let (said, mut read) = greeted(listener.accept().await.unwrap().0).await.unwrap();
            assert_eq!(said, speech);
            let mut piece = [0; 100];
            let count = read.read(&mut piece).await.unwrap();
            assert_eq!(&piece[..count], sent);
            // Nor is anything lost to who reads a little at a time.
            client.write_all(b"more").await.unwrap();
            let mut rest = [0; 4];
            read.read_exact(&mut rest[..1]).await.unwrap();
            read.read_exact(&mut rest[1..]).await.unwrap();
            assert_eq!(&rest, b"more");
        }
    }
}
