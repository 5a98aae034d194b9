#include "tensor/public_names.h"

#include <string_view>
#include <unordered_map>

#include "tensor/registry.h"

namespace relume {
namespace {

const std::unordered_map<std::string_view, std::string>& renamed_ops() {
  static const std::unordered_map<std::string_view, std::string> names{
      {"attention", "scaled_dot_product_attention"},
      {"col2im", "fold"},
      {"contract_dims", "tensordot"},
      {"gru_layer", "gru"},
      {"im2col", "unfold"},
      {"linalg_cholesky_ex", "linalg.cholesky"},
      {"linalg_det", "linalg.det"},
      {"linalg_eig", "linalg.eig"},
      {"linalg_eigh", "linalg.eigh"},
      {"linalg_eigvals", "linalg.eigvals"},
      {"linalg_eigvalsh", "linalg.eigvalsh"},
      {"linalg_inv_ex", "linalg.inv"},
      {"linalg_ldl_factor_ex", "linalg.ldl_factor"},
      {"linalg_ldl_solve", "linalg.ldl_solve"},
      {"linalg_lstsq", "linalg.lstsq"},
      {"linalg_lu_factor_ex", "linalg.lu_factor"},
      {"linalg_matrix_exp", "linalg.matrix_exp"},
      {"linalg_pinv", "linalg.pinv"},
      {"linalg_qr", "linalg.qr"},
      {"linalg_slogdet", "linalg.slogdet"},
      {"linalg_solve_ex", "linalg.solve"},
      {"linalg_solve_triangular", "linalg.solve_triangular"},
      {"linalg_svd", "linalg.svd"},
      {"linalg_svdvals", "linalg.svdvals"},
      {"lstm_layer", "lstm"},
      {"max_with_indices", "max"},
      {"median_with_indices", "median"},
      {"min_with_indices", "min"},
      {"nanmedian_with_indices", "nanmedian"},
      {"normalize_rows", "layer_norm"},
      {"random_integers", "randint"},
      {"random_integers_like", "randint_like"},
      {"resample", "interpolate"},
      {"rnn_layer", "rnn"},
      {"split_at", "tensor_split"},
      {"split_evenly", "tensor_split"},
  };
  return names;
}

}  // namespace

const std::string& public_name(const Op& op) {
  const auto found = renamed_ops().find(op.name());
  return found == renamed_ops().end() ? op.name() : found->second;
}

}  // namespace relume
