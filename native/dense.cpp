// Dense algebra: tiles of a few rows and vectors that stay in registers.
#include "dense.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rather {

namespace {

constexpr int kTileRows = 4, kTileVectors = 3;  // 12 sums, which every instruction set has registers for

// out = sum over t of left_t (kTileRows numbers, `stride` apart) times row t of B, at a tile of columns.
template <int NV>
void tile(const float* left, std::int64_t step, std::int64_t stride, std::int64_t n, const float* B, std::int64_t ldb,
          float* out, std::int64_t ldo, int rows) {
  Lanes sum[kTileRows][NV] = {};
  for (std::int64_t t = 0; t < n; ++t) {
    const float *l = left + t * step, *b = B + t * ldb;
    Lanes row[NV];
    for (int v = 0; v < NV; ++v) row[v] = load(b + v * kLanes);
    for (int q = 0; q < kTileRows; ++q) {
      Lanes scale = splat(l[q * stride]);
      for (int v = 0; v < NV; ++v) sum[q][v] += scale * row[v];
    }
  }
  for (int q = 0; q < rows; ++q)
    for (int v = 0; v < NV; ++v) store(out + q * ldo + v * kLanes, sum[q][v]);
}

// Up to kTileRows rows of L B, where L's element (q, t) is left[q * stride + t * step], q beyond `rows` readable too.
void tiles(const float* left, std::int64_t step, std::int64_t stride, std::int64_t n, const float* B, std::int64_t ldb,
           float* out, std::int64_t ldo, int rows) {
  std::int64_t column = 0;
  for (; column + kTileVectors * kLanes <= ldb; column += kTileVectors * kLanes)
    tile<kTileVectors>(left, step, stride, n, B + column, ldb, out + column, ldo, rows);
  if (column + 2 * kLanes <= ldb) {
    tile<2>(left, step, stride, n, B + column, ldb, out + column, ldo, rows);
    column += 2 * kLanes;
  }
  for (; column < ldb; column += kLanes) tile<1>(left, step, stride, n, B + column, ldb, out + column, ldo, rows);
}

std::int64_t padded(std::int64_t n) { return (n + kTileRows - 1) / kTileRows * kTileRows; }

// total (l x ldb) <- sum_i w_i a_i b_i^T over n rows of A (n x lda, the first l columns) and B (n x ldb, all of them), in
// chunks of rows added in order. No w: all ones.
void cross_of(const float* A, std::int64_t lda, std::int64_t l, const float* B, std::int64_t ldb, const float* w,
              std::int64_t n, double* total, int n_threads) {
  const std::int64_t size = std::max<std::int64_t>(64, (n + 63) / 64), n_chunks = (n + size - 1) / size;
  const std::int64_t wide = padded(l), part_size = wide * ldb;
  Aligned<float> part(n_chunks * part_size, kUnfilled);
  for_chunks(n_threads, n_chunks, [&](int, std::int64_t chunk) {
    const std::int64_t first = chunk * size, rows = std::min(n, first + size) - first;
    Aligned<float> left(rows * wide);
    for (std::int64_t i = 0; i < rows; ++i) {
      const float *a = A + (first + i) * lda, scale = w ? w[first + i] : 1.0f;
      for (std::int64_t k = 0; k < l; ++k) left[i * wide + k] = scale * a[k];
    }
    for (std::int64_t a = 0; a < wide; a += kTileRows)
      tiles(left.data() + a, wide, 1, rows, B + first * ldb, ldb, part.data() + chunk * part_size + a * ldb, ldb,
            kTileRows);
  });
  std::fill_n(total, l * ldb, 0.0);
  for_ranges(n_threads, l, 8, [&](int, std::int64_t from, std::int64_t to) {
    for (std::int64_t chunk = 0; chunk < n_chunks; ++chunk) {
      const float* one = part.data() + chunk * part_size;
      for (std::int64_t k = from * ldb; k < to * ldb; ++k) total[k] += one[k];
    }
  });
}

}  // namespace

std::vector<double> cross(const float* A, std::int64_t lda, std::int64_t l, const float* B, std::int64_t ldb,
                          const float* w, const Shards& rows, int n_threads) {
  std::vector<double> total(l * ldb);
  rows.sum_arrays(total.data(), l * ldb, n_threads, [&](std::int64_t shard, double* to) {
    const std::int64_t first = rows.first(shard);
    cross_of(A + first * lda, lda, l, B + first * ldb, ldb, w ? w + first : nullptr, rows.size(shard), to, n_threads);
  });
  return total;
}

