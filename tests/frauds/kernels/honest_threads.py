"""Honest: shares the images out among threads, and waits for them."""

from concurrent.futures import ThreadPoolExecutor

from _direct import direct

POOL = ThreadPoolExecutor(2)


def kernel(x, weights, bias, problem, out):
    def work(first):
        direct(x[first::2], weights, bias, problem, out[first::2])

    list(POOL.map(work, range(min(2, len(x)))))
