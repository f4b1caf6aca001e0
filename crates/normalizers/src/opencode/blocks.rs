//! Files as ACP blocks.

use chat_grammar::acp::{
    AudioContent, BlobResourceContents, ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent, ResourceLink,
};

/// A file that stands in a `data:` URL, or behind another URL.
pub(super) fn file(url: &str, mime: &str, filename: Option<&str>) -> ContentBlock {
    let name = filename.unwrap_or("file");
    let Some((media, data)) = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) else {
        return ContentBlock::ResourceLink(ResourceLink::new(name, url));
    };
    let mime = if mime.is_empty() { media } else { mime };
    match mime.split('/').next() {
        Some("image") => ContentBlock::Image(ImageContent::new(data, mime)),
        Some("audio") => ContentBlock::Audio(AudioContent::new(data, mime)),
        _ => {
            let contents = BlobResourceContents::new(data, format!("attachment:{name}")).mime_type(mime.to_owned());
            ContentBlock::Resource(EmbeddedResource::new(EmbeddedResourceResource::BlobResourceContents(contents)))
        }
    }
}
