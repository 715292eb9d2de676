/* Mondrian forests (Lakshminarayanan, Roy and Teh, 2014), trained online: the forest of the paper's
 * experiment in active learning, for bench/paper/active.R, which compiles this file by R CMD SHLIB. It is
 * no part of the package.
 *
 * A tree cuts at random times in random places, whatever the labels, and a box is not cut while its
 * labels are all the same ("paused"). A tree that takes a row afterwards has the distribution of one
 * grown with that row from the start. Predictions smooth the class frequencies of a leaf by those of
 * the nodes above it (interpolated Kneser-Ney, section 4 of that paper).
 *
 * A tree sees a row with probability `bag`, decided by a hash of tree and row, so that the trees that did
 * not see a row are known afterwards: their mean is the row's out-of-bag prediction. */

#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1, MAX_CLASSES = 32 };

typedef struct {
  int parent, left, right; /* NONE for none */
  int feature;             /* rows with x[feature] <= cut go left */
  int head;                /* leaves: the first of their rows; the others by `next` */
  float cut;
  double time; /* of the cut; Inf for a leaf */
} Node;

typedef struct {
  int root, nodes, room;
  Node *node; /* [room] */
  float *box; /* [2 d x room]: lower, then upper corner */
  int *
      count; /* [K x room]: labels in a leaf; in other nodes, children with such a label */
  int *next;     /* [n]: the next row in the same leaf */
  uint64_t draw; /* state of the generator */
} Tree;

typedef struct {
  int d, n, K, trees;
  double gamma, bag; /* discount per unit of time; share of rows that a tree sees */
  uint64_t seed;
  float *x;     /* [d x n] */
  const int *y; /* [n], 0 to K - 1 */
  float *side;  /* [d]: work space */
  Tree *tree;   /* [trees] */
} Forest;

/* Steele, Lea and Flood (2014): splitmix64 */
static uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static double to_unit(uint64_t z) {
  return ((double)(z >> 11) + 0.5) / 9007199254740992.0;
}

static double uniform(Tree *t) {
  t->draw += 0x9e3779b97f4a7c15u;
  return to_unit(mix(t->draw));
}

static int in_bag(const Forest *f, int tree, int row) {
  return f->bag >= 1 || to_unit(mix(mix(f->seed + (uint64_t)tree) ^
                                    ((uint64_t)row * 0xd6e8feb86659fd93u))) < f->bag;
}

static void *grown(void *old, size_t items, size_t size) {
  void *p = realloc(old, items * size);
  if (!p)
    Rf_error("no memory for the forest");
  return p;
}

static int new_node(const Forest *f, Tree *t, int parent) {
  if (t->nodes == t->room) {
    t->room = t->room ? 2 * t->room : 256;
    t->node = grown(t->node, (size_t)t->room, sizeof(Node));
    t->box = grown(t->box, 2 * (size_t)f->d * (size_t)t->room, sizeof(float));
    t->count = grown(t->count, (size_t)f->K * (size_t)t->room, sizeof(int));
  }
  int j = t->nodes++;
  t->node[j] = (Node){
      .parent = parent, .left = NONE, .right = NONE, .head = NONE, .time = INFINITY};
  memset(t->count + (size_t)j * f->K, 0, sizeof(int) * (size_t)f->K);
  return j;
}

static float *lower(const Forest *f, const Tree *t, int j) {
  return t->box + 2 * (size_t)f->d * (size_t)j;
}

static const float *row_of(const Forest *f, int row) {
  return f->x + (size_t)f->d * (size_t)row;
}

static double time_above(const Tree *t, int j) {
  int parent = t->node[j].parent;
  return parent == NONE ? 0 : t->node[parent].time;
}

/* The box of node j, so that it holds x. */
static void widen(const Forest *f, Tree *t, int j, const float *x) {
  float *lo = lower(f, t, j), *up = lo + f->d;
  for (int i = 0; i < f->d; i++) {
    if (x[i] < lo[i])
      lo[i] = x[i];
    if (x[i] > up[i])
      up[i] = x[i];
  }
}

/* How far x is outside of a box, summed over the features: by far most of the work, so in any order. */
__attribute__((optimize("Ofast"))) static double outside(const float *x, const float *lo,
                                                         const float *up, int d) {
  float sum = 0;
  for (int i = 0; i < d; i++) {
    float below = lo[i] - x[i], beyond = x[i] - up[i];
    sum += (below > 0 ? below : 0) + (beyond > 0 ? beyond : 0);
  }
  return sum;
}

