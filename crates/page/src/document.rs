//! The whole page: sections, their data, and the file of both.

use crate::html::{Html, shown};
use crate::template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::{self, Write};

/// A page to write.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The title in the browser's tab.
    pub title: String,
    /// The part above the sections.
    pub head: Html,
    /// The sections, in the order in which they are shown.
    pub sections: Vec<Section>,
}

/// A part of a page.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The address within the page (`timeline`), unique in it.
    pub id: &'static str,
    /// The heading.
    pub title: String,
    /// The part that works without scripts: it prints, and assistive technology reads it.
    pub body: Html,
    /// The part of the page's script that handles it (`web/src/main.ts`); empty for none.
    pub script: &'static str,
    /// The data that the script reads.
    pub data: Vec<Data>,
}

/// Bytes in a page, deflated.
#[derive(Clone, Debug)]
pub struct Data {
    /// The name by which the script finds them, unique in the page.
    pub name: String,
    /// The bytes, deflated without a header.
    pub deflated: Vec<u8>,
    /// Whether the script needs them before it can show anything.
    pub first: bool,
}

/// Statistics of a written page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// Size of the page, bytes.
    pub bytes: u64,
}

impl Data {
    /// Deflates `bytes`.
    pub fn new(name: impl Into<String>, bytes: &[u8], first: bool) -> Data {
        // Level 6 makes tables of times a fifth smaller than level 1 and takes a third of a second for 25 MB.
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
        let deflated = encoder.write_all(bytes).and_then(|()| encoder.finish());
        Data { name: name.into(), deflated: deflated.expect("writing to memory does not fail"), first }
    }
}

impl Page {
    /// Writes the page as one file.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<Written> {
        let data: Vec<&Data> = self.sections.iter().flat_map(|section| &section.data).collect();
        let blocks =
            |first: bool| data.iter().filter(move |data| data.first == first).map(|data| block(data));
        let (first, rest): (Vec<_>, Vec<_>) = (blocks(true).collect(), blocks(false).collect());
        let embedded: usize = first.iter().chain(&rest).map(|block| block.as_str().len()).sum();
        let body = self.body(embedded);
        let [start, after_title, after_body, after_first, end] = template::pieces();
        let mut title = Html::new();
        title.text(&self.title);
        let mut bytes = 0;
        let mut put = |text: &str| {
            bytes += text.len() as u64;
            out.write_all(text.as_bytes())
        };
        put(start)?;
        put(title.as_str())?;
        put(after_title)?;
        put(body.as_str())?;
        put(after_body)?;
        first.iter().try_for_each(|block| put(block.as_str()))?;
        put(after_first)?;
        rest.iter().try_for_each(|block| put(block.as_str()))?;
        put(end)?;
        out.flush()?;
        Ok(Written { bytes })
    }

    fn body(&self, embedded: usize) -> Html {
        let mut html = Html::new();
        html.open("header", &[("class", "top")]).push(&self.head).push(&self.navigation()).close("header");
        html.open("main", &[]);
        for section in &self.sections {
            let heading = format!("{}-heading", section.id);
            let mut attributes = vec![("id", section.id), ("aria-labelledby", &heading)];
            if !section.script.is_empty() {
                attributes.push(("data-script", section.script));
            }
            html.open("section", &attributes);
            html.leaf("h2", &[("id", &heading)], &section.title);
            html.push(&section.body).close("section");
        }
        html.close("main");
        let template: usize = template::pieces().iter().map(|piece| piece.len()).sum();
        let size = report::units::file_size((template + html.as_str().len() + embedded) as u64);
        html.open("footer", &[]);
        html.text(&format!(
            "Written by holdup {}. This file holds everything it shows ({size}) and loads nothing.",
            env!("CARGO_PKG_VERSION")
        ));
        html.close("footer");
        html
    }
}

impl Page {
    /// Links to the sections.
    fn navigation(&self) -> Html {
        let mut html = Html::new();
        html.open("nav", &[("aria-label", "Sections")]);
        for section in &self.sections {
            html.leaf("a", &[("href", &format!("#{}", section.id))], &section.title).text(" ");
        }
        html.close("nav");
        html
    }
}

/// Base64 in an element that no browser runs or shows; none of its characters can end the element.
fn block(data: &Data) -> Html {
    let mut html = Html::new();
    html.open("script", &[("type", "application/octet-stream"), ("data-name", &shown(&data.name))]);
    html.base64(&STANDARD.encode(&data.deflated));
    html.close("script");
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_page_is_its_sections_and_their_data() {
        let mut body = Html::new();
        body.leaf("p", &[], "words & more");
        let data = vec![Data::new("numbers", b"1 2 3", true), Data::new("later", &[0; 4000], false)];
        let section = Section { id: "results", title: "Results".into(), body, script: "plot", data };
        let page = Page { title: "a </title> b".into(), head: Html::new(), sections: vec![section] };
        let mut written = Vec::new();
        assert_eq!(page.write(&mut written).unwrap().bytes, written.len() as u64);
        let text = String::from_utf8(written).unwrap();
        assert!(text.contains("<title>a &lt;/title&gt; b</title>"));
        assert!(
            text.contains(
                "<section id=\"results\" aria-labelledby=\"results-heading\" data-script=\"plot\">"
            )
        );
        assert!(text.contains("<p>words &amp; more</p>"));
        let block = text.split("data-name=\"numbers\">").nth(1).unwrap().split("</script>").next().unwrap();
        let mut inflated = String::new();
        let deflated = STANDARD.decode(block).unwrap();
        flate2::read::DeflateDecoder::new(&*deflated).read_to_string(&mut inflated).unwrap();
        assert_eq!(inflated, "1 2 3");
        let at = |what: &str| text.find(what).unwrap();
        assert!(at("data-name=\"numbers\"") < at("data-name=\"later\""));
    }
}
