//! The bodies of messages: text, or parts.

use crate::json::{JsonNonNull, Kind, Reader, Text, Which};
use crate::schema::{Context, Field, Flow, ReadError, Removals, object, union};

/// What a user says or a tool returns: a string, or a list of parts, which may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A string.
    Text(Text<'a>),
    /// Parts, in order.
    Parts(Vec<ContentPart<'a>>),
}

impl<'a, T: Into<Text<'a>>> From<T> for Content<'a> {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<Vec<ContentPart<'a>>> for Content<'a> {
    fn from(parts: Vec<ContentPart<'a>>) -> Self {
        Self::Parts(parts)
    }
}

impl<'a> Field<'a> for Content<'a> {
    type Owned = Content<'static>;

    fn read(reader: &mut Reader<'a>, context: &mut Context) -> Result<Self, ReadError> {
        match reader.kind()? {
            Kind::String => reader.string().map(Self::Text),
            Kind::Array => Vec::read(reader, context).map(Self::Parts),
            other => Err(ReadError::found("a string or an array of parts", other, reader.offset())),
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Text(text) => text.write(out),
            Self::Parts(parts) => parts.write(out),
        }
    }

    fn strip(&mut self, removals: &mut Removals) -> Flow {
        match self {
            Self::Text(_) => Flow::Keep,
            Self::Parts(parts) => parts.strip(removals),
        }
    }

    fn into_owned(self) -> Self::Owned {
        match self {
            Self::Text(text) => Content::Text(text.into_owned()),
            Self::Parts(parts) => Content::Parts(Field::into_owned(parts)),
        }
    }
}

union! {
    /// One part of a message body.
    pub enum ContentPart, tag "type", unrecognisable has_unknown_source {
        /// Text.
        Text(TextPart) = "text",
        /// An image.
        Image(ImagePart) = "image",
        /// Sound.
        Audio(AudioPart) = "audio",
        /// A video.
        Video(VideoPart) = "video",
        /// Any other document.
        Document(DocumentPart) = "document",
    }
}

/// A part whose source is of an unknown kind is as unknown as its source, whatever else is wrong with it.
fn has_unknown_source(mut part: Reader<'_>) -> Result<bool, ReadError> {
    let mut first = true;
    let mut source = None;
    part.open();
    while let Some(key) = part.next_key(&mut first)? {
        let value = part.value()?;
        if key == "source" {
            source = Some(value);
        }
    }
    let Some(mut source) = source.map(Reader::new) else { return Ok(false) };
    if source.kind()? != Kind::Object {
        return Ok(false);
    }
    let kind = source.peek_member("type", Which::Last)?;
    Ok(!kind.is_some_and(|kind| matches!(kind.as_str(), Some("data" | "url" | "file"))))
}

object! {
    /// A part that is text.
    pub struct TextPart, tag "type" = "text" {
        /// The text.
        required text: Text<'a> = "text";
        /// Names the part.
        optional id with_id: Text<'a> = "id";
        /// Anything about the part, not only objects.
        optional metadata with_metadata: JsonNonNull<'a> = "metadata";
    }
}

macro_rules! media_part {
    ($name:ident, $tag:literal, $what:literal) => {
        object! {
            #[doc = concat!("A part that is ", $what, ".")]
            pub struct $name, tag "type" = $tag {
                /// Where the bytes are.
                required source: Source<'a> = "source";
                /// Names the part.
                optional id with_id: Text<'a> = "id";
                /// Anything about the part, not only objects.
                optional metadata with_metadata: JsonNonNull<'a> = "metadata";
            }
        }
    };
}

media_part!(ImagePart, "image", "an image");
media_part!(AudioPart, "audio", "sound");
media_part!(VideoPart, "video", "a video");
media_part!(DocumentPart, "document", "any other document");

union! {
    /// Where the bytes of a media part are.
    pub enum Source, tag "type" {
        /// In the message.
        Data(DataSource) = "data",
        /// Behind a URL.
        Url(UrlSource) = "url",
        /// At the provider.
        File(FileSource) = "file",
    }
}

object! {
    /// Bytes in the message itself.
    pub struct DataSource, tag "type" = "data" {
        /// The bytes in base64.
        required value: Text<'a> = "value";
        /// What they are.
        required mime_type: Text<'a> = "mimeType";
    }
}

object! {
    /// Bytes behind a URL.
    pub struct UrlSource, tag "type" = "url" {
        /// The URL.
        required value: Text<'a> = "value";
        /// What is there.
        optional mime_type with_mime_type: Text<'a> = "mimeType";
    }
}

object! {
    /// Bytes that a provider keeps, under a handle that only the provider may read.
    pub struct FileSource, tag "type" = "file" {
        /// The handle.
        required value: Text<'a> = "value";
        /// Who issued it.
        optional provider with_provider: Text<'a> = "provider";
        /// What it names.
        optional mime_type with_mime_type: Text<'a> = "mimeType";
    }
}
