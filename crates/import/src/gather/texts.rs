//! Texts and other records to which others refer.

use super::state::Process;
use spool::{Clock, DeviceIdentity, Record, Reference, Switched};

impl Process<'_, '_> {
    /// Reads a record that others refer to; `None` where it is too short for its kind.
    pub(super) fn reference(&mut self, kind: Reference, record: &Record<'_>) -> Option<()> {
        let (body, tag) = (record.body, record.head.tag);
        match kind {
            Reference::Text => {
                let text = self.all.trace.strings.intern_bytes(record.text()?);
                // None has number 0, which stands for the empty one.
                match self.valid((tag != 0).then_some(tag)) {
                    0 => {}
                    id => self.texts.insert(id, text),
                }
            }
            Reference::Clock => self.readings.push(Clock::read(body)?),
            Reference::DeviceIdentity => self.identity(tag, DeviceIdentity::read(body)?),
            Reference::Switched => {
                let Switched { at } = Switched::read(body)?;
                let is_on = self.valid((tag <= 1).then_some(tag == 1));
                self.switches.push((at, is_on));
            }
        }
        Some(())
    }
}
