// Decompositions of real matrices for which a call of LAPACK costs more than the work. Conventions
// are LAPACK's: columns one after the other, results in place, pivots counted from 1, and what is
// returned is INFO.
#pragma once
#include <algorithm>
#include <cmath>

namespace relume {

constexpr int kSmallMatrix = 8;  // rows, at most

// A becomes L below and U on and above the diagonal, with rows exchanged.
template <class T>
int small_lu(int n, T* a, int* pivots) {
  int info = 0;
  for (int k = 0; k < n; ++k) {
    T* const column = a + k * n;
    int pivot = k;
    for (int i = k + 1; i < n; ++i) {
      if (std::abs(column[i]) > std::abs(column[pivot])) pivot = i;
    }
    pivots[k] = pivot + 1;
    if (column[pivot] == T(0)) {
      if (info == 0) info = k + 1;
      continue;
    }
    if (pivot != k) {
      for (int j = 0; j < n; ++j) std::swap(a[j * n + k], a[j * n + pivot]);
    }
    for (int i = k + 1; i < n; ++i) column[i] /= column[k];
    for (int j = k + 1; j < n; ++j) {
      const T factor = a[j * n + k];
      for (int i = k + 1; i < n; ++i) a[j * n + i] -= factor * column[i];
    }
  }
  return info;
}

// The right sides become the solutions.
template <class T>
void small_lu_solve(int n, const T* lu, const int* pivots, int columns, T* sides) {
  for (T* x = sides; x < sides + columns * n; x += n) {
    for (int k = 0; k < n; ++k) std::swap(x[k], x[pivots[k] - 1]);
    for (int k = 0; k < n; ++k) {
      for (int i = k + 1; i < n; ++i) x[i] -= x[k] * lu[k * n + i];
    }
    for (int k = n - 1; k >= 0; --k) {
      x[k] /= lu[k * n + k];
      for (int i = 0; i < k; ++i) x[i] -= x[k] * lu[k * n + i];
    }
  }
}

// The decomposition becomes the inverse.
template <class T>
void small_lu_inverse(int n, T* lu, const int* pivots) {
  T inverse[kSmallMatrix * kSmallMatrix] = {};
  for (int k = 0; k < n; ++k) inverse[k * n + k] = T(1);
  small_lu_solve(n, lu, pivots, n, inverse);
  std::copy_n(inverse, n * n, lu);
}

// One triangle of A becomes its Cholesky factor.
template <class T>
int small_cholesky(int n, T* a, bool upper) {
  const int row = upper ? n : 1, column = upper ? 1 : n;  // steps of the lower factor
  for (int k = 0; k < n; ++k) {
    T& diagonal = a[k * (n + 1)];
    for (int j = 0; j < k; ++j) diagonal -= a[k * row + j * column] * a[k * row + j * column];
    if (!(diagonal > T(0))) return k + 1;
    diagonal = std::sqrt(diagonal);
    for (int i = k + 1; i < n; ++i) {
      T& element = a[i * row + k * column];
      for (int j = 0; j < k; ++j) element -= a[i * row + j * column] * a[k * row + j * column];
      element /= diagonal;
    }
  }
  return 0;
}

}  // namespace relume
