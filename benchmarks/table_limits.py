"""What sets the limit of each row of the table, in words: numbers come from the record."""

LIMITS = {
    ("lenet-conv1", "ieee"): "One channel, so each input is used by few maps: the multiply-adds "
    "are the limit, where the floor counts split products, and what else a thread executes to feed "
    "them. Its sums are too short for three products to stay in the budget of float32.",
    ("lenet-conv1", "fp16"): "Reading the images and writing the results; conversion, product and "
    "stores hide behind that only in part.",
    ("lenet-conv2", "ieee"): "Three products of float16 for each multiply-add, and the zeros "
    "that folding the pool puts around each mask ([pool-folding.md](pool-folding.md)); splitting "
    "what they multiply hides behind them only in part.",
    ("lenet-conv2", "tf32"): "Matrix instructions, on the same zeros.",
    ("lenet-conv2", "fp16"): "As at `tf32`, at twice the rate: fetching patches from shared "
    "memory no longer hides behind the products.",
    ("lenet5", "ieee"): "The multiply-adds of its first convolution, then the split products of "
    "its second.",
    ("lenet5", "tf32"): "Its two convolutions; what the first writes the second reads, which the "
    "floor does not count.",
    ("lenet5", "fp16"): "Both convolutions are one kernel, whose roles share a multiprocessor: "
    "each alone takes more than half of the time of both, so they overlap only in part.",
    ("lab-conv5", "ieee"): "Three products of float16 for each multiply-add; finding the image's "
    "largest number, packing it in two parts, and looking for results in doubt.",
    ("lab-conv5", "tf32"): "The matrix instructions, and the power that they draw.",
    ("lab-conv5", "fp16"): "The matrix instructions, and the power that they draw.",
    ("mnist8", "ieee"): "One image: launching one kernel after another and reading each weight "
    "once, from the cache, where all of them stay. Many: the first linear layer's products.",
    ("mnist8", "tf32"): "The first linear layer: its operands are fetched from memory, where the "
    "convolution has put them; and the convolution's multiply-adds.",
    ("mnist8", "fp16"): "What the convolution writes and the first linear layer reads, in 16 "
    "bits, and the convolution's multiply-adds.",
}
"""By problem and precision."""
