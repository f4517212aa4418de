with copies:
    batch.set(host)
    copied = copies.record()  # right after what is needed
compute.wait_event(copied)    # not copies.synchronize()
