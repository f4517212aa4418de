"""Generates tokens one by one with a small transformer, alone and while another thread embeds texts on the default stream.

    generate.py [TOKENS]        prints the sum of the tokens; tokens a second, and how fast the processor was, on standard error
"""

import sys
import threading
import time

import torch
from pace import Pace

WIDTH, WORDS, WARM_UP = 768, 30_000, 8


def transformer(layers):
    layer = torch.nn.TransformerEncoderLayer(WIDTH, 12, 4 * WIDTH, dropout=0.0, batch_first=True)
    return torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).cuda().half().train()


def generate(words, model, tokens, pace=None):
    """Each token is the likeliest after all before it."""
    said = torch.arange(32, device="cuda")[None]
    with torch.no_grad():
        for _ in range(tokens):
            scores = model(words(said))[:, -1] @ words.weight.T
            said = torch.cat([said, scores.argmax(-1, keepdim=True)], 1)[:, -64:]
            if said[0, -1].item() < 0:
                break
            if pace:
                pace.beat()
    return said.sum().item()


def embed(words, model, stop):
    texts = torch.arange(64 * 128).reshape(64, 128) % WORDS
    with torch.no_grad():
        while not stop.is_set():
            model(words(texts.cuda())).mean(1).float().cpu()


def rate(words, model, tokens, pace=None):
    began = time.perf_counter()
    result = generate(words, model, tokens, pace)
    return tokens / (time.perf_counter() - began - (pace.seconds if pace else 0)), result


def main(tokens):
    torch.manual_seed(0)
    words = torch.nn.Embedding(WORDS, WIDTH).cuda().half()
    speaker, reader = transformer(12), transformer(6)
    generate(words, speaker, WARM_UP)
    # Beside another thread a beat would wait for Python's lock, which recording may change.
    pace = Pace()
    alone, said = rate(words, speaker, tokens, pace)
    stop = threading.Event()
    thread = threading.Thread(target=embed, args=(words, reader, stop))
    thread.start()
    time.sleep(0.3)
    beside, again = rate(words, speaker, tokens)
    stop.set()
    thread.join()
    print(f"tokens {said} {again == said}")
    print(f"alone {alone:.2f} tokens/s, beside {beside:.2f} tokens/s", pace, file=sys.stderr)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
