loader = torch.utils.data.DataLoader(
    dataset, batch_size=64, shuffle=True, num_workers=8,
    persistent_workers=True, pin_memory=True, prefetch_factor=4,
)