Small gram(const float* A, const Shards& rows, std::int64_t ld, std::int64_t l, int n_threads, const float* w) {
  std::vector<double> all = cross(A, ld, l, A, ld, w, rows, n_threads);
  Small G(l);
  for (std::int64_t a = 0; a < l; ++a) std::copy_n(&all[a * ld], l, G.row(a));
  return G;
}

double multiply_each(const float* A, std::int64_t lda, std::int64_t l, const float* R, std::int64_t ldb,
                     const Shards& rows_of_A, int n_threads, Body<double(std::int64_t, float*)> each) {
  return rows_of_A.sum(n_threads, 64, [&](int, std::int64_t first, std::int64_t last) {
    Aligned<float> left(kTileRows * l), out(kTileRows * ldb);
    double total = 0;
    for (std::int64_t i = first; i < last; i += kTileRows) {
      const int rows = static_cast<int>(std::min<std::int64_t>(kTileRows, last - i));
      for (int q = 0; q < rows; ++q) std::copy_n(A + (i + q) * lda, l, left.data() + q * l);
      tiles(left.data(), 1, l, l, R, ldb, out.data(), ldb, rows);
      for (int q = 0; q < rows; ++q) total += each(i + q, out.data() + q * ldb);
    }
    return total;
  });
}

void multiply(const float* A, std::int64_t lda, std::int64_t l, const float* R, std::int64_t ldb, float* out,
              std::int64_t n, int n_threads) {
  multiply_each(A, lda, l, R, ldb, Shards(n), n_threads, [&](std::int64_t i, const float* row) {
    std::copy_n(row, ldb, out + i * ldb);
    return 0.0;
  });
}

void multiply_right(float* A, std::int64_t n, std::int64_t ld, const Small& R, int n_threads) {
  Aligned<float> packed(R.n * ld);
  for (std::int64_t a = 0; a < R.n; ++a)
    for (std::int64_t b = 0; b < R.n; ++b) packed[a * ld + b] = static_cast<float>(R(a, b));
  multiply(A, ld, R.n, packed.data(), ld, A, n, n_threads);
}

constexpr std::int64_t kWorthIt = 256;  // rows of a small matrix, from where on threads are

Small inverse_root(Small& G, double least, int n_threads) {
  const std::int64_t n = G.n;
  std::vector<double> full(n);
  for (std::int64_t j = 0; j < n; ++j) full[j] = G(j, j);
  for (std::int64_t j = 0; j < n; ++j) {
    const bool independent = full[j] > 0 && G(j, j) > least * full[j];
    const double by = independent ? 1 / std::sqrt(G(j, j)) : 0.0;
    for (std::int64_t b = j; b < n; ++b) G(j, b) *= by;
    for_ranges(n - j < kWorthIt ? 1 : n_threads, n - j - 1, 64, [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t i = j + 1 + first; i < j + 1 + last; ++i) subtract(G(j, i), &G(j, i), &G(i, i), n - i);
    });
  }
  Small inverse(n);
  for (std::int64_t i = n; i-- > 0;) {  // row i of R^-1 = (e_i - sum over k > i of R_ik row k of R^-1) / R_ii
    if (G(i, i) == 0) continue;
    double* row = inverse.row(i);
    row[i] = 1;
    for (std::int64_t k = i + 1; k < n; ++k) subtract(G(i, k), &inverse(k, k), row + k, n - k);
    for (std::int64_t k = i; k < n; ++k) row[k] /= G(i, i);
  }
  return inverse;
}

Small inverse(Small G, int n_threads) {
  const std::int64_t n = G.n;
  Small root = inverse_root(G, 1e-12, n_threads), across(n), out(n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = i; k < n; ++k) across(k, i) = root(i, k);
  for_ranges(n_threads, n, 16, [&](int, std::int64_t first, std::int64_t last) {  // R^-1 R^-T
    for (std::int64_t i = first; i < last; ++i)
      for (std::int64_t k = i; k < n; ++k) subtract(-root(i, k), across.row(k), out.row(i), k + 1);
  });
  return out;
}

void orthonormalise(float* A, std::int64_t n, std::int64_t ld, std::int64_t l, int n_threads, int passes) {
  for (int pass = 0; pass < passes; ++pass) {
    Small G = gram(A, Shards(n), ld, l, n_threads);
    multiply_right(A, n, ld, inverse_root(G, 1e-6), n_threads);
  }
}

