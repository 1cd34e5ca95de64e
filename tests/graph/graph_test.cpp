// Tests errors of recording a graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/layers.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::HasSubstr;

template <typename Body>
std::string refusal(const Body& body) {
  return message_if_any(Category::config, body);
}

TEST(Graph, NamesOfParametersAreUnique) {
  Graph graph(true);
  graph.input("x", {{2, 3}, DType::f32});
  graph.parameter("w", {3}, constant(0));
  EXPECT_EQ(refusal([&] { graph.parameter("w", {4}, constant(0)); }),
            "two tensors of the model are named 'w'");
  EXPECT_EQ(refusal([&] { graph.state("w", {4}, 0); }), "two tensors of the model are named 'w'");
  EXPECT_EQ(refusal([&] { graph.parameter("x", {3}, constant(0)); }),
            "two tensors of the model are named 'x'");
}

TEST(Graph, TensorsHaveUpTo2To40Elements) {
  constexpr int64_t million = 1 << 20;
  Graph graph(true);
  EXPECT_EQ(refusal([&] { graph.parameter("most", {million, million}, constant(0)); }), "");
  EXPECT_EQ(
      refusal([&] {
        graph.parameter("w", {million, million, 2}, constant(0));
      }),
      "a tensor of (1048576, 1048576, 2) has more than 2^40 elements; make the model smaller");
  Shape overflowing = {int64_t{1} << 62, 4};  // its product is 0 in 64 bits
  EXPECT_THAT(refusal([&] {
                graph.input("x", {overflowing, DType::f32});
              }),
              HasSubstr("more than 2^40 elements"));
}

}  // namespace
}  // namespace spire
