optimizer = torch.optim.AdamW(model.parameters(), fused=True)
