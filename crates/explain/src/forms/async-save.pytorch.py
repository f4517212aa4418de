state = {name: value.to("cpu", copy=True)
         for name, value in model.state_dict().items()}
saving = threading.Thread(target=torch.save, args=(state, path))
saving.start()
saving.join()  # before the next one
