for batch in batches
    copyto!(x, batch)
    CUDA.@captured step(x)  # captured once, then one launch
end