/* A part of [0, d) with probabilities in proportion to side, whose sum is total. */
static int pick(const float *side, int d, double total, double u) {
  int last = 0;
  for (int i = 0; i < d; i++) {
    if (side[i] <= 0)
      continue;
    last = i;
    u -= side[i] / total;
    if (u < 0)
      break;
  }
  return last;
}

/* Count label k in leaf j and, where it is new to a node, in the node above it. */
static void count_up(const Forest *f, Tree *t, int j, int k) {
  for (; j != NONE; j = t->node[j].parent)
    if (t->count[(size_t)j * f->K + k]++ > 0)
      return;
}

/* Algorithm 2: node j grown from the rows of the chain `head`. Labels are counted within the subtree only. */
static void sample_block(const Forest *f, Tree *t, int j, int head) {
  float *lo = lower(f, t, j), *up = lo + f->d;
  double total = 0;
  memcpy(lo, row_of(f, head), sizeof(float) * (size_t)f->d);
  memcpy(up, lo, sizeof(float) * (size_t)f->d);
  int pure = 1;
  for (int row = t->next[head]; row != NONE; row = t->next[row]) {
    widen(f, t, j, row_of(f, row));
    pure = pure && f->y[row] == f->y[head];
  }
  for (int i = 0; i < f->d; i++)
    total += f->side[i] = up[i] - lo[i];
  int *count = t->count + (size_t)j * f->K;
  memset(count, 0, sizeof(int) * (size_t)f->K);
  if (pure || total <= 0) {
    t->node[j].left = t->node[j].right = NONE;
    t->node[j].time = INFINITY;
    t->node[j].head = head;
    for (int row = head; row != NONE; row = t->next[row])
      count[f->y[row]]++;
    return;
  }
  double time = time_above(t, j) - log(uniform(t)) / total;
  int feature = pick(f->side, f->d, total, uniform(t));
  float cut = (float)(lo[feature] + uniform(t) * (up[feature] - lo[feature]));
  if (cut >= up[feature])
    cut = lo[feature]; /* rounding: both sides must have rows */
  int chain[2] = {NONE, NONE};
  for (int row = head; row != NONE;) {
    int next = t->next[row], right = row_of(f, row)[feature] > cut;
    t->next[row] = chain[right];
    chain[right] = row;
    row = next;
  }
  int left = new_node(f, t, j), right = new_node(f, t, j); /* may move the arrays */
  t->node[j].left = left;
  t->node[j].right = right;
  t->node[j].feature = feature;
  t->node[j].cut = cut;
  t->node[j].time = time;
  t->node[j].head = NONE;
  sample_block(f, t, left, chain[0]);
  sample_block(f, t, right, chain[1]);
  count = t->count + (size_t)j * f->K;
  for (int k = 0; k < f->K; k++)
    count[k] = (t->count[(size_t)left * f->K + k] > 0) +
               (t->count[(size_t)right * f->K + k] > 0);
}

/* A new node between j and its parent, cut at `time` so that the row is alone on its side. */
static void insert_above(const Forest *f, Tree *t, int j, int row, double time,
                         int feature, float cut) {
  const float *x = row_of(f, row);
  int parent = t->node[j].parent, above = new_node(f, t, parent),
      leaf = new_node(f, t, above);
  memcpy(lower(f, t, above), lower(f, t, j), 2 * sizeof(float) * (size_t)f->d);
  widen(f, t, above, x);
  int right = x[feature] > cut;
  t->node[above].time = time;
  t->node[above].feature = feature;
  t->node[above].cut = cut;
  t->node[above].left = right ? j : leaf;
  t->node[above].right = right ? leaf : j;
  t->node[j].parent = above;
  if (parent == NONE)
    t->root = above;
  else if (t->node[parent].left == j)
    t->node[parent].left = above;
  else
    t->node[parent].right = above;
  for (int k = 0; k < f->K; k++)
    t->count[(size_t)above * f->K + k] = t->count[(size_t)j * f->K + k] > 0;
  t->node[leaf].head = row;
  t->next[row] = NONE;
  memcpy(lower(f, t, leaf), x, sizeof(float) * (size_t)f->d);
  memcpy(lower(f, t, leaf) + f->d, x, sizeof(float) * (size_t)f->d);
  count_up(f, t, leaf, f->y[row]);
}

