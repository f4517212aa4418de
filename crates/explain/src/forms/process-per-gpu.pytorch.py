def work(rank):  # what a thread did
    torch.cuda.set_device(rank)

if __name__ == "__main__":
    torch.multiprocessing.spawn(work, nprocs=gpus)
