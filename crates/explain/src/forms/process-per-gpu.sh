for gpu in 0 1 2 3; do
    CUDA_VISIBLE_DEVICES=$gpu ./program &
done
wait
