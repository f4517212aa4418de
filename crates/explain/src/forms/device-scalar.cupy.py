total = cupy.zeros(())  # before the loop
total += loss           # instead of float(loss) or loss.get()
print(float(total))     # once, after the loop