/* Algorithm 4: one more row. */
static void extend(const Forest *f, Tree *t, int row) {
  const float *x = row_of(f, row);
  t->next[row] = NONE;
  if (t->root == NONE) {
    t->root = new_node(f, t, NONE);
    sample_block(f, t, t->root, row);
    return;
  }
  for (int j = t->root;;) {
    int is_leaf = t->node[j].left == NONE;
    int paused = 0, same = 0;
    if (is_leaf) { /* paused unless it holds several labels, all in one place */
      int kinds = 0;
      for (int k = 0; k < f->K; k++)
        kinds += t->count[(size_t)j * f->K + k] > 0;
      paused = kinds == 1;
      same = paused && t->count[(size_t)j * f->K + f->y[row]] > 0;
    }
    if (paused && !same) { /* no longer pure: grow it now */
      t->next[row] = t->node[j].head;
      int had[MAX_CLASSES];
      for (int k = 0; k < f->K; k++)
        had[k] = t->count[(size_t)j * f->K + k] > 0;
      sample_block(f, t, j, row);
      for (int k = 0; k < f->K; k++)
        if (!had[k] && t->count[(size_t)j * f->K + k] > 0 && t->node[j].parent != NONE)
          count_up(f, t, t->node[j].parent, k);
      return;
    }
    if (!paused) {
      const float *lo = lower(f, t, j), *up = lo + f->d;
      double total = outside(x, lo, up, f->d);
      double time = total > 0 ? time_above(t, j) - log(uniform(t)) / total : INFINITY;
      if (time < t->node[j].time) {
        for (int i = 0; i < f->d; i++) {
          float below = lo[i] - x[i], beyond = x[i] - up[i];
          f->side[i] = below > 0 ? below : beyond > 0 ? beyond : 0;
        }
        int feature = pick(f->side, f->d, total, uniform(t));
        float from = x[feature] > up[feature] ? up[feature] : x[feature];
        float cut = (float)(from + uniform(t) * f->side[feature]);
        if (cut >= from + f->side[feature])
          cut = from;
        insert_above(f, t, j, row, time, feature, cut);
        return;
      }
    }
    widen(f, t, j, x);
    if (is_leaf) {
      t->next[row] = t->node[j].head;
      t->node[j].head = row;
      count_up(f, t, j, f->y[row]);
      return;
    }
    j = x[t->node[j].feature] <= t->node[j].cut ? t->node[j].left : t->node[j].right;
  }
}

/* Algorithm 6 and section 4: add the prediction of one tree at x to p [K]. */
static void tree_probs(const Forest *f, const Tree *t, const float *x, double *p) {
  double above[MAX_CLASSES], here[MAX_CLASSES],
      stays = 1; /* chance that x was not cut off so far */
  int K = f->K;
  for (int k = 0; k < K; k++)
    above[k] = 1.0 / K;
  if (t->root == NONE) {
    for (int k = 0; k < K; k++)
      p[k] += above[k];
    return;
  }
  for (int j = t->root;;) {
    const Node *node = t->node + j;
    const float *lo = lower(f, t, j), *up = lo + f->d;
    const int *count = t->count + (size_t)j * K;
    double out = outside(x, lo, up, f->d), span = node->time - time_above(t, j),
           labels = 0, tables = 0;
    for (int k = 0; k < K; k++)
      labels += count[k], tables += count[k] > 0;
    if (out >
        0) { /* x may be cut off above j: a node with the tables of j as its labels */
      double leaves = -expm1(-span * out);
      double discount =
          out / (out + f->gamma) * -expm1(-(out + f->gamma) * span) / leaves;
      for (int k = 0; k < K; k++)
        p[k] += stays * leaves *
                ((count[k] > 0) * (1 - discount) / tables + discount * above[k]);
      stays *= 1 - leaves;
    }
    double discount = exp(-f->gamma * span);
    for (int k = 0; k < K; k++)
      here[k] =
          (count[k] - discount * (count[k] > 0) + discount * tables * above[k]) / labels;
    if (node->left == NONE || stays < 1e-9) {
      for (int k = 0; k < K; k++)
        p[k] += stays * here[k];
      return;
    }
    memcpy(above, here, sizeof(double) * (size_t)K);
    j = x[node->feature] <= node->cut ? node->left : node->right;
  }
}

static void free_forest(SEXP pointer) {
  Forest *f = R_ExternalPtrAddr(pointer);
  if (!f)
    return;
  for (int i = 0; i < f->trees; i++) {
    free(f->tree[i].node);
    free(f->tree[i].box);
    free(f->tree[i].count);
    free(f->tree[i].next);
  }
  free(f->tree);
  free(f->side);
  free(f->x);
  free(f);
  R_ClearExternalPtr(pointer);
}

