cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
submit(stream);  // the launches, once
cudaStreamEndCapture(stream, &graph);
cudaGraphInstantiateWithFlags(&executable, graph, 0);
cudaGraphLaunch(executable, stream);  // in each round
