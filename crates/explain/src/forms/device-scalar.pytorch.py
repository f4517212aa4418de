total = torch.zeros((), device="cuda")  # before the loop
total += loss.detach()                  # instead of loss.item()
print(total.item())                     # once, after the loop
