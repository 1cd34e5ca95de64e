#include "kernels/ops/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <tests/kernels/eager.h>
#include <tests/kernels/matrix_views.h>

#include "kernels/ops/dropout/dropout.h"

namespace spire::testing {
namespace {

// keep of (sample, head, query, key).
using Keep = std::function<double(int64_t, int64_t, int64_t, int64_t)>;

// The op and step with which dropout is tested, at a rate of 1/4.
constexpr int dropping_op = 17;
constexpr StepContext dropping_step{.seed = 3, .step = 9, .first_row = 100};

// The rows of q (part 0), k (1) or v (2) that one head of one sample reads: (T, D).
RowMajorMatrix head_of(const HostTensor& qkv, const AttentionAttributes& attributes, int64_t sample,
                       int64_t head, int part) {
  int64_t heads = attributes.heads, kv = attributes.kv_heads > 0 ? attributes.kv_heads : heads;
  int64_t size = qkv.shape[2] / (heads + 2 * kv), own = head / (heads / kv);
  int64_t column = part == 0 ? head : heads + (part - 1) * kv + own;
  return matrix_of(qkv, sample).block(0, column * size, qkv.shape[1], size);
}

// log sum e^score over the keys of each query.
Eigen::ArrayXd logsumexp(const Eigen::ArrayXXd& scores) {
  Eigen::ArrayXd most = scores.rowwise().maxCoeff();
  return most + (scores.colwise() - most).exp().rowwise().sum().log();
}

// Sets scores to minus infinity where documents hide a key: (N, T) positions of their tokens.
void hide_other_documents(const HostTensor& positions, int64_t sample, RowMajorMatrix& scores) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < scores.rows(); ++i) {
    auto before = i - static_cast<int64_t>(positions[sample * scores.rows() + i]);
    scores.row(i).head(before).setConstant(-infinity);
  }
}

// y, logsumexp [, key]. in: qkv [, positions]. magnitudes: y as the sum of |p v|, with the rounding
// of p's exponent.
//   scores = q k^T / sqrt(D), p = e^(scores - logsumexp) keep, y = p v
std::vector<HostTensor> attend(Tensors in, const AttentionAttributes& attributes, const Keep& keep,
                               bool magnitudes = false) {
  const HostTensor& qkv = in[0];
  constexpr double infinity = std::numeric_limits<double>::infinity();
  int64_t batch = qkv.shape[0], length = qkv.shape[1], heads = attributes.heads;
  int64_t size = head_of(qkv, attributes, 0, 0, 0).cols(), width = heads * size;
  std::vector<HostTensor> out = {zeros({batch, length, width}), zeros({batch, heads, length})};
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t h = 0; h < heads; ++h) {
      RowMajorMatrix q = head_of(qkv, attributes, n, h, 0), k = head_of(qkv, attributes, n, h, 1);
      RowMajorMatrix v = head_of(qkv, attributes, n, h, 2);
      double scale = 1 / std::sqrt(static_cast<double>(size));
      RowMajorMatrix scores = q * k.transpose() * scale;
      if (attributes.causal) scores.triangularView<Eigen::StrictlyUpper>().setConstant(-infinity);
      if (attributes.documents) hide_other_documents(in[1], n, scores);
      Eigen::ArrayXd l = logsumexp(scores.array());
      RowMajorMatrix p = (scores.array().colwise() - l).exp();
      if (keep) {
        p.array() *= Eigen::ArrayXXd::NullaryExpr(
            length, length, [&](int64_t i, int64_t j) { return keep(n, h, i, j); });
      }
      if (magnitudes) {
        p.array() *= 1 + (q.cwiseAbs() * k.cwiseAbs().transpose() * scale).array();
        v = v.cwiseAbs();
        l = l.abs() + 2;
      }
      matrix_of(out[0], n).middleCols(h * size, size) = p * v;
      matrix_of(out[1], n).row(h) = l.matrix();
    }
  }
  if (keep) out.push_back({{1}, {dropping_op}});
  return out;
}

// Keeps scores of samples of `length` positions by the formula of attention.h.
Keep keep_three_of_four(int64_t length) {
  return [=, pitch = (length + 63) / 64 * 64](int64_t n, int64_t h, int64_t i, int64_t j) {
    auto bits = dropout_stream(dropping_step, dropping_op, n)
                    .bits(static_cast<uint64_t>((h * length + i) * pitch + j));
    return std::ldexp(static_cast<double>(bits), -32) < 0.25 ? 0.0 : 1 / 0.75;
  };
}

