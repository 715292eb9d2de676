# predict(json.load(open(file)), row): probabilities of a row of scores, by a file of gpcalib's write_calibrator()
from bisect import bisect_left, bisect_right
from math import cosh, exp, inf, log
def lse(x): top = max(x); return top + log(sum(exp(v - top) for v in x))
def softmax(x): total = lse(x); return [exp(v - total) for v in x]
def expit(t): return 1 / (1 + exp(-t)) if t > -700 else 0.0
def dot(a, b): return sum(u * v for u, v in zip(a, b))
def line(x, y, t, beyond=0): # straight lines between points, a given slope beyond
    i = bisect_right(x, t)
    if i in (0, len(x)): return y[min(i, len(x) - 1)] + beyond * (t - x[min(i, len(x) - 1)])
    return y[i-1] + (t - x[i-1]) * (y[i] - y[i-1]) / (x[i] - x[i-1])
def one_map(f, j, p, s): # one class against the rest: p its probability, s its log-odds
    if "low" in f: return expit(f["slope"][j] * min(max(s if f["log_odds"] else p, f["low"][j]), f["high"][j]) + f["intercept"][j])
    if "clip" in f: return expit(f["a"][j] * log(max(p, f["clip"])) - f["b"][j] * log(max(1 - p, f["clip"])) + f["c"][j])
    m = f["maps"][j]
    if f["shape"] == "lines": return line(m["x"], m["y"], p)
    v = m["y"][bisect_left(m["x"], p)]
    return p if v is None else v if f["shape"] == "steps" else v / (1 - m["y0"][bisect_right(m["x0"], p)] + v)
def latent(f, k, x, v, u, e): # of class k
    a = f["slope"][k] if isinstance(f["slope"], list) else f["slope"]
    g = line(f["nodes"], f["values"], x[k], a) if "nodes" in f else a * (log(x[k]) if f["mean"] == "log" else x[k])
    g += sum(w * exp(-((x[k] - c) / f["lengthscale"]) ** 2 / 2) for c, w in zip(f.get("place", []), f.get("weight", [])))
    if "offset" in f: g += f["offset"][k]
    return g + sum(dot(f[name][k], t) for name, t in (("linear", v), ("softmax", u), ("even", [e])) if name in f)
def predict(fit, z):
    f, logits, K = fit["formula"], fit["input"] == "logits", len(z)
    p = softmax(z) if logits else [min(max(v, 0), 1) for v in z]
    if abs(sum(p) - 1) > 1e-10: total = sum(p); p = [v / total for v in p]
    if fit["method"] == "none": return p
    if "floor" in f: # softmax of latent values
        x = [max(v, f["floor"]) if f["mean"] == "log" else log(max(v, f["floor"])) for v in p] if f["floor"] else z
        if f["center"]: mean = sum(x) / K; x = [t - mean for t in x]
        v = [min(max(t, f["limits"][0]), f["limits"][1]) for t in x] if "limits" in f else x
        u, e = softmax([f.get("steep", 0) * t for t in v]), 2 * log(cosh(f.get("steep", 0) * (v[1] - v[0]) / 2))
        return softmax([latent(f, k, x, v, u, e) for k in range(K)])
    s = [z[k] - lse(z[:k] + z[k+1:]) if logits else log(q / (1 - q)) if 0 < q < 1 else inf * (q - 0.5) for k, q in enumerate(p)]
    v = [one_map(f, j if K > 2 else 0, p[j], s[j]) for j in (range(K) if K > 2 else [1])]
    total = sum(v)
    return [1 - total, total] if K == 2 else [t / total for t in v] if total > 0 else p
