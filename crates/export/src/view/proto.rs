//! The part of Protocol Buffers' wire format that Perfetto's packets need: varints, 64-bit words, and bytes after their
//! length.

/// A message under construction.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// A field of type uint64, uint32, bool or enum.
    pub fn uint(&mut self, field: u32, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    /// A field of type int64 or int32.
    pub fn int(&mut self, field: u32, value: i64) {
        // Negative numbers take ten bytes in this format.
        self.uint(field, value as u64);
    }

    /// A field of type fixed64.
    pub fn fixed(&mut self, field: u32, value: u64) {
        self.key(field, 1);
        self.0.extend(value.to_le_bytes());
    }

    /// A field of type double.
    pub fn double(&mut self, field: u32, value: f64) {
        self.fixed(field, value.to_bits());
    }

    /// A field of type string. U+0000, at which readers in C stop, becomes its picture, U+2400.
    pub fn text(&mut self, field: u32, text: &str) {
        match memchr::memchr(0, text.as_bytes()) {
            None => self.raw(field, text.as_bytes()),
            Some(_) => self.raw(field, text.replace('\0', "\u{2400}").as_bytes()),
        }
    }

    /// A field that holds these bytes: a string or a complete message.
    pub fn raw(&mut self, field: u32, bytes: &[u8]) {
        self.key(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A field that holds the message that `fill` writes.
    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Message)) {
        self.key(field, 2);
        // Most messages are shorter than 128 bytes, whose length takes one byte.
        let length_at = self.0.len();
        self.0.push(0);
        fill(self);
        let length = self.0.len() - length_at - 1;
        if length < 0x80 {
            self.0[length_at] = length as u8;
        } else {
            let mut prefix = Message::default();
            prefix.varint(length as u64);
            self.0.splice(length_at..=length_at, prefix.0);
        }
    }

    fn key(&mut self, field: u32, wire_type: u32) {
        self.varint(u64::from(field << 3 | wire_type));
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// Adds an interned entry: all kinds have their number in field 1 and their text in field 2.
pub(super) fn intern(interned: &mut Message, kind: u32, iid: u64, text: &str) {
    interned.message(kind, |entry| {
        entry.uint(1, iid);
        entry.text(2, text);
    });
}

#[cfg(test)]
mod tests {
    use super::Message;

    /// The examples of the encoding's documentation: 150 in field 1, "testing" in field 2, and the first
    /// message in field 3 of another.
    #[test]
    fn fields_are_encoded_as_documented() {
        let mut message = Message::default();
        message.uint(1, 150);
        assert_eq!(message.bytes(), [0x08, 0x96, 0x01]);
        message.clear();
        message.text(2, "testing");
        assert_eq!(message.bytes(), b"\x12\x07testing");
        message.clear();
        message.message(3, |inner| inner.uint(1, 150));
        assert_eq!(message.bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        message.clear();
        message.int(1, -2);
        assert_eq!(message.bytes(), [0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
    }

    #[test]
    fn long_messages_have_long_lengths() {
        let mut message = Message::default();
        message.message(3, |inner| inner.text(2, &"x".repeat(200)));
        assert_eq!(&message.bytes()[..6], [0x1a, 203, 1, 0x12, 200, 1]);
        assert_eq!(message.bytes().len(), 3 + 3 + 200);
    }
}