OpCase attention_case(Shape shape, const AttentionAttributes& attributes, const Keep& keep = {}) {
  OpCase test(AttentionOp(attributes), {activation(uniform(shape, 331, -2, 2))},
              [=](Tensors in) { return attend(in, attributes, keep); });
  test.magnitude = [=](Tensors in) { return attend(in, attributes, keep, true); };
  // A gradient is a difference dy . v - delta of sums of D products, even where it comes to
  // nothing.
  test.gradient_factor = 16;
  test.floor = 0.5;
  test.any_threads = true;
  test.gradient_samples = static_cast<int>(std::max<int64_t>(8, 1500 / (shape[0] * shape[1])));
  return test;
}

// Positions (N, T) of samples whose documents have these lengths, which begin anew in each sample.
HostTensor document_positions(const std::vector<std::vector<int64_t>>& lengths) {
  HostTensor positions{{std::ssize(lengths), 0}, {}};
  for (const std::vector<int64_t>& sample : lengths)
    for (int64_t length : sample)
      for (int64_t i = 0; i < length; ++i) positions.data.push_back(static_cast<double>(i));
  positions.shape = {std::ssize(lengths), std::ssize(positions.data) / std::ssize(lengths)};
  return positions;
}

OpCase documents_case(const std::vector<std::vector<int64_t>>& lengths, int64_t columns,
                      AttentionAttributes attributes, const Keep& keep = {}) {
  HostTensor positions = document_positions(lengths);
  attributes.causal = attributes.documents = true;
  OpCase test = attention_case({positions.shape[0], positions.shape[1], columns}, attributes, keep);
  test.inputs.push_back(labels(positions));
  return test;
}

HostTensor rows_of(const HostTensor& x, int64_t begin, int64_t end) {
  int64_t row = x.size() / x.shape[0];
  Shape shape = x.shape;
  shape[0] = end - begin;
  return {shape, {x.data.begin() + begin * row, x.data.begin() + end * row}};
}

class AttentionTest : public OpTest {
 protected:
  // Tensor cores cut what they add up, and exponentials and logarithms are approximate there: of
  // what is not rounded to 16 bits that shows in logsumexp.
  void check(OpCase test, const Environment& environment) const {
    if (environment.device.kind == DeviceKind::cuda && environment.dtype != DType::f32) {
      test.magnitude = [exact = test.magnitude](Tensors in) {
        auto magnitudes = exact(in);
        for (double& of_l : magnitudes[1].data) of_l *= 32;
        return magnitudes;
      };
    }
    check_op(test, environment);
  }
  void check(const OpCase& test) const { check(test, GetParam()); }
  void check_dropping(OpCase test) const {
    Environment environment = GetParam();
    environment.op_id = dropping_op;
    test.step = dropping_step;
    check(test, environment);
  }
};

class AttentionBitsTest : public OpTest {};

// GPUs in 16 bits.
std::vector<Environment> gpus(AttentionBy by) {
  std::vector<Environment> all;
  for (DType dtype : {DType::bf16, DType::f16})
    all.push_back({.device = {DeviceKind::cuda, 0}, .dtype = dtype, .attention = by});
  return all;
}

TEST_P(AttentionTest, ValuesAndGradients) {
  for (bool causal : {false, true}) {
    check(attention_case({2, 1, 3 * 32}, {.heads = 2, .causal = causal}));
    check(attention_case({3, 7, 3 * 32}, {.heads = 2, .causal = causal}));
    check(attention_case({1, 20, 3 * 10}, {.heads = 2, .causal = causal}));
    check(attention_case({1, 65, 3 * 64}, {.heads = 2, .causal = causal}));
    check(attention_case({1, 128, 3 * 20}, {.heads = 1, .causal = causal}));
  }
}

