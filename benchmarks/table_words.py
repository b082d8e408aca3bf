"""What the table's page says in words; its numbers come from the record."""

METHOD = """\
- **Against whom**: PyTorch with cuDNN, eager and by `torch.compile` (max-autotune), each
  with channels first and last, at the precision of the row: float32 without TF32, with
  TF32, and modules and inputs in 16 bits. cuDNN searches its algorithms. At `fp16` the
  peers are given their input in 16 bits, converted before the clock starts; we are given
  float32 and convert inside.
- **On what**: random numbers, in the GPU's memory, results left there.
- **Verified first**: results in memory poisoned beforehand, held against a float64
  reference, on freshly drawn images too; what the timed graph itself has
  computed is judged once more, the whole batch. A convolution's budget is that of
  [architecture.md](../understand/architecture.md); a network's is a few roundings of its precision
  in the norm of each image's scores.
- **Timed**: medians by the GPU's clock, replays of captured graphs on everybody's side,
  ours and the peers in turns in one process, on data that may be in the cache. The
  host's clock must agree, and the measured ceilings must allow it.
- **The floor** is the larger of the fewest bytes (every input and weight read once,
  every result written once, nothing in between) over the measured bandwidth, and the
  FLOPs of the direct method over the measured rate of the precision. float32 accuracy
  comes by FMAs or by three products of TF32 or of scaled float16, whichever is fastest.
  What fits in the cache need not come from memory: then a time may be below its floor.
"""
"""How everything was measured."""

STREAM = (
    "Images are cut into segments. While one is computed the next is copied to the GPU, and the "
    "labels of the one before leave it; pixels become numbers on the GPU. So the time is that of "
    "the copy, the computation of the last segment, and what each segment costs by itself. Times "
    "go from before the first copy until the last label has arrived."
)

ELSEWHERE_MS = 0.003
ELSEWHERE = (
    f"Reports of this exercise elsewhere give about {ELSEWHERE_MS:g} ms for it. The bytes alone "
    "take {times:,.0f} times as long to arrive. What such a time measures is how long the host "
    "takes to hand a launch over: launches and asynchronous copies return at once, and a clock "
    "that is stopped before the work is waited for has seen a launch, not a result. Here the "
    "host's clock, which waits for the labels, is shown with the GPU's, and a row in which they "
    "contradict each other has no time."
)
"""``times``: how many times as long the copy alone takes."""

REPRODUCE = (
    "or, where the packages are there already, `python benchmarks/table.py --page`; `--only lenet5 "
    "mnist8@1:ieee` measures some rows into the same record, `--peers eager` leaves out "
    "`torch.compile`, which takes most of the time. Any CUDA GPU will do: rungs for "
    "`{architecture}` alone give way to others there."
)


LIMITS = {
    ("lenet-conv1", "ieee"): "One channel, so each input is used by few maps: the multiply-adds "
    "are the limit, where the floor counts split products, and what else a thread executes to feed "
    "them. Its sums are too short for three products to stay in the budget of float32.",
    ("lenet-conv1", "fp16"): "Reading the images and writing the results; conversion, product and "
    "stores hide behind that only in part.",
    ("lenet-conv2", "ieee"): "Three products of float16 for each multiply-add, and the zeros "
    "that folding the pool puts around each mask "
    "([pool-folding.md](../understand/pool-folding.md)); splitting what they multiply hides behind "
    "them only in part.",
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
    "largest number, packing it as two numbers, and looking for results in doubt.",
    ("lab-conv5", "tf32"): "The matrix instructions, and the power that they draw.",
    ("lab-conv5", "fp16"): "The matrix instructions, and the power that they draw.",
    ("mnist8", "ieee"): "One image: launching one kernel after another and reading each weight "
    "once, from the cache, where all of them stay. Many: the first linear layer's products.",
    ("mnist8", "tf32"): "The first linear layer: its operands are fetched from memory, where the "
    "convolution has put them; and the convolution's multiply-adds.",
    ("mnist8", "fp16"): "What the convolution writes and the first linear layer reads, in 16 "
    "bits, and the convolution's multiply-adds.",
}
"""What sets the limit of each row, by problem and precision."""
