nvidia-cuda-mps-control -d  # once on the machine
for part in 0 1 2 3; do ./program "$part" & done  # no threads
wait
