# Solves dense symmetric systems of equations on the GPU with the method of conjugate gradients.
import sys
import time

import torch

SIZE = 8192
ITERATIONS = 200
TOLERANCE = 1e-9


def make_system(size):
    with torch.device("cuda"):
        factor = torch.randn(size, size) / size**0.5
        matrix = factor @ factor.T
        matrix.diagonal().add_(1e-3)
        return matrix, torch.randn(16, size)


def solve(matrix, rhs):
    x = torch.zeros_like(rhs)
    residual = rhs.clone()
    direction = residual.clone()
    rho = torch.dot(residual, residual).item()
    target = TOLERANCE**2 * rho
    for iteration in range(1, ITERATIONS + 1):
        image = matrix @ direction
        alpha = rho / torch.dot(direction, image).item()
        x.add_(direction, alpha=alpha)
        residual.sub_(image, alpha=alpha)
        previous, rho = rho, torch.dot(residual, residual).item()
        if rho < target:
            break
        direction.mul_(rho / previous).add_(residual)
    return x, iteration


def solve_on_gpu(matrix, rhs, check_every=50):
    x = torch.zeros_like(rhs)
    residual = rhs.clone()
    direction = residual.clone()
    rho = torch.dot(residual, residual)
    target = TOLERANCE**2 * rho
    for iteration in range(1, ITERATIONS + 1):
        image = matrix @ direction
        alpha = rho / torch.dot(direction, image)
        x.addcmul_(direction, alpha)
        residual.addcmul_(image, alpha, value=-1)
        previous, rho = rho, torch.dot(residual, residual)
        if iteration % check_every == 0 and bool(rho < target):
            break
        direction.mul_(rho / previous).add_(residual)
    return x, iteration


def main():
    run = solve_on_gpu if "--fixed" in sys.argv else solve
    matrix, right_hand_sides = make_system(SIZE)
    run(matrix, right_hand_sides[0])
    torch.cuda.synchronize()

    start = time.perf_counter()
    iterations = solved = 0
    while time.perf_counter() - start < 2:
        x, used = run(matrix, right_hand_sides[solved % len(right_hand_sides)])
        iterations += used
        solved += 1
    torch.cuda.synchronize()
    print(f"{iterations / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
