pinned = batch.pin_memory()   # while the step before runs
following = pinned.to("cuda", non_blocking=True)
