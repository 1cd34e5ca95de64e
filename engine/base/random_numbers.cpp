#include "engine/base/random_numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace spire {
namespace {

constexpr int lanes = 16;           // blocks that are computed at a time
constexpr int numbers = 4 * lanes;  // their numbers
using Words = uint32_t[4][lanes];   // word w of each block
using Values = float[numbers];      // in the order of the numbers

constexpr uint32_t high_product(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>((uint64_t{a} * b) >> 32);
}

// Words of blocks first_block, first_block + 1, ...
void draw(const RandomStream& random, uint64_t first_block, Words& words) {
  auto [key0, key1] = random.key();
  auto [high0, high1] = random.high();
  for (int l = 0; l < lanes; ++l) {
    uint64_t block = first_block + static_cast<uint64_t>(l);
    words[0][l] = static_cast<uint32_t>(block);
    words[1][l] = static_cast<uint32_t>(block >> 32);
    words[2][l] = high0;
    words[3][l] = high1;
  }
  for (int round = 0; round < 10; ++round) {  // philox() with the lanes as inner loop
    Words next;
    for (int l = 0; l < lanes; ++l) {
      next[0][l] = high_product(0xCD9E8D57u, words[2][l]) ^ words[1][l] ^ key0;
      next[1][l] = 0xCD9E8D57u * words[2][l];
      next[2][l] = high_product(0xD2511F53u, words[0][l]) ^ words[3][l] ^ key1;
      next[3][l] = 0xD2511F53u * words[0][l];
    }
    std::memcpy(words, next, sizeof words);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

// -2 ln((floor(word / 2) + 1) / 2^31). u = 2^exponent m with m in [sqrt(1/2), sqrt(2)); the
// polynomial for ln(m) is logf's of Moshier's Cephes library.
float minus_two_log(uint32_t word) {
  constexpr int32_t root_half = 0x3f3504f3;  // bits of sqrt(1/2)
  auto bits = std::bit_cast<int32_t>(static_cast<float>(static_cast<int32_t>(word >> 1)) + 1.0f);
  int32_t exponent = (bits - root_half) >> 23;
  float f = std::bit_cast<float>(bits - exponent * (1 << 23)) - 1.0f;
  auto e = static_cast<float>(exponent - 31);
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  float square = f * f;
  float low = p * f * square - e * 2.12194440e-4f - 0.5f * square;  // ln(2) in two parts
  return -2.0f * (f + low + e * 0.693359375f);
}

float with_sign(float value, uint32_t negative) {  // negative: 0 or 1
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) ^ negative << 31);
}

struct Direction {
  float cosine, sine;
};

// Of the angle 2 pi word / 2^32 = quadrant pi / 2 + x with x in [-pi/4, pi/4). The polynomials are
// those of sinf and cosf in Cephes.
Direction direction(uint32_t word) {
  uint32_t quadrant = (word + (1u << 29)) >> 30;
  auto rest = static_cast<int32_t>(word - (quadrant << 30));
  float x = static_cast<float>(rest) * 1.46291807926715968e-9f;  // pi / 2^31
  float z = x * x;
  float sine = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * x + x;
  float cosine =
      ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z -
      0.5f * z + 1.0f;
  bool odd = (quadrant & 1) != 0;
  return {with_sign(odd ? sine : cosine, ((quadrant + 1) >> 1) & 1),
          with_sign(odd ? cosine : sine, quadrant >> 1)};
}

struct Uniform {
  static void make(const Words& words, Values& out) {
    for (int l = 0; l < lanes; ++l)
      for (int w = 0; w < 4; ++w) out[4 * l + w] = static_cast<float>(words[w][l] >> 8) * 0x1p-24f;
  }
};

struct Normal {
  static void make(const Words& words, Values& out) {
    float made[4][lanes];
    for (int w = 0; w < 4; w += 2) {
      for (int l = 0; l < lanes; ++l) {
        float radius = std::sqrt(minus_two_log(words[w][l]));
        Direction to = direction(words[w + 1][l]);
        made[w][l] = radius * to.cosine;
        made[w + 1][l] = radius * to.sine;
      }
    }
    for (int l = 0; l < lanes; ++l)
      for (int w = 0; w < 4; ++w) out[4 * l + w] = made[w][l];
  }
};

// Makes whole blocks, and leaves out the numbers before `first` and after the last one.
template <typename Kind>
void fill(const RandomStream& random, int64_t first, std::span<float> values) {
  Words words;
  Values made;
  int64_t end = first + std::ssize(values);
  for (int64_t block = first / 4; 4 * block < end; block += lanes) {
    draw(random, static_cast<uint64_t>(block), words);
    Kind::make(words, made);
    int64_t from = std::max(first, 4 * block), to = std::min(end, 4 * block + numbers);
    std::copy_n(made + (from - 4 * block), to - from, values.begin() + (from - first));
  }
}

}  // namespace

void uniform_numbers(const RandomStream& random, int64_t first, std::span<float> values) {
  fill<Uniform>(random, first, values);
}

void normal_numbers(const RandomStream& random, int64_t first, std::span<float> values) {
  fill<Normal>(random, first, values);
}

}  // namespace spire
