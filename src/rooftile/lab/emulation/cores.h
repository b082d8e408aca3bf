// Tensor cores on the host: their numbers, their sums, and the instructions of a warp and of a
// warpgroup, which cores.cc defines.

enum kind { FP16, BF16, TF32 };
void cvt_f16x2(unsigned& both, float high, float low);
void cvt_bf16x2(unsigned& both, float high, float low);
void cvt_f16(uint16_t& bits, float value);
void cvt_bf16(uint16_t& bits, float value);
void cvt_tf32(unsigned& bits, float value);
void cvt_f32_f16(float& value, uint16_t bits);

void mma_of(kind kind, float& c0, float& c1, float& c2, float& c3, unsigned a0, unsigned a1, unsigned a2,
            unsigned a3, unsigned b0, unsigned b1);
template <kind kind, class... Operands> static void mma(Operands&&... given) { mma_of(kind, given...); }

// Of bytes, in integers: sums are exact.
void mma_bytes(int& c0, int& c1, int& c2, int& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
               unsigned b0, unsigned b1);

// A warpgroup's product: the left matrix in registers or, as the right one, in shared memory.
void wgmma_of(kind kind, bool a_across, bool b_across, bool adds, std::initializer_list<float*> registers,
              std::initializer_list<uint64_t> left_matrix, uint64_t right_matrix);
template <kind kind, bool a_across, bool b_across>
static void wgmma(bool adds, std::initializer_list<float*> registers, std::initializer_list<uint64_t> left_matrix,
                  uint64_t right_matrix)
{
    wgmma_of(kind, a_across, b_across, adds, registers, left_matrix, right_matrix);
}

// The same of 16-bit numbers, two for every four terms: the ones that are not zero. Four bits say
// which two; the first lane of four says so of both its rows' first 16 terms, the second one of the
// others.
void wgmma_sparse_of(kind kind, bool b_across, bool adds, std::initializer_list<float*> registers,
                     std::initializer_list<unsigned> words, uint64_t right_matrix, unsigned places);
template <kind kind, bool b_across>
static void wgmma_sparse(bool adds, std::initializer_list<float*> registers, std::initializer_list<unsigned> words,
                         uint64_t right_matrix, unsigned places)
{
    wgmma_sparse_of(kind, b_across, adds, registers, words, right_matrix, places);
}

// `wmma`: PTX does not tell which numbers a lane holds.  Here they are consecutive ones of the rows;
// words beyond them hold nothing.
void wmma_load_of(kind kind, bool is_left, std::initializer_list<unsigned*> words, unsigned from, int line);
template <kind kind, bool is_left>
static void wmma_load(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned from, int line)
{
    wmma_load_of(kind, is_left, {&a, &b, &c, &d}, from, line);
}
template <kind kind, bool is_left>
static void wmma_load(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned& e, unsigned& f, unsigned& g,
                      unsigned& h, unsigned from, int line)
{
    wmma_load_of(kind, is_left, {&a, &b, &c, &d, &e, &f, &g, &h}, from, line);
}
// `words` are the left matrix's, then as many of the right one.
void wmma_add_of(kind kind, std::initializer_list<float*> sums, std::initializer_list<unsigned> words);
template <kind kind, class... Words>
static void wmma_add(float& s0, float& s1, float& s2, float& s3, float& s4, float& s5, float& s6, float& s7,
                     Words... given)
{
    wmma_add_of(kind, {&s0, &s1, &s2, &s3, &s4, &s5, &s6, &s7}, {given...});
}
void wmma_store(float a, float b, float c, float d, float e, float f, float g, float h, unsigned to, int line);
