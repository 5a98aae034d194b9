#include "converters/t7/early_layouts.h"

#include <map>
#include <sstream>

namespace relume::t7 {
namespace {

struct Row {
  const char* name;
  const char* fields;        // i: an int, d: a double, O: an object
  bool repeated_after_table; // in the era of tables
};

constexpr Row kRows[] = {
    {"nn.Abs", "", false},
    {"nn.CDivTable", "", false},
    {"nn.CSubTable", "", false},
    {"nn.Replicate", "i:nfeatures", true},
    {"nn.Sequential", "O:modules", false},
    {"nn.SpatialConvolution",
     "i:kW i:kH i:dW i:dH i:nInputPlane i:nOutputPlane O:weight O:bias O:gradWeight O:gradBias", false},
    {"nn.SpatialConvolutionMap",
     "i:kW i:kH i:dW i:dH i:nInputPlane i:nOutputPlane O:weight O:bias O:gradWeight O:gradBias "
     "O:connTable",
     true},
    {"nn.SpatialConvolutionSparse",
     "i:kW i:kH i:dW i:dH i:nInputPlane i:nOutputPlane O:weight O:bias O:gradWeight O:gradBias "
     "O:connTable",
     true},
    {"nn.SpatialLinear",
     "i:fanin i:fanout d:weightDecay O:weight O:bias O:gradWeight O:gradBias", true},
    {"nn.SpatialMaxPooling", "i:kW i:kH i:dW i:dH O:indices", true},
    {"nn.SpatialNormalization",
     "O:kernel i:nfeatures i:padW i:padH i:kerWisPair i:kerHisPair O:convo O:convostd O:squareMod "
     "O:sqrtMod O:subtractMod O:meanDiviseMod O:stdDiviseMod O:thresMod O:diviseMod O:coef "
     "i:fixedThres",
     true},
    {"nn.SpatialPadding", "i:pad_l i:pad_r i:pad_t i:pad_b", true},
    {"nn.SpatialSubSampling",
     "i:kW i:kH i:dW i:dH i:nInputPlane O:weight O:bias O:gradWeight O:gradBias", false},
    {"nn.Sqrt", "", false},
    {"nn.Square", "", false},
    {"nn.Sum", "i:dimension", false},
    {"nn.Tanh", "", false},
    {"nn.Threshold", "d:threshold d:val", true},
};

EarlyLayout parse(const std::string& text) {
  EarlyLayout layout;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto kind = word[0] == 'i'   ? EarlyField::Kind::integer
                      : word[0] == 'd' ? EarlyField::Kind::real
                                       : EarlyField::Kind::object;
    layout.push_back({kind, word.substr(2)});
  }
  return layout;
}

using Layouts = std::map<std::string, EarlyLayout, std::less<>>;

Layouts layouts_of(Era era) {
  Layouts layouts;
  for (const Row& row : kRows) {
    if (era == Era::streams) {
      layouts[row.name] = parse(std::string("O:gradInput O:output ") + row.fields);
    } else if (row.repeated_after_table) {
      layouts[row.name] = parse(row.fields);
    }
  }
  return layouts;
}

}  // namespace

const EarlyLayout* early_layout(Era era, std::string_view class_name) {
  static const Layouts tables = layouts_of(Era::tables);
  static const Layouts streams = layouts_of(Era::streams);
  if (era == Era::standard) return nullptr;
  const Layouts& layouts = era == Era::tables ? tables : streams;
  const auto found = layouts.find(class_name);
  return found == layouts.end() ? nullptr : &found->second;
}

}  // namespace relume::t7
