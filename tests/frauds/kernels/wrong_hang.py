"""Never answers."""


def kernel(x, weights, bias):
    while True:
        pass
