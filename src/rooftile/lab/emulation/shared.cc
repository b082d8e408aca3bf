// Shared memory, included by shim.cc: squares, barriers and boxes of it.

void load_four_squares(bool turned, unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned from)
{
    unsigned *words[] = {&a, &b, &c, &d}, lane = thread_of() % 32;
    if (from % 16) abort();
    for (int square = 0; square < 4; square++)
        *words[square] = in_warp(from, [&](auto line) {
            unsigned word = 0;
            for (int half = 0; half < 2; half++) {
                int across = lane % 4 * 2 + half, down = lane / 4;
                uint64_t at = line(8 * square + (turned ? across : down));
                uint16_t number;
                memcpy(&number, shared_at(at + 2 * (turned ? down : across)), 2);
                word |= (unsigned)number << 16 * half;
            }
            return word;
        });
}

static struct { uint64_t address; barrier state; } shared_barriers[64];
static barrier& barrier_at(uint64_t address)
{
    for (auto& [at, state] : shared_barriers) {
        if (!state.expected) at = address;
        if (at == address) return state;
    }
    abort();
}
void mbarrier_init(uint64_t address, int arrivals)
{
    barrier& state = barrier_at(address);
    state = {arrivals, arrivals};
}
void mbarrier_arrive(uint64_t address, int bytes) { arrive(barrier_at(address), 1, bytes); }
void mbarrier_try_wait(unsigned& passed, uint64_t address, int parity)
{
    wait(barrier_at(address), parity);
    passed = 1;
}
void bulk_copy(uint64_t to, const void* from, int bytes, uint64_t barrier)
{
    // The engine's unit: 16 bytes.
    if (to % 16 || (uint64_t)from % 16 || bytes % 16 || bytes <= 0) abort();
    memcpy(shared_at(to), from, bytes);
    arrive(barrier_at(barrier), 0, -bytes);
}
void bulk_store(void* to, uint64_t from, int bytes)
{
    if (from % 16 || (uint64_t)to % 16 || bytes % 16 || bytes <= 0) abort();
    memcpy(to, shared_at(from), bytes);
}

static uint64_t swizzled(uint64_t address) { return address ^ (address >> 7 & 7) << 4; }
// Moves each element of a box that is in the array, given where it is in shared memory and in the
// array; null for one beyond the array.
template <class Move>
static int64_t each_of_box(uint64_t at_shared, const mapped& m, std::initializer_list<int> innermost_first, Move move)
{
    if (at_shared % 128 || innermost_first.size() != m.rank) abort();
    const int* last = innermost_first.end() - 1;
    int64_t count = 1;
    for (int d = 0; d < m.rank; d++) count *= m.box[d];
    for (int64_t e = 0; e < count; e++) {
        int64_t rest = e, place = 0, stride = 1;
        bool inside = true;
        for (int d = m.rank - 1; d >= 0; d--) {
            int64_t at = last[-d] + rest % m.box[d];
            inside &= at >= 0 && at < m.shape[d];
            place += at * stride, stride *= m.shape[d], rest /= m.box[d];
        }
        move(shared_at(swizzled(at_shared + e * m.size)), inside ? m.array + place * m.size : nullptr);
    }
    return count * m.size;
}
void copy_box(uint64_t to, const void* map, std::initializer_list<int> innermost_first, uint64_t barrier)
{
    const mapped& m = *(const mapped*)map;
    int64_t bytes = each_of_box(to, m, innermost_first, [&](char* held, const char* given) {
        memset(held, 0, m.size);
        if (!given) return;
        memcpy(held, given, m.size);
        if (m.rounded) cvt_tf32(*(unsigned*)held, bits_of<float>(*(unsigned*)held));
    });
    arrive(barrier_at(barrier), 0, -bytes);
}
void store_box(const void* map, std::initializer_list<int> innermost_first, uint64_t from)
{
    const mapped& m = *(const mapped*)map;
    each_of_box(from, m, innermost_first, [&](const char* held, char* to) {
        if (to) memcpy(to, held, m.size);
    });
}
