# If cuDNN builds an attention kernel for each length:
torch.backends.cuda.enable_cudnn_sdp(False)
# If shapes vary: few of them, as multiples of 64
missing = -batch.shape[-1] % 64
batch = torch.nn.functional.pad(batch, (0, missing))
