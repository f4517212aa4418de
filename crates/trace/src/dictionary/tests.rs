use super::*;
use proptest::prelude::*;

/// The numbers of Parquet's encoding `RLE`, as its specification reads them.
fn read(bytes: &[u8], width: u32, count: usize) -> Vec<u32> {
    let mut at = 0;
    let mut numbers = Vec::new();
    while numbers.len() < count {
        let (mut head, mut shift) = (0u64, 0);
        loop {
            head |= u64::from(bytes[at] & 0x7f) << shift;
            shift += 7;
            at += 1;
            if bytes[at - 1] < 0x80 {
                break;
            }
        }
        if head & 1 == 0 {
            let mut number = [0; 4];
            let size = width.div_ceil(8) as usize;
            number[..size].copy_from_slice(&bytes[at..at + size]);
            numbers.extend(std::iter::repeat_n(u32::from_le_bytes(number), (head >> 1) as usize));
            at += size;
        } else {
            for of_group in 0..(head >> 1) as usize * 8 {
                let bit = |bit: usize| u32::from(bytes[at + bit / 8] >> (bit % 8) & 1);
                let first = of_group * width as usize;
                numbers.push((0..width as usize).map(|of| bit(first + of) << of).sum());
            }
            at += (head >> 1) as usize * width as usize;
        }
    }
    assert_eq!(at, bytes.len());
    let filled = numbers.split_off(count);
    assert!(filled.len() < 8 && filled.iter().all(|number| *number == 0));
    numbers
}

proptest! {
    #[test]
    fn runs_and_groups_are_read_again(
        runs in prop::collection::vec((any::<u32>(), 1..30usize), 0..40),
        width in 1..=32u32,
    ) {
        let number = |number: u32| number >> (32 - width);
        let numbers: Vec<u32> =
            runs.iter().flat_map(|(value, count)| std::iter::repeat_n(number(*value), *count)).collect();
        let mut bytes = Vec::new();
        hybrid(&numbers, width, &mut bytes);
        prop_assert_eq!(read(&bytes, width, numbers.len()), numbers);
    }
}

#[test]
fn a_column_is_a_dictionary_only_if_its_values_repeat() {
    let of = |count: usize, distinct: i64| {
        let fill: Fill<'_, i64> = Box::new(move |rows, cells| {
            for row in rows {
                cells.values.push(row as i64 % distinct - 7);
                cells.present.push(1);
            }
        });
        Numbers::of(&fill, 0..count, |value| value).map(|numbers| numbers.distinct.len())
    };
    assert_eq!(of(1, 1), Some(1));
    assert_eq!(of(100, 50), Some(50));
    assert_eq!(of(100, 51), None);
    assert_eq!(of(100_000, MOST_NUMBERS as i64), Some(MOST_NUMBERS));
    assert_eq!(of(100_000, MOST_NUMBERS as i64 + 1), None);
}
