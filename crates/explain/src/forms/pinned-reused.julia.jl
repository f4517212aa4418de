host = CUDA.pin(Vector{Float32}(undef, n))  # once
copyto!(host, gpu)
