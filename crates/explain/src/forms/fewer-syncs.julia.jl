CUDA.@sync for batch in batches  # one wait for all rounds
    step(batch)
end
