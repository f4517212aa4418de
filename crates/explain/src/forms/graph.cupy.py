with stream:  # not the default stream
    stream.begin_capture()
    step()    # once, after a warm-up
    graph = stream.end_capture()
graph.launch(stream)  # in each round