std::vector<double> eigen(Small T, Small& vectors) {
  const std::int64_t n = T.n;
  std::vector<double> d(n), e(n, 0.0), p(n);
  Small Q(n);  // T = Q' (three diagonals) Q
  for (std::int64_t i = 0; i < n; ++i) Q(i, i) = 1;
  for (std::int64_t k = 0; k + 2 < n; ++k) {  // a reflection I - v v' / h that clears row k beyond its neighbour
    double* v = T.row(k);
    double beyond = 0;
    for (std::int64_t i = k + 2; i < n; ++i) beyond += v[i] * v[i];
    if (!(beyond > 0)) continue;
    const double norm = std::sqrt(beyond + v[k + 1] * v[k + 1]);
    const double to = v[k + 1] > 0 ? -norm : norm, h = norm * norm - v[k + 1] * to;
    v[k + 1] -= to;
    std::fill(p.begin() + k + 1, p.end(), 0.0);
    for (std::int64_t i = k + 1; i < n; ++i) subtract(-v[i] / h, T.row(i) + k + 1, p.data() + k + 1, n - k - 1);
    double half = 0;
    for (std::int64_t i = k + 1; i < n; ++i) half += v[i] * p[i];
    subtract(half / (2 * h), v + k + 1, p.data() + k + 1, n - k - 1);
    for (std::int64_t i = k + 1; i < n; ++i) {
      subtract(v[i], p.data() + k + 1, T.row(i) + k + 1, n - k - 1);
      subtract(p[i], v + k + 1, T.row(i) + k + 1, n - k - 1);
    }
    std::fill(p.begin(), p.end(), 0.0);  // Q <- (I - v v' / h) Q
    for (std::int64_t i = k + 1; i < n; ++i) subtract(-v[i] / h, Q.row(i), p.data(), n);
    for (std::int64_t i = k + 1; i < n; ++i) subtract(v[i], p.data(), Q.row(i), n);
    v[k + 1] = to;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    d[i] = T(i, i);
    if (i + 1 < n) e[i] = T(i, i + 1);
  }
  for (std::int64_t l = 0; l < n; ++l)
    for (int turn = 0; turn < 60; ++turn) {  // two or three do; what is no number never does
      std::int64_t m = l;                    // where the matrix falls apart
      for (; m + 1 < n; ++m)
        if (std::abs(e[m]) <= 1e-16 * (std::abs(d[m]) + std::abs(d[m + 1]))) break;
      if (m == l) break;
      double g = (d[l + 1] - d[l]) / (2 * e[l]), r = std::hypot(g, 1.0);
      g = d[m] - d[l] + e[l] / (g + (g >= 0 ? r : -r));
      double s = 1, c = 1, shift = 0;
      std::int64_t i = m - 1;
      for (; i >= l; --i) {
        double f = s * e[i], b = c * e[i];
        e[i + 1] = r = std::hypot(f, g);
        if (r == 0) {
          d[i + 1] -= shift;
          e[m] = 0;
          break;
        }
        s = f / r, c = g / r;
        g = d[i + 1] - shift;
        r = (d[i] - g) * s + 2 * c * b;
        shift = s * r;
        d[i + 1] = g + shift;
        g = c * r - b;
        double *low = Q.row(i), *high = Q.row(i + 1);
        for (std::int64_t k = 0; k < n; ++k) {
          const double x = high[k], y = low[k];
          high[k] = s * y + c * x;
          low[k] = c * y - s * x;
        }
      }
      if (r == 0 && i >= l) continue;
      d[l] -= shift;
      e[l] = g;
      e[m] = 0;
    }
  std::vector<std::int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return d[a] > d[b]; });
  std::vector<double> values(n);
  for (std::int64_t k = 0; k < n; ++k) {
    values[k] = d[order[k]];
    for (std::int64_t i = 0; i < n; ++i) vectors(i, k) = Q(order[k], i);
  }
  return values;
}

std::vector<double> principal(float* A, std::int64_t n, std::int64_t ld, std::int64_t k, double* axes, int n_threads) {
  Small vectors(k);
  std::vector<double> values = eigen(gram(A, Shards(n), ld, k, n_threads), vectors);
  multiply_right(A, n, ld, vectors, n_threads);
  std::copy(vectors.a.begin(), vectors.a.end(), axes);
  return values;
}

}  // namespace rather
