# nvidia-cuda-mps-control -d, once on the machine
context = multiprocessing.get_context("spawn")
if __name__ == "__main__":
    for part in range(parts):  # instead of threads
        context.Process(target=work, args=(part,)).start()
