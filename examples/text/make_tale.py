#!/usr/bin/env python3
"""Writes tale.txt: short sentences from a small grammar, the same each time.

    python3 make_tale.py > tale.txt
"""
import random

PEOPLE = ["the miller", "the old king", "a young sailor", "the baker's daughter", "the fox", "a tired soldier",
          "the ferryman", "her brother", "the widow", "a boy from the hills"]
PLACES = ["the river", "the market", "the edge of the wood", "the harbour", "the mill", "the stone bridge",
          "the winter house", "the far field"]
THINGS = ["a silver key", "three loaves of bread", "an empty lantern", "a letter", "a red apple", "the broken oar",
          "a coat of grey wool", "a small brass bell"]
MEETS = ["found", "carried", "lost", "hid", "sold", "asked for", "dreamt of", "brought"]
GOES = ["walked to", "ran from", "waited at", "slept near", "looked for the road to", "came back to"]
TIMES = ["In the morning", "That night", "When the rain stopped", "Long after", "Before the bells rang", "On the third day"]
SAYS = ["\"It is late,\" said {p}.", "\"Who goes there?\" asked {p}.", "\"Then we must hurry,\" said {p}.",
        "{P} said nothing.", "\"I have seen this before,\" said {p}."]


def sentence(r):
    p = r.choice(PEOPLE)
    kind = r.randrange(4)
    if kind == 0:
        return f"{r.choice(TIMES)} {p} {r.choice(GOES)} {r.choice(PLACES)}."
    if kind == 1:
        return f"{p[0].upper()}{p[1:]} {r.choice(MEETS)} {r.choice(THINGS)} at {r.choice(PLACES)}."
    if kind == 2:
        return r.choice(SAYS).format(p=p, P=p[0].upper() + p[1:])
    return (f"{r.choice(TIMES)} {p} {r.choice(MEETS)} {r.choice(THINGS)}, "
            f"and {r.choice(PEOPLE)} {r.choice(GOES)} {r.choice(PLACES)}.")


def main():
    r = random.Random(1812)
    for _ in range(260):
        print(" ".join(sentence(r) for _ in range(r.randrange(3, 7))))
        print()


main()
