// What the bindings of layers and losses share: arguments of Python, and layers that take them one
// by one.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
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

// Returns an empty Initializer, which means the layer's default, if none is given.
inline Initializer initializer(const std::optional<PythonInitializer>& given) {
  return given ? given->initialize : Initializer();
}

inline LentValue result(const LentValue& x, Value value) {
  return {x.graph, value};
}

inline Value value_or_none(const std::optional<LentValue>& given, const LentGraph& graph) {
  return given ? given->value_in(graph) : Value{};
}

// Given: the type in which Python passes a parameter of a layer. make(): converts it to the
// parameter.
template <typename Parameter>
struct FromPython {
  using Given = Parameter;
  static Parameter make(Parameter given, const LentGraph&) { return given; }
};
template <>
struct FromPython<Value> {
  using Given = const LentValue&;
  static Value make(const LentValue& given, const LentGraph& graph) {
    return given.value_in(graph);
  }
};
// A value that Python may leave out.
struct OptionalValue {
  Value value;
  operator Value() const { return value; }
};
template <>
struct FromPython<OptionalValue> {
  using Given = const std::optional<LentValue>&;
  static OptionalValue make(Given given, const LentGraph& graph) {
    return {value_or_none(given, graph)};
  }
};
template <>
struct FromPython<Extent2d> {
  using Given = const Extent&;
  static Extent2d make(const Extent& given, const LentGraph&) { return extent(given); }
};
template <>
struct FromPython<Initializer> {
  using Given = const std::optional<PythonInitializer>&;
  static Initializer make(Given given, const LentGraph&) { return initializer(given); }
};
template <>
struct FromPython<DType> {
  using Given = const std::string&;
  static DType make(Given given, const LentGraph&) { return dtype_from_name(given); }
};

const LentValue& first_value(const LentValue& value, const auto&...) {
  return value;
}
const LentValue& first_value(const auto&, const auto&... others) {
  return first_value(others...);
}

// Binds a layer that takes its parameters one by one. extra: nb::arg for each of them, and the
// help.
template <typename Result, typename... Parameters, typename... Extra>
void bind_layer(nb::module_& layers, const char* name, Result (*layer)(Graph&, Parameters...),
                const Extra&... extra) {
  layers.def(
      name,
      [layer](LentGraph& g, typename FromPython<std::decay_t<Parameters>>::Given... given) {
        if constexpr (std::is_void_v<Result>)
          layer(g.get(), FromPython<std::decay_t<Parameters>>::make(given, g)...);
        else
          return result(first_value(given...),
                        layer(g.get(), FromPython<std::decay_t<Parameters>>::make(given, g)...));
      },
      nb::arg("graph"), extra...);
}

// Makes of a layer that takes options one that takes their members one by one, for bind_layer().
// Members: the types of all members of Options, in their order.
template <typename Options, typename... Members>
struct ByMembers {
  template <Value (*of)(Graph&, const std::string&, Value, const Options&)>
  static Value layer(Graph& graph, const std::string& name, Value x, Members... members) {
    return of(graph, name, x, Options{std::move(members)...});
  }
  template <Value (*of)(Graph&, Value, const Options&)>
  static Value function(Graph& graph, Value x, Members... members) {
    return of(graph, x, Options{std::move(members)...});
  }
  template <void (*of)(Graph&, Value, Value, const Options&)>
  static void loss(Graph& graph, Value logits, Value labels, Members... members) {
    of(graph, logits, labels, Options{std::move(members)...});
  }
};

void bind_losses(nb::module_& layers);

}  // namespace spire::python
