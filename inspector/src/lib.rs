//! The inspector: the web page that Threadline shows its threads with.
//!
//! The page is made by npm when this crate is built, and is in the binary. Where there was no npm, there are no files.

/// A file of the page, in every form that it is sent in.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its path below the page: `index.html`, `assets/index-4fj2.js`.
    pub name: &'static str,
    /// As it is.
    pub plain: &'static [u8],
    /// As gzip compresses it.
    pub gzip: &'static [u8],
    /// As brotli does.
    pub brotli: &'static [u8],
}

/// All of them, in the order of their names.
pub const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// What the server says where the page would be, if this was built without it.
pub const ABSENT: &str = "the inspector would be here, but this server was built without it: \
    build it where npm is installed, and it is";

/// What a browser may do with the page: load its own files, and ask the server that it came from. Nothing that an agent says can run.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

impl File {
    /// The file of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        FILES.iter().find(|file| file.name == name)
    }

    /// What it is, by its name.
    #[must_use]
    pub fn media_type(&self) -> &'static str {
        match self.name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "application/octet-stream",
        }
    }

    /// Whether its name changes with what is in it, so that it may be kept for ever.
    #[must_use]
    pub fn is_immutable(&self) -> bool {
        self.name.starts_with("assets/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What has to be loaded before somebody can chat.
    const COMPRESSED_BYTES_MAX: usize = 300 * 1024;

    #[test]
    fn the_page_is_whole_and_small() {
        if FILES.is_empty() {
            return;
        }
        let page = File::named("index.html").expect("a page");
        let html = std::str::from_utf8(page.plain).expect("text");
        assert!(!html.contains("<script>") && !html.contains("style="), "the policy forbids what is inline");
        let bytes: usize = FILES.iter().map(|file| file.gzip.len()).sum();
        assert!(bytes < COMPRESSED_BYTES_MAX, "{bytes}");
        for file in FILES {
            assert!(file.media_type() != "application/octet-stream", "{}", file.name);
            assert!(file.name == "index.html" || file.is_immutable(), "{}", file.name);
        }
    }
}
