"""Texts and rungs on GPUs that `linear` and `matmul` share.

The rungs `mma` are two texts.  The weights of `linear` are parameters: a preparation pads them, and
rounds them or splits them in two numbers of scaled float16, of which three products stand for one.
Both matrices of `matmul` are inputs, and a pass over them costs as much as some hundred rows of the
product: its rungs round elements, or split them in three numbers of bfloat16, in registers, and six
products stand for one.
"""
