// What the bindings of layers and losses share: arguments of Python, and layers without options.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <nanobind/stl/variant.h>

#include <spire/layers.h>

#include "python/core/graph.h"

namespace spire::python {

using Extent = std::variant<int64_t, std::pair<int64_t, int64_t>>;  // both sides, or (h, w)

inline Extent2d extent(const Extent& given) {
  if (const auto* side = std::get_if<int64_t>(&given)) return {*side, *side};
  auto [h, w] = std::get<1>(given);
  return {h, w};
}

// Initial values of a weight, as spire.layers.normal(0.02) returns them.
struct PythonInitializer {
  Initializer initialize;
  std::string text;  // "normal(0.02)"
};

// Empty, which stands for the layer's default, if none is given.
inline Initializer initializer(const std::optional<PythonInitializer>& given) {
  return given ? given->initialize : Initializer();
}

inline LentValue result(const LentValue& x, Value value) {
  return {x.graph, value};
}

// Binds a layer of one input and no options.
inline void bind_simple(nb::module_& layers, const char* name, Value (*layer)(Graph&, Value),
                        const char* help) {
  layers.def(
      name,
      [layer](LentGraph& g, const LentValue& x) {
        return result(x, layer(g.get(), x.value_in(g)));
      },
      nb::arg("graph"), nb::arg("x"), help);
}

inline void bind_pair(nb::module_& layers, const char* name, Value (*layer)(Graph&, Value, Value),
                      const char* help) {
  layers.def(
      name,
      [layer](LentGraph& g, const LentValue& a, const LentValue& b) {
        return result(a, layer(g.get(), a.value_in(g), b.value_in(g)));
      },
      nb::arg("graph"), nb::arg("a"), nb::arg("b"), help);
}

void bind_initializers(nb::module_& layers);
void bind_losses(nb::module_& layers);

}  // namespace spire::python