// One above and one below a slice of columns, some and an odd number of packs of columns, and the
// widest.
TEST_P(AttentionTest, HeadsOfEverySize) {
  for (int64_t size : {1, 8, 31, 33, 36, 48, 72, 100, 128}) {
    SCOPED_TRACE(size);
    OpCase test = attention_case({1, 9, 3 * 2 * size}, {.heads = 2, .causal = size % 2 == 0});
    test.gradient_samples = 60;
    check(test);
  }
  AttentionOp wide({.heads = 1});
  std::vector<Input> inputs = {activation(uniform({1, 2, 3 * 129}, 336))};
  if (GetParam().device.kind == DeviceKind::cuda) {
    EXPECT_THROW(run_op(wide, inputs, GetParam()), Error);
  }
}

// 4 heads of queries share one or two of keys and values, whose gradients are sums.
TEST_P(AttentionTest, HeadsThatShareKeysAndValues) {
  for (bool causal : {false, true})
    for (int64_t kv : {1, 2}) {
      AttentionAttributes attributes{.heads = 4, .causal = causal, .kv_heads = kv};
      check(attention_case({2, 7, (4 + 2 * kv) * 16}, attributes));
      OpCase longer = attention_case({1, 70, (4 + 2 * kv) * 24}, attributes);
      longer.gradient_samples = 60;
      check(longer);
    }
}

TEST_P(AttentionTest, AsManyHeadsOfKeysHaveTheSameBits) {
  std::vector qkv = {activation(uniform({2, 70, 3 * 32}, 337))};
  AttentionAttributes usual{.heads = 2, .causal = true}, stated = usual;
  stated.kv_heads = 2;
  auto a = run_op(AttentionOp(usual), qkv, GetParam());
  auto b = run_op(AttentionOp(stated), qkv, GetParam());
  EXPECT_EQ(a[0].data, b[0].data);
}

TEST_P(AttentionTest, DropoutOfHeadsThatShareKeys) {
  AttentionAttributes attributes{.heads = 4, .causal = true, .dropout = 0.25f, .kv_heads = 2};
  check_dropping(attention_case({2, 9, 8 * 16}, attributes, keep_three_of_four(9)));
}

TEST_P(AttentionTest, LongerThanABlock) {
  for (bool causal : {false, true})
    for (auto [length, size] : {std::pair{130, 64}, {85, 128}}) {
      OpCase test = attention_case({1, length, 3 * size}, {.heads = 1, .causal = causal});
      test.gradient_samples = 6;
      check(test);
    }
}

// Borders within a block of 64 and at its edges, documents of one token and over several blocks.
TEST_P(AttentionTest, DocumentsSeeThemselvesAlone) {
  check(documents_case({{3, 4}, {1, 6}, {7}}, 3 * 32, {.heads = 2}));
  check(documents_case({{1, 1, 1}}, 3 * 10, {.heads = 1}));
  OpCase longer =
      documents_case({{60, 4, 1, 20}, {64, 21}, {85}}, 8 * 16, {.heads = 4, .kv_heads = 2});
  longer.gradient_samples = 20;
  check(longer);
  OpCase far = documents_case({{20, 130, 60}, {150, 3, 57}}, 3 * 64, {.heads = 1});
  far.gradient_samples = 6;
  check(far);
}

TEST_P(AttentionTest, DropoutOfDocuments) {
  OpCase test = documents_case({{9, 61}, {66, 4}}, 6 * 16, {.heads = 2, .dropout = 0.25f},
                               keep_three_of_four(70));
  test.gradient_samples = 20;
  check_dropping(test);
}

// What another document holds changes not one bit, be it ahead or behind, forward or backward.
TEST_P(AttentionTest, DocumentsDoNotDependOnOthers) {
  for (int64_t begin : {5, 64, 70}) {
    int64_t length = 100, end = 90;
    HostTensor positions = document_positions({{begin, end - begin, length - end}});
    HostTensor qkv = uniform({1, length, 3 * 16}, 335), dy = uniform({1, length, 16}, 336);
    HostTensor other = qkv, other_dy = dy;
    for (int64_t t = 0; t < length; ++t) {
      if (t >= begin && t < end) continue;
      for (int64_t c = 0; c < 48; ++c) other[t * 48 + c] *= 100;
      for (int64_t c = 0; c < 16; ++c) other_dy[t * 16 + c] *= 100;
    }
    AttentionAttributes attributes{.heads = 1, .causal = true, .documents = true};
    auto run = [&](const HostTensor& x, const HostTensor& d) {
      std::vector forward = {activation(x), labels(positions)};
      auto out = run_op(AttentionOp(attributes), forward, GetParam());
      std::vector backward = {activation(d), activation(x), activation(out[0]), statistic(out[1]),
                              labels(positions)};
      return std::pair(out[0], run_op(AttentionBackwardOp(attributes), backward, GetParam())[0]);
    };
    auto [y, dqkv] = run(qkv, dy);
    auto [other_y, other_dqkv] = run(other, other_dy);
    for (int64_t i = begin * 16; i < end * 16; ++i) ASSERT_EQ(y[i], other_y[i]) << i;
    for (int64_t i = begin * 48; i < end * 48; ++i) ASSERT_EQ(dqkv[i], other_dqkv[i]) << i;
    EXPECT_NE(dqkv[32], other_dqkv[32]);  // of the first value
  }
}