/* x [d x n]; y [n], from 0, must live as long as the forest: the pointer protects it. */
static SEXP mondrian_new(SEXP x, SEXP y, SEXP classes, SEXP trees, SEXP discount,
                         SEXP bag, SEXP seed) {
  if (Rf_asInteger(classes) > MAX_CLASSES)
    Rf_error("too many classes");
  Forest *f = calloc(1, sizeof(Forest));
  SEXP pointer = PROTECT(R_MakeExternalPtr(f, R_NilValue, y));
  R_RegisterCFinalizerEx(pointer, free_forest, TRUE);
  if (!f)
    Rf_error("no memory for the forest");
  f->d = Rf_nrows(x);
  f->n = Rf_ncols(x);
  f->K = Rf_asInteger(classes);
  f->gamma = Rf_asReal(discount) * f->d;
  f->bag = Rf_asReal(bag);
  f->seed = mix((uint64_t)Rf_asInteger(seed));
  f->x = grown(NULL, (size_t)Rf_xlength(x), sizeof(float));
  for (R_xlen_t i = 0; i < Rf_xlength(x); i++)
    f->x[i] = (float)REAL(x)[i];
  f->y = INTEGER(y);
  f->side = grown(NULL, (size_t)f->d, sizeof(float));
  int count = Rf_asInteger(trees);
  f->tree = grown(NULL, (size_t)count, sizeof(Tree));
  memset(f->tree, 0, sizeof(Tree) * (size_t)count);
  f->trees = count;
  for (int i = 0; i < count; i++) {
    f->tree[i].root = NONE;
    f->tree[i].draw = mix(f->seed ^ mix((uint64_t)i + 1));
    f->tree[i].next = grown(NULL, (size_t)f->n, sizeof(int));
  }
  UNPROTECT(1);
  return pointer;
}

/* Rows (from 1) of x, in this order. Each once only. */
static SEXP mondrian_add(SEXP pointer, SEXP rows) {
  Forest *f = R_ExternalPtrAddr(pointer);
  for (int i = 0; i < f->trees; i++)
    for (int r = 0; r < Rf_length(rows); r++)
      if (in_bag(f, i, INTEGER(rows)[r] - 1))
        extend(f, f->tree + i, INTEGER(rows)[r] - 1);
  return R_NilValue;
}

/* [m x K]; x [d x m]. With rows (from 1), which x are then: by the trees that did not see them. */
static SEXP mondrian_probs(SEXP pointer, SEXP x, SEXP rows) {
  const Forest *f = R_ExternalPtrAddr(pointer);
  int m = Rf_ncols(x), K = f->K;
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, m, K));
  float *points = (float *)R_alloc((size_t)f->d * (size_t)m, sizeof(float));
  double *p = (double *)R_alloc((size_t)K * (size_t)m, sizeof(double));
  int *used = (int *)R_alloc((size_t)m, sizeof(int));
  for (size_t i = 0; i < (size_t)f->d * (size_t)m; i++)
    points[i] = (float)REAL(x)[i];
  memset(p, 0, sizeof(double) * (size_t)K * (size_t)m);
  memset(used, 0, sizeof(int) * (size_t)m);
  for (int i = 0; i < f->trees; i++) { /* tree by tree: one fits into the cache */
    for (int r = 0; r < m; r++) {
      if (rows != R_NilValue && in_bag(f, i, INTEGER(rows)[r] - 1))
        continue;
      tree_probs(f, f->tree + i, points + (size_t)f->d * (size_t)r,
                 p + (size_t)K * (size_t)r);
      used[r]++;
    }
  }
  for (int r = 0; r < m; r++) {
    const double *sum = p + (size_t)K * (size_t)r;
    for (int k = 0; k < K; k++)
      REAL(out)[r + (size_t)m * (size_t)k] = used[r] ? sum[k] / used[r] : NA_REAL;
  }
  UNPROTECT(1);
  return out;
}

static const R_CallMethodDef entries[] = {
    {"mondrian_new", (DL_FUNC)mondrian_new, 7},
    {"mondrian_add", (DL_FUNC)mondrian_add, 2},
    {"mondrian_probs", (DL_FUNC)mondrian_probs, 3},
    {NULL, NULL, 0},
};

void R_init_mondrian(DllInfo *info) {
  R_registerRoutines(info, NULL, entries, NULL, NULL);
  R_useDynamicSymbols(info, FALSE);
}
