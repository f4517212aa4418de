# Generates text with a small random Llama model from transformers, and lets no pair of tokens occur twice in a sequence.
import os
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import LlamaConfig, LlamaForCausalLM, LogitsProcessor, LogitsProcessorList

BATCH = 64
PROMPT = 384
NEW_TOKENS = 16
VOCABULARY = 8192
SECONDS = 2.0


class PairFilterInPython(LogitsProcessor):
    def __call__(self, input_ids, scores):
        for row, tokens in enumerate(input_ids.tolist()):
            followers = {}
            for token, follower in zip(tokens, tokens[1:]):
                followers.setdefault(token, []).append(follower)
            banned = followers.get(tokens[-1])
            if banned:
                scores[row, banned] = -float("inf")
        return scores


class PairFilterInTorch(LogitsProcessor):
    def __call__(self, input_ids, scores):
        same = input_ids[:, :-1] == input_ids[:, -1:]
        banned = torch.zeros(scores.shape, dtype=torch.int32, device=scores.device)
        banned.scatter_add_(1, input_ids[:, 1:], same.int())
        return scores.masked_fill(banned > 0, -float("inf"))


class Writer:
    def __init__(self, pair_filter):
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=512,
            intermediate_size=1536,
            num_hidden_layers=4,
            num_attention_heads=8,
            num_key_value_heads=8,
            max_position_embeddings=1024,
            bos_token_id=None,
            eos_token_id=None,
            pad_token_id=0,
        )
        with torch.device("cuda"):
            self.model = LlamaForCausalLM(config).to(torch.bfloat16).eval()
            self.prompts = torch.randint(1, VOCABULARY, (BATCH, PROMPT))
        self.processors = LogitsProcessorList([pair_filter])
        self.tokens = 0

    def write(self):
        self.model.generate(
            self.prompts,
            attention_mask=torch.ones_like(self.prompts),
            logits_processor=self.processors,
            max_new_tokens=NEW_TOKENS,
            do_sample=False,
        )
        self.tokens += NEW_TOKENS


def main():
    writer = Writer(PairFilterInTorch() if "--fixed" in sys.argv[1:] else PairFilterInPython())
    for _ in range(2):
        writer.write()
    torch.cuda.synchronize()

    before = writer.tokens
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        writer.write()
    torch.cuda.synchronize()
    print(f"{(writer.tokens - before) / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