// A document that fills the row: the bits of attention without documents.
TEST_P(AttentionTest, OneDocumentIsTheUsualAttention) {
  std::vector qkv = {activation(uniform({2, 70, 3 * 32}, 337))};
  auto a = run_op(AttentionOp({.heads = 2, .causal = true}), qkv, GetParam());
  qkv.push_back(labels(document_positions({{70}, {70}})));
  auto b = run_op(AttentionOp({.heads = 2, .causal = true, .documents = true}), qkv, GetParam());
  if (GetParam().device.kind == DeviceKind::cpu || GetParam().dtype == DType::f32) {
    EXPECT_EQ(a[0].data, b[0].data);
    EXPECT_EQ(a[1].data, b[1].data);
  }
}

TEST_P(AttentionTest, Dropout) {
  for (auto [length, size] : {std::pair<int64_t, int64_t>{6, 4}, {70, 4}, {70, 16}, {9, 128}}) {
    AttentionAttributes attributes{.heads = 2, .causal = true, .dropout = 0.25f};
    OpCase test = attention_case({2, length, 3 * 2 * size}, attributes, keep_three_of_four(length));
    test.floor = std::max(0.5, static_cast<double>(size) / 32);  // terms of dy . v
    check_dropping(test);
  }
}

// The numbers of a sample belong to its place in the global batch.
TEST_P(AttentionTest, DropoutBelongsToTheGlobalRow) {
  AttentionOp op({.heads = 2, .dropout = 0.5f});
  HostTensor x = uniform({4, 9, 3 * 32}, 332);
  StepContext whole{.seed = 5, .step = 2, .first_row = 0}, tail = whole;
  tail.first_row = 3;
  auto all = run_op(op, std::vector{activation(x)}, GetParam(), whole)[0];
  auto last = run_op(op, std::vector{activation(rows_of(x, 3, 4))}, GetParam(), tail)[0];
  EXPECT_EQ(last.data, rows_of(all, 3, 4).data);
}

// What comes later changes not one bit of what was.
TEST_P(AttentionTest, CausalOutputsSeeNoLaterPosition) {
  HostTensor qkv = uniform({1, 100, 3 * 16}, 335), other = qkv;
  for (int64_t i = 70 * 48; i < other.size(); ++i) other[i] = 100 * qkv[i];
  AttentionOp op({.heads = 1, .causal = true});
  auto a = run_op(op, std::vector{activation(qkv)}, GetParam())[0];
  auto b = run_op(op, std::vector{activation(other)}, GetParam())[0];
  for (int64_t i = 0; i < 70 * 16; ++i) ASSERT_EQ(a[i], b[i]) << i;
  EXPECT_NE(a[70 * 16], b[70 * 16]);
}

// Scores whose exponentials overflow: the largest takes all.
TEST_P(AttentionTest, LargeScores) {
  HostTensor qkv = zeros({1, 80, 3 * 16});
  for (int64_t t = 0; t < 80; ++t) {
    qkv[t * 48] = 64;                                           // q
    qkv[t * 48 + 16] = t == 5 ? 512 : -static_cast<double>(t);  // k
    qkv[t * 48 + 32] = static_cast<double>(t + 1);              // v
  }
  auto out = run_op(AttentionOp({.heads = 1}), std::vector{activation(qkv)}, GetParam());
  for (int64_t t = 0; t < 80; ++t) {
    EXPECT_EQ(out[0][t * 16], 6);
    EXPECT_NEAR(out[1][t], 64 * 512 / 4, 64 * 512 / 4 * 0x1p-22);
  }
}

