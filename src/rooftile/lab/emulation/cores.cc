// The functions of cores.h, on the threads and the shared memory of shim.cc, which includes it.

// Where inputs and results are finite, and `watched` says so, only unwritten memory holds NaN.
static bool watched;
// Numbers of the cores themselves: what a kernel reads and writes of shared memory is seen.
#define OWN inline __attribute__((no_sanitize("address", "thread", "alignment")))
static OWN float known(float value)
{
    if (watched && value != value) {
        fprintf(stderr, "it computes on memory that nobody wrote\n");
        abort();
    }
    return value;
}
static OWN float float_of(unsigned bits)
{
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
// Without a call of the compiler's library, which the host's processor may have an instruction for.
static OWN float half_value(uint16_t bits)
{
    unsigned sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
    float value = rest < 0x7c00 ? float_of(rest << 13) * 0x1p112f
                                : float_of(0x7f800000 | (rest & 0x3ff) << 13 | (rest > 0x7c00) << 22);
    return known(sign ? -value : value);
}
static uint16_t half_bits(float value) { return bits_of<uint16_t>((_Float16)known(value)); }
static uint16_t bfloat_bits(float value)
{
    unsigned bits = __float_as_uint(known(value));
    return value != value ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
void cvt_f16x2(unsigned& both, float high, float low) { both = half_bits(low) | half_bits(high) << 16; }
void cvt_bf16x2(unsigned& both, float high, float low) { both = bfloat_bits(low) | bfloat_bits(high) << 16; }
void cvt_f16(uint16_t& bits, float value) { bits = half_bits(value); }
void cvt_bf16(uint16_t& bits, float value) { bits = bfloat_bits(value); }
void cvt_tf32(unsigned& bits, float value)
{
    bits = __float_as_uint(known(value));
    if (fabsf(value) < INFINITY) bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
}
void cvt_f32_f16(float& value, uint16_t bits) { value = half_value(bits); }
// Element `k` of numbers that lie one after another in words; TF32's last bits are cut off.
static OWN double element(kind kind, const unsigned* words, int k)
{
    if (kind == TF32) return known(float_of(words[k] & ~0x1fffu));
    uint16_t bits = words[k / 2] >> 16 * (k % 2);
    return kind == FP16 ? half_value(bits) : known(float_of((unsigned)bits << 16));
}
// A sum as the cores make it: terms aligned to the largest and cut off two bits beyond float32's
// last, their sum cut off to float32.
UNSEEN static float core_sum(const double* terms, int count)
{
    // Products and sums of float32, as float64: none is subnormal, so that its exponent is in its bits.
    const int infinite = 0x7ff, bias = 0x3ff;
    int most = 0;
    for (int k = 0; k < count; k++) {
        uint64_t bits;
        __builtin_memcpy(&bits, &terms[k], sizeof bits);
        int exponent = bits >> 52 & infinite;
        most = exponent > most ? exponent : most;
    }
    if (most == 0) return 0.0f;
    if (most == infinite) {
        double whole = 0;
        for (int k = 0; k < count; k++) whole += terms[k];
        return (float)whole;
    }
    uint64_t power = (uint64_t)(most - 25) << 52, inverse = (uint64_t)(2 * bias - most + 25) << 52;
    double last, scale;
    __builtin_memcpy(&last, &power, sizeof last);
    __builtin_memcpy(&scale, &inverse, sizeof scale);
    int64_t whole = 0;
    for (int k = 0; k < count; k++) whole += (int)(terms[k] * scale);
    double sum = (double)whole * last;
    float cut = (float)sum;
    return fabs((double)cut) > fabs(sum) ? nextafterf(cut, 0.0f) : cut;
}
// The left matrix as sixteen rows of a warp hold it, four words a lane: both rows of a lane in
// one half of the depth, then in the other.
static unsigned fragments[MOST_THREADS][4], columns_of_b[MOST_THREADS][2];
static OWN double left(kind kind, int warp, int row, int k)
{
    int half = kind == TF32 ? 4 : 8, each = kind == TF32 ? 1 : 2, at = k % half;
    const unsigned* word = &fragments[32 * warp + row % 8 * 4 + at / each][row / 8 + 2 * (k / half)];
    return element(kind, word, at % each);
}
// A lane's part of both matrices, stored where its warp reads it.
static void share_operands(std::initializer_list<unsigned> left, std::initializer_list<unsigned> right)
{
    memcpy(fragments[thread_of()], left.begin(), 4 * left.size());
    memcpy(columns_of_b[thread_of()], right.begin(), 4 * right.size());
    __syncwarp();
}
UNSEEN static void add_fragments(kind kind, float* const* c)
{
    const int deep = kind == TF32 ? 8 : 16, half = deep / 2, each = kind == TF32 ? 1 : 2;
    unsigned warp = thread_of() / 32, lane = thread_of() % 32;
    for (int e = 0; e < 4; e++) {
        int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
        double terms[17];
        terms[deep] = *c[e];
        for (int k = 0; k < deep; k++) {
            const unsigned* word = &columns_of_b[32 * warp + column * 4 + k % half / each][k / half];
            terms[k] = left(kind, warp, row, k) * element(kind, word, k % each);
        }
        *c[e] = core_sum(terms, deep + 1);
    }
}
void mma_of(kind kind, float& c0, float& c1, float& c2, float& c3, unsigned a0, unsigned a1, unsigned a2,
            unsigned a3, unsigned b0, unsigned b1)
{
    share_operands({a0, a1, a2, a3}, {b0, b1});
    float* c[4] = {&c0, &c1, &c2, &c3};
    add_fragments(kind, c);
    __syncwarp();
}
void mma_bytes(int& c0, int& c1, int& c2, int& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
               unsigned b0, unsigned b1)
{
    unsigned warp = thread_of() / 32, lane = thread_of() % 32;
    share_operands({a0, a1, a2, a3}, {b0, b1});
    int* c[4] = {&c0, &c1, &c2, &c3};
    for (int e = 0; e < 4; e++) {
        int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
        for (int k = 0; k < 32; k++) {
            unsigned left = fragments[32 * warp + row % 8 * 4 + k % 16 / 4][row / 8 + k / 16 * 2];
            unsigned right = columns_of_b[32 * warp + column * 4 + k % 16 / 4][k / 16];
            *c[e] += (left >> 8 * (k % 4) & 0xff) * (right >> 8 * (k % 4) & 0xff);
        }
    }
    __syncwarp();
}
// A number of a matrix in shared memory by its descriptor: core matrices of eight rows of 16 bytes
// or, swizzled, rows of 128 bytes. Of a matrix that is stored `across`, these are terms.
static double described(kind kind, uint64_t matrix, int row, int k, bool across)
{
    const int half = kind == TF32 ? 4 : 8, size = 16 / half;
    uint64_t start = (matrix & 0x3fff) << 4, below = (matrix >> 32 & 0x3fff) << 4;
    uint64_t beside = (matrix >> 16 & 0x3fff) << 4, at = start + row / 8 * below;
    at = matrix >> 62 ? swizzled(at + row % 8 * 128 + k * size)
                      : at + k / half * beside + row % 8 * 16 + k % half * size;
    if (across) {
        if (kind == TF32) abort();
        at = matrix >> 62 ? swizzled(start + row / 64 * beside + k / 8 * below + k % 8 * 128 + row % 64 * size)
                          : start + row / 8 * below + k / 8 * beside + k % 8 * 16 + row % 8 * size;
    }
    unsigned word = 0;
    memcpy(&word, shared_at(at), size);
    return element(kind, &word, 0);
}
// Each thread of a warpgroup reads a part of both matrices, for all.
static double rows_of_a[MOST_THREADS / 128][64][32], columns_of_right[MOST_THREADS / 128][256][32];

// Adds the product of a warpgroup's matrices, of `terms` terms.
UNSEEN static void add_products(bool adds, std::initializer_list<float*> registers, int deep)
{
    unsigned thread = thread_of(), group = thread / 128, member = thread % 128;
    for (int e = 0; e < (int)registers.size(); e++) {
        int row = member / 32 * 16 + thread % 32 / 4 + e % 4 / 2 * 8;
        int column = e / 4 * 8 + thread % 4 * 2 + e % 2;
        float& sum = *registers.begin()[e];
        double terms[33];
        terms[deep] = adds ? sum : 0.0f;
        for (int k = 0; k < deep; k++) terms[k] = rows_of_a[group][row][k] * columns_of_right[group][column][k];
        sum = core_sum(terms, deep + 1);
    }
    bar_sync(8 + group);
}
void wgmma_of(kind kind, bool a_across, bool b_across, bool adds, std::initializer_list<float*> registers,
              std::initializer_list<uint64_t> left_matrix, uint64_t right_matrix)
{
    const int deep = kind == TF32 ? 8 : 16, columns = 2 * registers.size();
    unsigned thread = thread_of(), group = thread / 128, member = thread % 128;
    const bool in_registers = left_matrix.size() == 4;
    if (in_registers)
        for (int e = 0; e < 4; e++) fragments[thread][e] = left_matrix.begin()[e];
    bar_sync(8 + group);
    for (int e = member; e < 64 * deep; e += 128) {
        int row = e / deep, k = e % deep;
        rows_of_a[group][row][k] = in_registers
            ? left(kind, group * 4 + row / 16, row % 16, k)
            : described(kind, *left_matrix.begin(), row, k, a_across);
    }
    for (int e = member; e < columns * deep; e += 128)
        columns_of_right[group][e / deep][e % deep] = described(kind, right_matrix, e / deep, e % deep, b_across);
    bar_sync(8 + group);
    add_products(adds, registers, deep);
}
static unsigned places_of_terms[MOST_THREADS];
void wgmma_sparse_of(kind kind, bool b_across, bool adds, std::initializer_list<float*> registers,
                     std::initializer_list<unsigned> words, uint64_t right_matrix, unsigned places)
{
    const int deep = 32, columns = 2 * registers.size();
    unsigned thread = thread_of(), group = thread / 128, member = thread % 128;
    for (int e = 0; e < 4; e++) fragments[thread][e] = words.begin()[e];
    places_of_terms[thread] = places;
    bar_sync(8 + group);
    for (int row = member; row < 64; row += 128)
        for (int four = 0; four < 8; four++) {
            double* terms = rows_of_a[group][row] + 4 * four;
            unsigned of_row = places_of_terms[group * 128 + row / 16 * 32 + row % 8 * 4 + four / 4];
            unsigned both = of_row >> (row % 16 / 8 * 16 + four % 4 * 4) & 15;
            if ((both & 3) >= both >> 2) abort();
            for (int k = 0; k < 4; k++) terms[k] = 0;
            for (int k = 0; k < 2; k++)
                terms[both >> 2 * k & 3] = left(kind, group * 4 + row / 16, row % 16, 2 * four + k);
        }
    for (int e = member; e < columns * deep; e += 128)
        columns_of_right[group][e / deep][e % deep] = described(kind, right_matrix, e / deep, e % deep, b_across);
    bar_sync(8 + group);
    add_products(adds, registers, deep);
}
static unsigned wmma_left[MOST_THREADS][8], wmma_right[MOST_THREADS][8];
static void check_square(unsigned at, int line_bytes) { if (at % 32 || line_bytes % 16) abort(); }
void wmma_load_of(kind kind, bool is_left, std::initializer_list<unsigned*> words, unsigned from, int line)
{
    const int deep = kind == TF32 ? 8 : 16, size = kind == TF32 ? 4 : 2, each = deep / 2;
    const int columns = is_left ? deep : 16;
    unsigned held[8] = {};
    check_square(from, line * size);
    for (int e = 0; e < each; e++) {
        int at = thread_of() % 32 * each + e;
        memcpy((char*)held + e * size, shared_at(from + (at / columns * line + at % columns) * size), size);
    }
    int number = 0;
    for (unsigned* word : words) *word = held[number++];
}
void wmma_add_of(kind kind, std::initializer_list<float*> sums, std::initializer_list<unsigned> words)
{
    const int deep = kind == TF32 ? 8 : 16, each = deep / 2, count = words.size() / 2;
    unsigned thread = thread_of(), first = thread / 32 * 32;
    memcpy(wmma_left[thread], words.begin(), 4 * count);
    memcpy(wmma_right[thread], words.begin() + count, 4 * count);
    __syncwarp();
    auto number = [&](unsigned(*held)[8], int at) { return element(kind, held[first + at / each], at % each); };
    for (int e = 0; e < 8; e++) {
        int at = thread % 32 * 8 + e;
        double terms[17] = {};
        terms[deep] = *sums.begin()[e];
        for (int k = 0; k < deep; k++)
            terms[k] = number(wmma_left, at / 16 * deep + k) * number(wmma_right, k * 16 + at % 16);
        *sums.begin()[e] = core_sum(terms, deep + 1);
    }
    __syncwarp();
}
void wmma_store(float a, float b, float c, float d, float e, float f, float g, float h, unsigned to, int line)
{
    float sums[] = {a, b, c, d, e, f, g, h};
    check_square(to, 4 * line);
    for (int i = 0; i < 8; i++) {
        int at = thread_of() % 32 * 8 + i;
        memcpy(shared_at(to + (at / 16 * line + at % 16) * 4), &sums[i], 4);
    }
}
