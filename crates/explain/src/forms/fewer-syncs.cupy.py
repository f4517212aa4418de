for batch in batches:
    step(batch)       # in one stream, in order anyway
done = stream.record()
done.synchronize()    # once, before the host reads the results