SPIRE_TEST_EVERYWHERE(AttentionTest);
INSTANTIATE_TEST_SUITE_P(Own, AttentionTest, ::testing::ValuesIn(gpus(AttentionBy::own)),
                         environment_name);
INSTANTIATE_TEST_SUITE_P(HeadByHead, AttentionTest,
                         ::testing::ValuesIn(gpus(AttentionBy::cudnn_head_by_head)),
                         environment_name);

// At a size where blocks of threads meet in any order.
TEST_P(AttentionBitsTest, AreTheSameEachTime) {
  const Environment& environment = GetParam();
  auto device = [&](const Shape& shape, uint64_t seed) {
    return upload(uniform(shape, seed), environment.dtype, false, environment.device);
  };
  for (bool causal : {false, true}) {
    AttentionAttributes attributes{.heads = 12, .causal = causal};
    auto qkv = device({4, 1024, 3 * 768}, 341), dy = device({4, 1024, 768}, 342);
    std::vector<std::vector<std::byte>> first;
    for (int run = 0; run < 10; ++run) {
      auto out = execute(AttentionOp(attributes), std::vector{qkv}, environment, {});
      std::vector inputs = {dy, qkv, out[0], out[1]};
      auto gradients = execute(AttentionBackwardOp(attributes), inputs, environment, {});
      std::vector bits = {bytes_of(out[0]), bytes_of(out[1]), bytes_of(gradients[0])};
      if (run == 0) first = bits;
      ASSERT_TRUE(bits == first) << "run " << run << (causal ? ", causal" : "");
    }
  }
}
INSTANTIATE_TEST_SUITE_P(OnGpus, AttentionBitsTest, ::testing::ValuesIn(gpus(AttentionBy::cudnn)),
                         environment_name);

TEST(AttentionOp, RefusesInputsThatDoNotFit) {
  std::vector<TensorSpec> qkv = {{{2, 5, 24}, DType::f32}};
  EXPECT_EQ(AttentionOp({.heads = 4}).infer(qkv)[1].shape, (Shape{2, 4, 5}));
  EXPECT_EQ(AttentionOp({.heads = 4, .dropout = 0.1f}).infer(qkv).size(), 3u);
  auto outputs = AttentionOp({.heads = 4}).infer(qkv);
  EXPECT_EQ(AttentionOp({.heads = 4}).multiply_adds(qkv, outputs), 2 * (2 * 5 * 5 * 8));
  EXPECT_THROW(AttentionOp({.heads = 3}).infer(qkv), Error);
  EXPECT_THROW(AttentionOp({.heads = 0}).infer(qkv), Error);
  EXPECT_THROW(AttentionOp({.heads = 4, .dropout = 1}).infer(qkv), Error);
  EXPECT_THROW(AttentionOp({.heads = 1}).infer(std::vector<TensorSpec>{{{5, 24}, DType::f32}}),
               Error);
  EXPECT_EQ(AttentionOp({.heads = 4, .kv_heads = 1}).infer(qkv)[0].shape, (Shape{2, 5, 16}));
  EXPECT_EQ(refusal(AttentionOp({.heads = 4, .kv_heads = 3}), qkv),
            "[attention] 3 heads of keys and values do not divide 4 heads");
  TensorSpec positions{{2, 5}, DType::i32};
  AttentionOp documents({.heads = 4, .causal = true, .documents = true});
  EXPECT_EQ(documents.infer(std::vector{qkv[0], positions})[0].shape, (Shape{2, 5, 8}));
  EXPECT_EQ(refusal(documents, {qkv[0], f32({2, 5})}),
            "[attention] takes positions int32 (2, 5), got fp32 (2, 5)");
  EXPECT_EQ(refusal(AttentionOp({.heads = 4, .documents = true}), {qkv[0], positions}),
            "[attention] documents need a causal mask");
  EXPECT_EQ(refusal(AttentionOp({.heads = 4, .kv_heads = 2}), {f32({2, 5, 20})}),
            "[attention] 4 heads do not divide the columns of q, k and v in fp32 (2, 5, 20)");
}

}  // namespace
}  // namespace spire::testing
