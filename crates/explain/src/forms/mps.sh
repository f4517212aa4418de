nvidia-cuda-mps-control -d           # before the programs start
echo quit | nvidia-cuda-mps-control  # after they have ended
