// SPDX-License-Identifier: Apache-2.0
#pragma once
// service_call.h - converts a call of a service function to a ServiceArgs and its results to a ServiceReply, by its C
// signature.
//
// Each text, number and record takes the next place of its kind in the message; a message has one list. The worker
// writes the arguments and reads the results, the host does the reverse, and both go by the parameters of the same
// slot.
//
// Threading: values.

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "core/isolation/messages.h"

namespace agentd {

// The value of a parameter: itself, or its target if it is a pointer for a result.
template <typename Parameter>
using ServiceValue = std::conditional_t<is_service_result<Parameter>, std::remove_pointer_t<Parameter>, Parameter>;

// Walks the places of a message in order.
template <typename Message>
class ServicePlaces {
 public:
  explicit ServicePlaces(Message& message) : message_(message) {}

  template <typename Value>
  void put(Value value) {
    next<Value>() = value;
  }
  template <typename Value>
  Value take() {
    return static_cast<Value>(next<Value>());
  }

 private:
  template <typename Value>
  auto& next() {
    if constexpr (std::is_same_v<Value, agentd_str>)
      return texts(message_)[text_++];
    else if constexpr (std::is_same_v<Value, agentd_list>)
      return message_.list;
    else if constexpr (std::is_integral_v<Value>)
      return message_.number[number_++];
    else
      return records(message_)[record_++];
  }
  static auto texts(ServiceArgs& args) { return args.text; }
  static auto texts(const ServiceArgs& args) { return args.text; }
  static auto texts(ServiceReply& reply) { return &reply.text; }
  static auto texts(const ServiceReply& reply) { return &reply.text; }
  static auto records(ServiceArgs& args) { return args.record; }
  static auto records(const ServiceArgs& args) { return args.record; }
  static auto records(ServiceReply& reply) { return &reply.record; }
  static auto records(const ServiceReply& reply) { return &reply.record; }

  Message& message_;
  std::size_t text_ = 0, number_ = 0, record_ = 0;
};

// The number of places of each kind that a function's arguments, or its results, need.
struct ServiceCount {
  std::size_t texts = 0, lists = 0, numbers = 0, records = 0;

  template <typename Value>
  constexpr void add() {
    ++(std::is_same_v<Value, agentd_str>    ? texts
       : std::is_same_v<Value, agentd_list> ? lists
       : std::is_integral_v<Value>          ? numbers
                                            : records);
  }
  template <bool Results, typename... Parameters>
  static constexpr ServiceCount of() {
    ServiceCount made;
    ((is_service_result<Parameters> == Results ? made.add<ServiceValue<Parameters>>() : void()), ...);
    return made;
  }
};

// The types of the records among the parameters, or among the results, in order; then void.
template <bool Results, typename Parameter>
using ServiceRecordOf = std::conditional_t<
    is_service_result<Parameter> == Results && std::is_pointer_v<ServiceValue<Parameter>>,
    std::tuple<std::type_identity<std::remove_const_t<std::remove_pointer_t<ServiceValue<Parameter>>>>>, std::tuple<>>;
using ServiceNoRecords = std::tuple<std::type_identity<void>, std::type_identity<void>>;
template <std::size_t Index, bool Results, typename... Parameters>
using ServiceRecord =
    typename std::tuple_element_t<Index, decltype(std::tuple_cat(ServiceRecordOf<Results, Parameters>()...,
                                                                 ServiceNoRecords()))>::type;

// The signature of a slot. A function takes its table, a token and then the crossing parameters; close(), which takes
// no token, has one number instead.
template <typename Slot>
struct ServiceSignature;
template <typename T, typename... P>
struct ServiceSignature<agentd_status (AGENTD_CALL* T::*)(const T*, agentd_token, P...) noexcept> {
  using Table = T;
  template <std::size_t Index>
  using Taken = ServiceRecord<Index, false, P...>;
  using Given = ServiceRecord<0, true, P...>;

  static constexpr ServiceCount kArgs = ServiceCount::of<false, P...>(), kReply = ServiceCount::of<true, P...>();
  static_assert(kArgs.texts <= std::extent_v<decltype(ServiceArgs::text)> && kArgs.lists <= 1 &&
                    kArgs.numbers <= std::extent_v<decltype(ServiceArgs::number)> &&
                    kArgs.records <= std::extent_v<decltype(ServiceArgs::record)>,
                "a ServiceArgs has too few places for the function's arguments");
  static_assert(kReply.texts <= 1 && kReply.lists <= 1 && kReply.records <= 1 &&
                    kReply.numbers <= std::extent_v<decltype(ServiceReply::number)>,
                "a ServiceReply has too few places for the function's results");
};

}  // namespace agentd
