Threads.@spawn begin  # each task has a stream of its own
    step(x)
end
