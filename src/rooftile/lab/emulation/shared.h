// Shared memory, included by shim.h: where an address is; and, as shared.cc defines them, the barriers
// that lie there and the engine that copies boxes of a tensor map to and from it.

// Addresses of a block's dynamic memory begin at zero; of arrays they are where the arrays are.

inline char* dynamic_shared;
inline size_t dynamic_bytes;
static uint64_t __cvta_generic_to_shared(const void* p)
{
    size_t offset = (const char*)p - dynamic_shared;
    return offset < dynamic_bytes ? offset : (uint64_t)p;
}
static char* shared_at(uint64_t address)
{
    return address < dynamic_bytes ? dynamic_shared + address : (char*)address;
}

static uint64_t __cvta_generic_to_global(const void* p) { return (uint64_t)p; }
// `size` bytes, those from `bytes` on zeros.
template <class From> static void copy_or_zeros(int size, uint64_t to, From from, int bytes)
{
    if (to % size || bytes && (uint64_t)from % size) abort();
    memset(shared_at(to), 0, size), memcpy(shared_at(to), (const void*)from, bytes);
}

template <class Word> static void load_two(Word& a, Word& b, uint64_t from)
{
    if (from % 8) abort();
    unsigned words[2];
    memcpy(words, shared_at(from), 8);
    a = bits_of<Word>(words[0]), b = bits_of<Word>(words[1]);
}
template <class Word> static void load_four(Word& a, Word& b, Word& c, Word& d, uint64_t from)
{
    if (from % 16) abort();
    unsigned words[4];
    memcpy(words, shared_at(from), 16);
    a = bits_of<Word>(words[0]), b = bits_of<Word>(words[1]);
    c = bits_of<Word>(words[2]), d = bits_of<Word>(words[3]);
}

// Four squares of 8 x 8 numbers of 16 bits, whose lines eight lanes each tell.
void load_four_squares(bool turned, unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned from);

template <bool turned, class... Operands> static void load_squares(Operands&&... given)
{
    load_four_squares(turned, given...);
}

// Barriers of shared memory, which count arrivals and bytes.

void mbarrier_init(uint64_t address, int arrivals);
void mbarrier_arrive(uint64_t address, int bytes = 0);
void mbarrier_try_wait(unsigned& passed, uint64_t address, int parity);
void bulk_copy(uint64_t to, const void* from, int bytes, uint64_t barrier);

void bulk_store(void* to, uint64_t from, int bytes);

// A tensor map: where an array is, its rank, its shape and the box, outermost first, the bytes of an
// element, and whether float32 is rounded to TF32 on its way.  Rows of a box, 128 bytes each, are
// swizzled.
struct mapped { char* array; int64_t rank, shape[5], box[5], size, rounded; };
void copy_box(uint64_t to, const void* map, std::initializer_list<int> innermost_first, uint64_t barrier);
void store_box(const void* map, std::initializer_list<int> innermost_first, uint64_t from);
