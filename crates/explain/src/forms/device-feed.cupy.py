staged = cupyx.empty_pinned(batch.shape, batch.dtype)  # once
following = cupy.empty(batch.shape, batch.dtype)       # once
staged[...] = batch           # while the step before runs
following.set(staged, stream=stream)
