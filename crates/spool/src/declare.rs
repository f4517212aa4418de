//! Macros that declare records and numbers: what belongs to one is in one place.

/// A number of eight or four bytes.
pub(crate) trait Field: Sized {
    fn take(bytes: &[u8], at: &mut usize) -> Option<Self>;
}

macro_rules! field {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn take(bytes: &[u8], at: &mut usize) -> Option<Self> {
                let end = *at + size_of::<$type>();
                let value = <$type>::from_ne_bytes(bytes.get(*at..end)?.try_into().ok()?);
                *at = end;
                Some(value)
            }
        }
    )*};
}
field!(u64, i64, u32, i32);

/// Declares the fixed part of a record behind its head. Fields are numbers without gaps. A record without fields has its
/// struct, and its number, elsewhere.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident = $kind:literal) => {};
    ($(#[$doc:meta])* $name:ident = $kind:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[repr(C)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$type>())*, "fields leave a gap");
        const _: () = assert!(size_of::<$name>() % 8 == 0, "records are whole words");

        impl $name {
            /// Marks this record in [`crate::Head::kind`].
            pub const KIND: u16 = $kind;

            /// Reads the fixed part of a record's body; `None` when it is too short.
            pub fn read(body: &[u8]) -> Option<Self> {
                // With a constant length no field needs a check of its own.
                let body: &[u8] = body.first_chunk::<{ size_of::<Self>() }>()?;
                let mut at = 0;
                Some($name { $($field: $crate::declare::Field::take(body, &mut at)?,)* })
            }

            /// The record's bytes.
            pub fn bytes(&self) -> &[u8] {
                // SAFETY: all fields are plain numbers without gaps between them (asserted above),
                // so every byte is initialized; the slice borrows `self`.
                unsafe { std::slice::from_raw_parts((self as *const Self).cast(), size_of::<Self>()) }
            }
        }
    };
}

/// Declares all kinds of records, by the step of the importer that reads them.
///
/// `NAME = NUMBER (LIFE, HOME, "TABLE") { FIELDS }` declares a record: the number that marks it in a file, a [`Life`],
/// a [`Home`], the table of the trace that has it in the end (`meta` and `strings` are the trace's, too), and its fixed
/// part, a struct. One that has its struct elsewhere ends with `;`.
///
/// The macro makes the enum [`crate::Kind`], one enum for each step, and [`crate::Step`], which has them. Each step of the importer
/// matches all of its own enum: a kind without a reader does not compile.
macro_rules! kinds {
    ($(
        $(#[$step_doc:meta])*
        $step:ident {
            $(
                $(#[$doc:meta])*
                $name:ident = $number:literal ($life:ident, $home:ident, $table:literal)
                $({ $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })? $(;)?
            )*
        }
    )*) => {
        $($(
            $crate::declare::record! {
                $(#[$doc])*
                $name = $number $({ $($(#[$field_doc])* $field: $type,)* })?
            }
        )*)*

        /// The kind of a record.
        // The compiler refuses two variants of one number.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u16)]
        pub enum Kind {
            $($(
                #[doc = concat!(
                    "[`", stringify!($name), "`](crate::", stringify!($name), "): read as [`", stringify!($step),
                    "`], for the table `", $table, "`.",
                )]
                $name = $number,
            )*)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Kind] = &[$($(Kind::$name,)*)*];

            /// The kind that [`Head::kind`](crate::Head::kind) marks; `None` for a number of no kind.
            #[inline]
            pub const fn of(number: u16) -> Option<Kind> {
                // Of words of their own, the rest of the number is data.
                if number >= Kind::BriefCall as u16 {
                    return Some(Kind::BriefCall);
                }
                if number >= Kind::OuterCall as u16 {
                    return Some(Kind::OuterCall);
                }
                match number {
                    $($($number => Some(Kind::$name),)*)*
                    _ => None,
                }
            }

            /// Whether records of this kind are overwritten.
            pub const fn life(self) -> $crate::Life {
                match self {
                    $($(Kind::$name => $crate::Life::$life,)*)*
                }
            }

            /// Which files have records of this kind.
            #[inline]
            pub const fn home(self) -> $crate::Home {
                match self {
                    $($(Kind::$name => $crate::Home::$home,)*)*
                }
            }

            /// Whether files of a process itself ([`Home::Own`]($crate::Home::Own)) or those beside them may have such records.
            #[inline]
            pub const fn is_in(self, file: $crate::Home) -> bool {
                matches!(
                    (self.home(), file),
                    ($crate::Home::Either, _)
                        | ($crate::Home::Own, $crate::Home::Own)
                        | ($crate::Home::Beside, $crate::Home::Beside)
                )
            }

            /// The table of the trace that has such a record in the end, or that gets a part of it.
            pub const fn table(self) -> &'static str {
                match self {
                    $($(Kind::$name => $table,)*)*
                }
            }

            /// The step of the importer that reads it.
            #[inline]
            pub const fn step(self) -> Step {
                match self {
                    $($(Kind::$name => Step::$step($step::$name),)*)*
                }
            }
        }

        /// A kind, by the step of the importer that reads it.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Step {
            $($(#[$step_doc])* $step($step),)*
        }

        $(
            $(#[$step_doc])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub enum $step {
                $(
                    #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), ")")]
                    $name,
                )*
            }
        )*
    };
}

/// Declares an enum whose variants are numbers in a file.
macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u32)]
        pub enum $name {
            $($(#[$variant_doc])* $variant = $number,)*
        }

        impl $name {
            /// The one of that number.
            pub const fn from_number(number: u32) -> Option<$name> {
                match number {
                    $($number => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use {kinds, numbers, record};

/// Whether records of a kind are overwritten where the last records are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// Never: they are written once, and others refer to them, or to what they state, from then on.
    Lasts,
    /// They are, the oldest first.
    Passes,
}

/// Which files have records of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// The files that processes write about themselves.
    Own,
    /// The files that `record` writes about processes, [`WATCH_SUFFIX`](crate::WATCH_SUFFIX).
    Beside,
    /// Both.
    Either,
}
