//! Small copies that follow each other become one copy.

use super::scene::{At, Copied};
use super::{Fix, Scene};
use crate::Recovered;
use explain::PIECE;
use sim::Does;
use trace::{CopyKind, Ns};

pub(super) const FIX: Fix = Fix {
    id: "batched-copies",
    text: "copy small pieces together: through one buffer, as rows of a matrix, or in a batch",
    safety: "safe if nothing reads a piece before the others are there",
    apply,
};

/// Fewer copies are left as they are: a choice.
const LEAST: usize = 4;

/// The rate at which a thread gathers pieces in a buffer, bytes per µs: a choice, as memory is copied at 5 to 15 GB/s.
const GATHERED: i64 = 8_000;

/// A small copy and its stream.
struct Piece {
    at: At,
    copy: Copied,
    stream: u32,
}

/// The first copy of a batch takes all bytes, and its call the time to gather them; the others are not made, without the time between them.
fn apply(scene: &Scene<'_>, to: &mut Recovered) -> usize {
    let mut changed = 0;
    for row in 0..to.recorded.threads.len() {
        for batch in batches(scene, row) {
            changed += batch.len();
            unite(&batch, to);
        }
    }
    changed
}

/// The small copies of a thread in one direction and one stream between which it calls nothing else.
fn batches(scene: &Scene<'_>, row: usize) -> Vec<Vec<Piece>> {
    let mut batches: Vec<Vec<Piece>> = vec![Vec::new()];
    for at in scene.calls_of(row) {
        let piece = piece(scene, at);
        let last = batches.last().and_then(|batch| batch.last());
        let follows = match (&piece, last) {
            (Some(piece), Some(last)) => last.stream == piece.stream && last.copy.kind == piece.copy.kind,
            (Some(_), None) => true,
            (None, _) => at.call.does == Does::Nothing,
        };
        if !follows {
            batches.push(Vec::new());
        }
        if let Some(batch) = batches.last_mut() {
            batch.extend(piece);
        }
    }
    batches.retain(|batch| batch.len() >= LEAST);
    batches
}

fn piece(scene: &Scene<'_>, at: At) -> Option<Piece> {
    let Does::Issue { works, .. } = at.call.does else { return None };
    let copy = scene.copy(&at.call).filter(|copy| copy.bytes <= PIECE && works.count == 1)?;
    let crosses = matches!(copy.kind, CopyKind::HtoD | CopyKind::DtoH);
    let stream = scene.base.recorded.works[copy.row as usize].stream;
    crosses.then_some(Piece { at, copy, stream })
}

fn unite(batch: &[Piece], to: &mut Recovered) {
    let bytes: i64 = batch.iter().map(|piece| piece.copy.bytes.max(0)).sum();
    let (first, others) = (&batch[0], &batch[1..]);
    let copies = &to.model.copies;
    let rates = if first.copy.kind == CopyKind::HtoD { &copies.to_device } else { &copies.to_host };
    let rest = Copied { bytes: bytes - first.copy.bytes.max(0), ..first.copy };
    let ns = rest.time(0, rates.pinned_mb_s);
    to.recorded.works[first.copy.row as usize].ns += ns;
    let waits = batch.iter().any(|piece| matches!(piece.at.call.does, Does::Issue { waits: true, .. }));
    if let Some(call) = to.call_mut(first.at) {
        call.before_ns += (bytes * 1_000 / GATHERED) as Ns;
        if let Does::Issue { works, .. } = call.does {
            call.does = Does::Issue { works, waits };
        }
    }
    others.iter().for_each(|piece| to.leave_out(piece.at, piece.copy.row));
    let last = others.last().map_or(first.at.at, |piece| piece.at.at);
    to.close(first.at.row, first.at.at..last);
}
