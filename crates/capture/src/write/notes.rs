//! Sentences for the reader of the trace.

use crate::write::texts;
use crate::write::writer::Writer;

/// Writes a sentence.
pub fn note(writer: &mut Writer, text: &[u8]) {
    let text = texts::intern(writer, text);
    writer.append(spool::Note::KIND, text, &[spool::Note { at: interpose::monotonic() }.bytes()]);
}
